"""LLMPerf: individual responses of a load test.

Input: one JSON array, an object per request. Output: RawRequest, seen at the client.
Source: format page, 5.8. No time and no id in the rows; model and lengths stand in the file name only, where the tool
writes them (`<model>_<input>_<output>_individual_responses.json`). Error rows have latencies of 0, which are unknown.
Code -100 marks an answer the tool judged too short although it was served: it is ok, and flagged `short_answer`.
`inter_token_latency_s` means different things in different files and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import FROM_SEND, Times, checked, timed

TOO_SHORT = -100
_NAME = re.compile(r"(?P<model>.+?)_(?P<lengths>\d+_\d+)_individual_responses")


def sniff(head: Head) -> float:
    return 0.95 if {"ttft_s", "end_to_end_latency_s"} <= head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    stem = head.name.split(".json")[0]
    named = _NAME.match(stem)
    shared = {
        "scenario": named["lengths"].replace("_", " to ") if named else stem or None,
        "model": named["model"] if named else None,
    }
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(_columns(row.value) | shared, line=row.line, offset=row.offset, raw=row.data)
    yield FROM_SEND
    yield from relative.no_place(source)


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    code = v.integer(row.get("error_code"))
    e2e, ttft = v.duration_ns(row.get("end_to_end_latency_s"), "s"), v.duration_ns(row.get("ttft_s"), "s")
    is_failed = row.get("error_code") is not None and code != TOO_SHORT
    message = v.text(row.get("error_msg"))
    http = code if code is not None and 100 <= code <= 599 else None
    status = (v.status_of_http(http) or v.status_of_error(message)) if is_failed else "ok"
    tokens_out = v.integer(row.get("number_output_tokens"))
    times = Times(
        e2e_ns=e2e if e2e or not is_failed else None,
        ttft_ns=ttft,
        streaming=True if ttft else None,
        output_tokens=tokens_out,
    )
    columns = timed(times, status)
    return columns | {
        "flags": columns["flags"] + (["short_answer"] if code == TOO_SHORT else []),
        "vantage": "client",
        "status_class": status,
        "http_status": http,
        "error_type": v.text(row.get("error_code")) if is_failed else None,
        "input_tokens": v.integer(row.get("number_input_tokens")),
        "output_tokens": tokens_out,
    }


REDUNDANT = ("number_total_tokens", "inter_token_latency_s", "request_output_throughput_token_per_s")


FORMAT = Format(
    name="llmperf",
    title="LLMPerf individual responses",
    says="requests of a load test with client-side latencies and no times of day",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
