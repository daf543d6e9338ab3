"""Cloudflare AI Gateway: logs of requests.

Input: JSON array, lines, or `{"result": [...]}` of its API. Output: RawRequest, seen at the gateway.
Source: format page, 5.11 (from the specification). `duration` is milliseconds, `created_at` the arrival; a cached
answer had no model behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, timed, unread_time

CLOCKS = {"created_at": v.instant_ns}


def sniff(head: Head) -> float:
    keys = head.keys | {key.removeprefix("result.") for key in head.keys}
    return 0.92 if {"tokens_in", "tokens_out", "duration"} <= keys and keys & {"cached", "provider"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    paths = (("result", "[]"),) if "result" in head.keys else ()
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
    code, is_cached = v.integer(row.get("status_code")), v.flag(row.get("cached")) is True
    status = v.status_of_http(code) or ("error" if v.flag(row.get("success")) is False else "ok")
    tokens_in, tokens_out = v.integer(row.get("tokens_in")), v.integer(row.get("tokens_out"))
    total = v.duration_ns(row.get("duration"), "ms")
    times = Times(
        started_ns=v.instant_ns(row.get("created_at")),
        e2e_ns=total,
        output_tokens=tokens_out,
        stages={"gateway_ns": total if is_cached else None},
    )
    metadata = v.mapping(row.get("metadata"))
    return timed(times, status) | {
        "vantage": "gateway",
        "status_class": status,
        "http_status": code,
        "request_id": v.text(row.get("id")),
        "model": v.text(row.get("model")),
        "requested_model": v.text(row.get("model")),
        "provider": v.provider(row.get("provider")),
        "user": v.first(v.identity(metadata.get("user_id")), v.identity(metadata.get("user"))),
        "tenant": v.first(v.identity(metadata.get("tenant")), v.identity(metadata.get("team"))),
        "scenario": v.text(metadata.get("scenario")),
        "route": v.text(row.get("path")),
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "response_cached": True if is_cached else None,
        "source_cost_usd": v.stated_cost(row.get("cost"), tokens_in, tokens_out),
    }


REDUNDANT = ("success",)  # of rows with a status code


FORMAT = Format(
    name="cloudflare",
    title="Cloudflare AI Gateway log",
    says="one object per request through the gateway",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
