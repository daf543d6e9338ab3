"""Mooncake traces: arrivals of a production service with token lengths and prefix blocks.

Input: JSON lines `timestamp` (ms from the start), `input_length`, `output_length`, `hash_ids` of 512 tokens each.
Output: RawRequest without latencies. No wall time exists but the
user's start; the offset is kept as an attribute. A block seen earlier in
the file could have been a cache hit: how many were is kept beside, and cached tokens stay unknown.
Source: format page, 5.14.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import checked, extra, unread_time

CLOCKS = {"timestamp": v.integer}


def sniff(head: Head) -> float:
    is_trace = {"timestamp", "input_length", "output_length"} <= head.keys
    return 0.9 if is_trace and not {"chat_id", "turn"} & head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    seen: set[int] = set()
    yield relative.note(source)
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value, seen, source),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(row.value, CLOCKS),
            )


def _columns(row: Mapping[str, Any], seen: set[int], source: Source) -> dict[str, Any]:
    blocks = [block for block in v.listing(row.get("hash_ids")) if isinstance(block, int)]
    n_known = sum(block in seen for block in blocks)
    seen.update(blocks)
    offset = v.duration_ns(row.get("timestamp"), "ms")
    return {
        "started_ns": relative.placed(source, offset),
        "input_tokens": v.integer(row.get("input_length")),
        "output_tokens": v.integer(row.get("output_length")),
        "status_class": "ok",
        "attributes": extra(
            trace_offset_ns=offset,
            prefix_blocks=len(blocks) if blocks else None,
            prefix_blocks_seen_before=n_known if blocks else None,
        ),
    }


FORMAT = Format(
    name="mooncake",
    title="Mooncake trace",
    says="arrivals with token lengths and prefix blocks, relative times",
    sniff=sniff,
    reader=RowReader(read),
)
