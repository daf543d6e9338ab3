"""Zipkin v2: spans as an array or lines.

Input: `{"traceId", "id", "parentId", "kind", "timestamp", "duration", "tags"}`, microseconds. Output: RawSpan per span.
Source: format page, 5.9. Client and server halves of a call share one id (`shared`): the server half gets an id of its
own below the client half, and children of the same service move below it. A span without timestamp cannot be placed;
one without duration is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.memo import Memo, memo
from ingest.formats.span_values import hex_id, kind_of, parent_id, plain


def sniff(head: Head) -> float:
    marks = {"localEndpoint", "remoteEndpoint", "annotations", "kind"}
    is_span = {"traceId", "id"} <= head.keys and bool(marks & head.keys)
    return 0.93 if is_span and not {"spanContext", "usageDetails", "startTime", "type"} & head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    with memo() as halves:
        for row in json_rows(source.looked_ahead):
            if not isinstance(row, RawReject) and row.value.get("shared") is True:
                halves[_half_id(*_ids(row.value), _service(row.value))] = ""
        for row in json_rows(source):
            yield row if isinstance(row, RawReject) else _span(row.value, halves, row.line)


def _ids(span: Mapping[str, Any]) -> tuple[str, str]:
    return hex_id(span.get("traceId"), 32), hex_id(span.get("id"), 16)


def _service(span: Mapping[str, Any]) -> str:
    return v.text(v.at(span, "localEndpoint", "serviceName")) or ""


def _half_id(trace_id: str, span_id: str, service: str) -> str:
    """Id of the server half of a call."""
    return v.hashed_id("server half", trace_id, span_id, service, digits=16)


def _span(span: Mapping[str, Any], halves: Memo, line: int) -> RawSpan:
    trace_id, span_id = _ids(span)
    service = _service(span)
    parent = parent_id(span.get("parentId"))
    if parent and not halves.is_empty and halves.get(half := _half_id(trace_id, parent, service)) is not None:
        parent = half
    if span.get("shared") is True:
        parent, span_id = span_id, _half_id(trace_id, span_id, service)
    tags = plain(span.get("tags"))
    start = v.duration_ns(span.get("timestamp"), "us") or 0
    duration = v.duration_ns(span.get("duration"), "us")
    return RawSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=v.text(span.get("name")) or "",
        kind=kind_of(span.get("kind")) or 1,
        start_ns=start,
        end_ns=(v.total(start, duration) or 0) if duration is not None and start else 0,
        status_code=2 if "error" in tags else 0,
        attributes=tags,
        resource={"service.name": service} if service else {},
        scope=tags.get("otel.scope.name") or tags.get("otel.library.name"),
        events=tuple(
            (v.text(note.get("value")) or "", v.duration_ns(note.get("timestamp"), "us") or 0, {})
            for note in v.listing(span.get("annotations"))
            if isinstance(note, dict)
        ),
        line=line,
    )


REDUNDANT = ("localEndpoint.*",)


FORMAT = Format(
    name="zipkin",
    title="Zipkin v2 JSON",
    says="spans as Zipkin stores and gives them",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
