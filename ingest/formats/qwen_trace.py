"""Qwen usage trace: arrivals of a production service by conversation turn.

Input: JSON lines `chat_id`, `parent_chat_id`, `timestamp` (s from the start), `input_length`, `output_length`, `type`,
`turn`, `hash_ids` of 16 tokens. Output: RawRequest without latencies and without wall time.
Source: format page, 5.14 (from the specification).
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
    return 0.92 if {"timestamp", "input_length", "output_length", "chat_id"} <= head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    yield relative.note(source)
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value, source),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(row.value, CLOCKS),
            )


def _columns(row: Mapping[str, Any], source: Source) -> dict[str, Any]:
    parent = v.text(row.get("parent_chat_id"))
    offset = v.duration_ns(row.get("timestamp"), "s")
    return {
        "started_ns": relative.placed(source, offset),
        "request_id": v.text(row.get("chat_id")),
        "scenario": v.text(row.get("type")),
        "input_tokens": v.integer(row.get("input_length")),
        "output_tokens": v.integer(row.get("output_length")),
        "status_class": "ok",
        "attributes": extra(
            trace_offset_ns=offset,
            turn=v.integer(row.get("turn")),
            parent_chat_id=parent if parent != "-1" else None,
        ),
    }


REDUNDANT = ("hash_ids",)  # blocks of the prompt


FORMAT = Format(
    name="qwen_trace",
    title="Qwen usage trace",
    says="arrivals with token lengths by conversation turn, relative times",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
