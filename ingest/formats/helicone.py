"""Helicone: requests as its API and exports give them.

Input: JSON array or lines, `{"data": [...]}`, or CSV. Output: RawRequest, seen at the gateway.
Source: format page, 5.12 (from the specification). `delay_ms` or `latency` is milliseconds, `time_to_first_token` too;
free properties hold scenario and tenant under whatever name they were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time, with_cached

MARKS = {"delay_ms", "time_to_first_token", "request_user_id", "request_properties", "costUSD", "helicone_user"}

NO_CACHE = "00000000-0000-0000-0000-000000000000"  # cache_reference_id of an answer that a model made
CLOCKS = {"request_created_at": v.instant_ns}


def sniff(head: Head) -> float:
    keys = head.keys | set(head.columns)
    keys |= {key.removeprefix("data.") for key in keys}
    return 0.93 if {"request_created_at", "response_status"} & keys and len(MARKS & keys) > 1 else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    if head.shape == "csv":
        for cells in csv_rows(source, head.delimiter):
            if isinstance(cells, RawReject):
                yield cells
            else:
                yield checked(
                    _columns(cells.value),
                    line=cells.line,
                    offset=cells.offset,
                    raw=cells.text,
                    unread=unread_time(cells.value, CLOCKS),
                )
        return
    paths = (("data", "[]"),) if "data" in head.keys else ()
    for row in json_rows(source, *paths):
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


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    code = v.integer(row.get("response_status"))
    status = v.status_of_http(code) or "error"
    total = v.duration_ns(v.first(v.text(row.get("delay_ms")), row.get("latency")), "ms")
    tokens = with_cached(
        {
            "input_tokens": v.integer(row.get("prompt_tokens")),
            "cached_input_tokens": v.integer(row.get("prompt_cache_read_tokens")),
            "cache_write_tokens": v.integer(row.get("prompt_cache_write_tokens")),
            "output_tokens": v.integer(row.get("completion_tokens")),
            "reasoning_tokens": v.integer(row.get("reasoning_tokens")),
        }
    )
    times = Times(
        started_ns=v.instant_ns(row.get("request_created_at")),
        e2e_ns=total,
        ttft_ns=v.duration_ns(row.get("time_to_first_token"), "ms"),
        output_tokens=v.integer(tokens["output_tokens"]),
    )
    made = timed(times, status)
    properties = {key.lower(): value for key, value in v.mapping(row.get("request_properties")).items()}
    cost = v.first(v.text(row.get("costUSD")), row.get("cost"))
    return (
        made
        | tokens
        | {
            "flags": [*made["flags"], *tokens["flags"]],
            "vantage": "gateway",
            "status_class": status,
            "http_status": code,
            "request_id": v.text(row.get("request_id")),
            "model": v.first(v.text(row.get("response_model")), v.text(row.get("request_model"))),
            "requested_model": v.text(row.get("request_model")),
            "provider": v.provider(row.get("provider")),
            "user": v.identity(row.get("request_user_id")),
            "tenant": v.first(v.identity(properties.get("tenant")), v.identity(properties.get("team"))),
            "session": v.first(
                v.identity(properties.get("helicone-session-id")), v.identity(properties.get("session"))
            ),
            "scenario": v.first(v.text(properties.get("scenario")), v.text(properties.get("feature"))),
            "response_cached": True if v.text(row.get("cache_reference_id")) not in (None, NO_CACHE) else None,
            "source_cost_usd": v.stated_cost(cost, tokens["input_tokens"], tokens["output_tokens"]),
            "attributes": extra(properties=sorted(properties)),
        }
    )


FORMAT = Format(
    name="helicone",
    title="Helicone requests",
    says="one row per request, as JSON, JSON lines or CSV",
    sniff=sniff,
    reader=RowReader(read),
)
