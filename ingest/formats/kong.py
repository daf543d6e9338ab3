"""Kong: log entries of its logging plugins, with the AI plugins' statistics.

Input: one JSON object a line, `started_at` epoch ms (arrival), `latencies` ms, `ai.<plugin>`. Output: RawRequest, seen
at the gateway. Client addresses and headers are not kept.
Source: format page, 5.11 (from the specification). `latencies.kong` is the gateway's own time, `latencies.proxy` the
upstream's; what both leave is network, unless the answer was streamed. A hit of the semantic cache has no upstream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time, with_cached

CLOCKS = {"started_at": v.instant_ns}


def sniff(head: Head) -> float:
    return 0.93 if {"latencies", "started_at"} <= head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(row.value, CLOCKS),
            )


def _plugin(row: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics of the AI plugin that made the call: the first one with usage."""
    plugins = [v.mapping(plugin) for plugin in v.mapping(row.get("ai")).values()]
    return next((plugin for plugin in plugins if v.mapping(plugin.get("usage"))), plugins[0] if plugins else {})


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    plugin, latencies = _plugin(row), v.mapping(row.get("latencies"))
    meta, used = v.mapping(plugin.get("meta")), v.mapping(plugin.get("usage"))
    code = v.integer(v.at(row, "response", "status"))
    status = v.status_of_http(code) or "error"
    total, proxy, own = (_known(latencies.get(name)) for name in ("request", "proxy", "kong"))
    is_cached = (v.text(v.at(plugin, "cache", "cache_status")) or "").lower() == "hit"
    ttft = v.duration_ns(used.get("time_to_first_token"), "ms")
    network = total - proxy - (own or 0) if total is not None and proxy is not None and not ttft else None
    tokens = with_cached(
        {
            "input_tokens": v.integer(used.get("prompt_tokens")),
            "output_tokens": v.integer(used.get("completion_tokens")),
            "cached_input_tokens": v.integer(v.at(used, "prompt_tokens_details", "cached_tokens")),
        }
    )
    times = Times(
        started_ns=v.instant_ns(row.get("started_at"), "ms"),
        e2e_ns=total,
        ttft_ns=ttft + (own or 0) if ttft else None,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"gateway_ns": own, "network_ns": network if network is not None and network >= 0 else None},
    )
    made = timed(times, status)
    return (
        made
        | tokens
        | {
            "flags": [*made["flags"], *tokens["flags"]],
            "vantage": "gateway",
            "status_class": status,
            "http_status": code,
            "request_id": v.text(v.at(row, "request", "id")),
            "model": v.first(v.text(meta.get("response_model")), v.text(meta.get("request_model"))),
            "requested_model": v.text(meta.get("request_model")),
            "provider": v.provider(meta.get("provider_name")),
            "user": v.first(*(v.identity(v.at(row, "consumer", key)) for key in ("custom_id", "username", "id"))),
            "tenant": v.identity(v.at(row, "consumer", "username")),
            "route": v.first(v.text(v.at(row, "route", "name")), v.text(v.at(row, "service", "name"))),
            "response_cached": True if is_cached else None,
            "source_cost_usd": v.stated_cost(used.get("cost"), tokens["input_tokens"], tokens["output_tokens"]),
            "attributes": extra(llm_latency_ns=v.duration_ns(meta.get("llm_latency"), "ms")),
        }
    )


def _known(value: object) -> int | None:
    """A latency in ms; Kong writes -1 where there was no upstream."""
    found = v.duration_ns(value, "ms")
    return found if found is not None and found >= 0 else None


FORMAT = Format(
    name="kong",
    title="Kong log with AI statistics",
    says="one JSON object per request through the gateway",
    sniff=sniff,
    reader=RowReader(read),
)
