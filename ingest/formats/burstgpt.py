"""BurstGPT: arrivals of a campus service with token lengths.

Input: CSV `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type`, newer files also `Session ID` and
`Elapsed time`. Output: RawRequest. `Timestamp` counts seconds from the start of the trace, so no wall time exists
and the offset is kept as an attribute; 0 response tokens mark a failure.
Source: format page, 5.14 (from the specification).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time

COLUMNS = {"Timestamp", "Model", "Request tokens", "Response tokens"}
CLOCKS = {"Timestamp": v.integer}


def sniff(head: Head) -> float:
    return 0.97 if set(head.columns) >= COLUMNS else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    yield relative.note(source)
    for row in csv_rows(source, head.delimiter):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value, source),
                line=row.line,
                offset=row.offset,
                raw=row.text,
                unread=unread_time(row.value, CLOCKS),
            )


def _columns(row: Mapping[str, str], source: Source) -> dict[str, Any]:
    tokens_out = v.integer(row.get("Response tokens"))
    status = "error" if tokens_out == 0 else "ok"
    offset = v.duration_ns(row.get("Timestamp"), "s")
    times = Times(
        started_ns=relative.placed(source, offset),
        e2e_ns=v.duration_ns(row.get("Elapsed time"), "s"),
        output_tokens=tokens_out,
    )
    return timed(times, status) | {
        "model": v.text(row.get("Model")),
        "requested_model": v.text(row.get("Model")),
        "scenario": v.text(row.get("Log Type")),
        "session": v.text(row.get("Session ID")),
        "input_tokens": v.integer(row.get("Request tokens")),
        "output_tokens": tokens_out,
        "status_class": status,
        "attributes": extra(trace_offset_ns=offset),
    }


REDUNDANT = ("Total tokens",)


FORMAT = Format(
    name="burstgpt",
    title="BurstGPT trace",
    says="arrivals with token lengths and models, relative times",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
