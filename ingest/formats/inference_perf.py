"""inference-perf: the report per request of a load test.

Input: one JSON array of `{start_time, end_time, request, response, info, error}`. Output: RawRequest, at the client.
Source: format page, 5.8 (from the specification). Times count on a monotonic clock in seconds: durations are exact,
no wall time exists. TTFT is the first of `chunk_times` (older: `output_token_times`) after the start. Labels and
adapter serve as scenario. Aggregates of the same tool are refused by the name of the file that works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, Refusal, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import (
    DAY_NS,
    FROM_SEND,
    Times,
    checked,
    gap_columns,
    timed,
    unread_time,
    usage,
    with_cached,
)

CLOCKS = dict.fromkeys(("start_time", "end_time"), v.integer)


def sniff(head: Head) -> float:
    return 0.9 if {"start_time", "end_time", "request", "info"} <= head.keys and "run_type" not in head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    yield relative.note(source, "times count on the clock of the load generator, its first request from the start")
    first = _earliest(source) if source.start_ns is not None else None
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value, source, first),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(row.value, CLOCKS),
            )
    yield FROM_SEND


def _earliest(source: Source) -> int | None:
    """The earliest start on the clock of the load generator; rows stand in the order in which they ended."""
    rows = (row for row in json_rows(source.looked_ahead) if not isinstance(row, RawReject))
    starts = (v.duration_ns(row.value.get("start_time"), "s") for row in rows if _is_sound(row.value))
    return min((start for start in starts if start is not None), default=None)


def _is_sound(row: Mapping[str, Any]) -> bool:
    """Whether the times of a row are no reason to refuse it: a refused one is no start of the others."""
    start, end = (v.duration_ns(row.get(name), "s") for name in CLOCKS)
    return not unread_time(row, CLOCKS) and (start is None or end is None or 0 <= end - start <= DAY_NS)


def _columns(row: Mapping[str, Any], source: Source, first_start: int | None) -> dict[str, Any]:
    info = v.mapping(row.get("info"))
    answer = v.mapping(info.get("response_metrics"))
    start, end = v.duration_ns(row.get("start_time"), "s"), v.duration_ns(row.get("end_time"), "s")
    moments = v.listing(
        v.first(answer.get("chunk_times"), answer.get("output_token_times"), info.get("output_token_times"))
    )
    arrivals = [moment for moment in (v.duration_ns(value, "s") for value in moments) if moment is not None]
    tokens = _tokens(row, info, answer)
    error = row.get("error")
    name = v.first(v.text(v.at(error, "error_type")), v.text(error))
    status = v.status_of_error(name) if error not in (None, "", {}) else "ok"
    is_known = start is not None and end is not None
    first_ns = arrivals[0] - start if arrivals and start is not None and len(arrivals) > 1 else None
    offset = start - first_start if start is not None and first_start is not None else None
    times = Times(
        started_ns=relative.placed(source, offset),
        e2e_ns=end - start if is_known and start is not None and end is not None else None,
        ttft_ns=first_ns,
        last_token_ns=arrivals[-1] - start if first_ns is not None and start is not None else None,
        streaming=True if first_ns is not None else None,
        output_tokens=v.integer(tokens["output_tokens"]),
    )
    columns = timed(times, status)
    basis = "chunk" if answer.get("chunk_times") else "token"
    return (
        columns
        | gap_columns((after - before for before, after in pairwise(arrivals)), basis)
        | tokens
        | {
            "flags": [*columns["flags"], *tokens["flags"]],
            "vantage": "client",
            "status_class": status,
            "error_type": name if status != "ok" else None,
            "model": v.text(v.at(row, "request", "model")),
            "scenario": _scenario(info),
        }
    )


def _tokens(row: Mapping[str, Any], info: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict(usage(answer.get("server_usage")))
    stated_in = v.first(v.at(info, "request_metrics", "text", "input_tokens"), info.get("input_tokens"))
    stated_out = v.first(answer.get("output_tokens"), info.get("output_tokens"))
    found["input_tokens"] = v.first(v.integer(stated_in), found["input_tokens"])
    found["output_tokens"] = v.first(v.integer(stated_out), found["output_tokens"])
    if row.get("error") not in (None, "", {}) and not found["output_tokens"]:
        found["output_tokens"] = None
    return with_cached(found)


def _scenario(info: Mapping[str, Any]) -> str | None:
    labels = info.get("labels")
    if isinstance(labels, dict):
        told = ", ".join(f"{v.clean(str(key))} {v.clean(str(value))}" for key, value in sorted(labels.items(), key=str))
    else:
        told = ", ".join(v.clean(str(label)) for label in v.listing(labels))
    return told or v.text(info.get("lora_adapter"))


def sniff_summary(head: Head) -> float:
    return 0.95 if {"load_summary", "successes"} <= head.keys else 0.0


FORMAT = Format(
    name="inference_perf",
    title="inference-perf report per request",
    says="requests of a load test with the instants of their chunks",
    sniff=sniff,
    reader=RowReader(read),
)

SUMMARY = Format(
    name="inference_perf_summary",
    title="inference-perf summary",
    says="totals of a run without its requests; refused",
    sniff=sniff_summary,
    reader=Refusal(
        lambda head: f"{head.name} holds totals only. Load per_request_lifecycle_metrics.json of the same run"
    ),
)
