"""Azure LLM inference trace: arrivals of a production service with token lengths.

Input: CSV `TIMESTAMP,ContextTokens,GeneratedTokens`, seven digits of a second, no zone (UTC); copies
without a date count from the start. Output: RawRequest
without latencies: it can feed arrivals and lengths, and every objective of latency is unknown.
Source: format page, 5.14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawNote, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.heads import named
from ingest.formats.json_rows import reject
from ingest.formats.request_rows import checked, extra
from ingest.schema import NS_PER_S
from ingest.selection import zone_of

_CLOCK = re.compile(r"(\d{1,3}):(\d{2}):(\d{2}(?:\.\d+)?)")
COLUMNS = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}


def sniff(head: Head) -> float:
    return 0.97 if set(head.columns) >= COLUMNS else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    zone = zone_of(source.timezone)
    is_relative = False
    for row in csv_rows(source, head.delimiter):
        if isinstance(row, RawReject):
            yield row
            continue
        told = row.value.get("TIMESTAMP")
        started, offset = v.instant_ns(told, zone=zone), None
        if started is None:
            offset = _offset_ns(told)
            started = relative.placed(source, offset)
            is_relative = is_relative or offset is not None
        if started is None and offset is None:
            yield reject(
                "bad_value",
                row.line,
                row.offset,
                row.text,
                named("TIMESTAMP", row.value.get("TIMESTAMP"), "is no time"),
            )
            continue
        columns = {
            "started_ns": started,
            "input_tokens": v.integer(row.value.get("ContextTokens")),
            "output_tokens": v.integer(row.value.get("GeneratedTokens")),
            "status_class": "ok",
            "attributes": extra(trace_offset_ns=offset),
        }
        yield checked(columns, line=row.line, offset=row.offset, raw=row.text)
    yield relative.note(source) if is_relative else RawNote(v.naive_note(source.timezone))


def _offset_ns(told: str | None) -> int | None:
    """A time without a date, or seconds from the start, as some copies of the trace have it."""
    found = _CLOCK.fullmatch((told or "").strip())
    if not found:
        return v.duration_ns(told, "s")
    hours, minutes, seconds = int(found[1]), int(found[2]), v.duration_ns(found[3], "s")
    return None if seconds is None else (hours * 60 + minutes) * 60 * NS_PER_S + seconds


FORMAT = Format(
    name="azure_trace",
    title="Azure LLM inference trace",
    says="arrivals with token lengths, no latencies",
    sniff=sniff,
    reader=RowReader(read),
)
