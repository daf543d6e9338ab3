"""Azure LLM inference trace: arrivals of a production service with token lengths.

Input: CSV `TIMESTAMP,ContextTokens,GeneratedTokens`, seven digits of a second, no zone (UTC). Output: RawRequest
without latencies: it can feed arrivals and lengths, and every objective of latency is unknown.
Source: format page, 5.14.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawNote, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.heads import named
from ingest.formats.json_rows import reject
from ingest.formats.request_rows import checked
from ingest.selection import zone_of

COLUMNS = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}


def sniff(head: Head) -> float:
    return 0.97 if set(head.columns) >= COLUMNS else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    zone = zone_of(source.timezone)
    for row in csv_rows(source, head.delimiter):
        if isinstance(row, RawReject):
            yield row
            continue
        started = v.instant_ns(row.value.get("TIMESTAMP"), zone=zone)
        if started is None:
            yield reject(
                "bad_value", row.line, None, row.text, named("TIMESTAMP", row.value.get("TIMESTAMP"), "is no time")
            )
            continue
        columns = {
            "started_ns": started,
            "input_tokens": v.integer(row.value.get("ContextTokens")),
            "output_tokens": v.integer(row.value.get("GeneratedTokens")),
            "status_class": "ok",
        }
        yield checked(columns, line=row.line, offset=None, raw=row.text)
    yield RawNote(v.naive_note(source.timezone))


FORMAT = Format(
    name="azure_trace",
    title="Azure LLM inference trace",
    says="arrivals with token lengths, no latencies",
    sniff=sniff,
    reader=RowReader(read),
)
