"""HTTP exchanges with the timing headers of OpenAI.

Input: one JSON object a line: `openai_processing_ms`, `x_envoy_upstream_service_time`, `usage`, `created`, `date`, ...
Output: RawRequest, seen at the server.
Source: format page, 5.13. For an unstreamed answer the processing time is the model's, and what the proxy adds is
gateway time. For a streamed one the header is written when the stream starts: it is a time to the first byte, which
is neither TTFT nor E2E, so both are unknown and the figure is kept as an attribute. `created` is whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time, usage, with_cached
from ingest.formats.unread import merged

PROCESSING = ("openai_processing_ms", "openai-processing-ms")
UPSTREAM = ("x_envoy_upstream_service_time", "x-envoy-upstream-service-time")
CLOCKS = {"created": v.instant_ns}
DATES = {"date": v.http_date_ns}


def sniff(head: Head) -> float:
    return 0.94 if head.keys & {*PROCESSING, *(f"headers.{name}" for name in PROCESSING)} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            headers = merged(v.mapping(row.value.get("headers")), row.value)
            unread = unread_time(row.value, CLOCKS) or unread_time(headers, DATES)
            yield checked(_columns(row.value), line=row.line, offset=row.offset, raw=row.data, unread=unread)


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    headers = merged(v.mapping(row.get("headers")), row)
    processing = v.duration_ns(v.first(*(headers.get(name) for name in PROCESSING)), "ms")
    upstream = v.duration_ns(v.first(*(headers.get(name) for name in UPSTREAM)), "ms")
    http = v.integer(row.get("status"))
    status = v.status_of_http(http) or "ok"
    streaming = v.flag(row.get("stream"))
    tokens = with_cached(usage(row.get("usage")))
    whole = v.first(upstream, processing) if not streaming else None
    proxy = upstream - processing if upstream is not None and processing is not None and not streaming else None
    created, date = v.instant_ns(row.get("created"), "s"), v.http_date_ns(headers.get("date"))
    started = created if created is not None else date - (whole or 0) if date is not None else None
    times = Times(
        started_ns=started,
        e2e_ns=whole,
        streaming=streaming,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"gateway_ns": proxy if proxy is not None and proxy >= 0 else None},
    )
    made = timed(times, status)
    flags = [*made["flags"], *(["approximate_time"] if started is not None else [])]
    flags += ["time_to_first_byte"] if streaming else []
    return (
        made
        | tokens
        | {
            "flags": [*flags, *tokens["flags"]],
            "vantage": "server",
            "status_class": status,
            "http_status": http,
            "request_id": v.text(row.get("id")),
            "model": v.first(v.text(row.get("response_model")), v.text(row.get("request_model"))),
            "requested_model": v.text(row.get("request_model")),
            "provider": "openai",
            "route": v.text(row.get("path")),
            "attributes": extra(openai_processing_ns=processing, upstream_service_ns=upstream),
        }
    )


REDUNDANT = ("method", "*total_tokens")


FORMAT = Format(
    name="openai_headers",
    title="OpenAI exchanges with timing headers",
    says="one HTTP exchange a line with openai-processing-ms and usage",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
