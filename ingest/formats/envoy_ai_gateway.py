"""Envoy AI Gateway: JSON access log.

Input: one JSON object a line, `start_time` (arrival), `duration` ms, `response_code`, `gen_ai.*`. Output: RawRequest,
seen at the gateway. Client addresses are not kept.
Source: format page, 5.11 and 9. `x-envoy-upstream-service-time` is text and runs to the first byte of the upstream's
answer; what is left of the total is told as network and flagged, for the log does not say whether the answer was
streamed. `response_code` 0 with flag DC is a client that went away: cancelled. Rows without any model call (health
checks, lists of models) are no requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows, reject
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time, with_cached
from ingest.formats.unread import glance

_USER = ("x-user-id", "x-end-user-id", "user_id")
_TENANT = ("x-tenant-id", "x-team-id", "x-org-id", "x-organization-id", "tenant_id")
_SESSION = ("x-session-id", "agent-session-id", "session.id")
CLOCKS = {"start_time": v.instant_ns}


def sniff(head: Head) -> float:
    if not {"duration", "response_code"} <= head.keys:
        return 0.0
    return 0.92 if any(key.startswith(("gen_ai.", "x-envoy-")) or key == "response_flags" for key in head.keys) else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        elif not _is_call(row.value):
            yield reject("not_a_request", row.line, row.offset, row.data)
        else:
            yield checked(
                _columns(row.value),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(row.value, CLOCKS),
            )


def _is_call(row: Mapping[str, Any]) -> bool:
    if any(v.text(value) for key, value in glance(row) if key.startswith("gen_ai.")):
        return True
    return v.text(row.get("method")) in (None, "POST")


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    code, flags_of_envoy = v.integer(row.get("response_code")), v.text(row.get("response_flags")) or ""
    has_left = code in (0, None) and "DC" in flags_of_envoy.split(",")
    status = "cancelled" if has_left else v.status_of_http(code) or "error"
    total = v.duration_ns(row.get("duration"), "ms")
    upstream = v.duration_ns(row.get("x-envoy-upstream-service-time"), "ms")
    network = total - upstream if total is not None and upstream is not None and total >= upstream else None
    tokens = with_cached(
        {
            "input_tokens": v.integer(row.get("gen_ai.usage.input_tokens")),
            "output_tokens": v.integer(row.get("gen_ai.usage.output_tokens")),
            "cached_input_tokens": _count(row, "cache_read.input_tokens", "cached_input_tokens"),
            "cache_write_tokens": _count(row, "cache_creation.input_tokens", "cache_creation_input_tokens"),
            "reasoning_tokens": _count(row, "reasoning.output_tokens", "reasoning_tokens"),
        }
    )
    times = Times(
        started_ns=v.instant_ns(row.get("start_time")),
        e2e_ns=total,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"network_ns": network},
    )
    made = timed(times, status)
    override = v.text(row.get("gen_ai.request.model_override"))
    models = (row.get("gen_ai.response.model"), override, row.get("gen_ai.request.model"))
    return (
        made
        | tokens
        | {
            "flags": [*made["flags"], *tokens["flags"], *(["upstream_to_first_byte"] if network is not None else [])],
            "vantage": "gateway",
            "status_class": status,
            "http_status": code if code and 100 <= code <= 599 else None,
            "error_type": v.text(row.get("response_code_details")) if status not in ("ok", "cancelled") else None,
            "request_id": v.text(row.get("x-request-id")),
            "model": v.first(*map(v.text, models)),
            "requested_model": v.first(v.text(row.get("x-ai-eg-model")), v.text(row.get("gen_ai.request.model"))),
            "provider": v.provider(v.first(row.get("gen_ai.provider.name"), row.get("gen_ai.system"))),
            "user": v.first(*(v.identity(row.get(name)) for name in _USER)),
            "tenant": v.first(*(v.identity(row.get(name)) for name in _TENANT)),
            "session": v.first(*(v.identity(row.get(name)) for name in _SESSION)),
            "route": v.text(row.get("route_name")),
            "attributes": extra(
                path=v.text(row.get("x-envoy-origin-path")),
                response_flags=v.text(flags_of_envoy),
                upstream_service_ns=upstream,
            ),
        }
    )


def _count(row: Mapping[str, Any], *names: str) -> int | None:
    return v.first(*(v.integer(row.get(f"gen_ai.usage.{name}")) for name in names))  # type: ignore[no-any-return]


FORMAT = Format(
    name="envoy_ai_gateway",
    title="Envoy AI Gateway access log",
    says="one JSON object per request through the gateway",
    sniff=sniff,
    reader=RowReader(read),
)
