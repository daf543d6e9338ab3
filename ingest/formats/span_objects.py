"""Span objects of the OpenTelemetry SDKs as debug exporters print them: JavaScript and Python.

Input: JavaScript `{"spanContext", "startTime": [s, ns], ...}`, Python `{"context": {"trace_id": "0x..."}, "start_time":
"...Z", ...}`; array, lines, or pretty-printed one after another. Output: RawSpan per span.
Source: format page, 5.9. JavaScript counts kinds from 0 (internal); Python writes names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.span_values import hex_id, kind_of, parent_id, plain, status_of
from ingest.schema import NS_PER_S


def sniff(head: Head) -> float:
    if {"spanContext", "startTime"} <= head.keys and head.keys & {"spanContext.traceId", "attributes"}:
        return 0.95
    is_python = {"context.trace_id", "start_time", "name"} <= head.keys and "span_kind" not in head.keys
    return 0.94 if is_python and head.keys & {"parent_id", "status", "kind"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        elif "spanContext" in row.value or "_spanContext" in row.value:
            yield _javascript(row.value, row.line)
        else:
            yield _python(row.value, row.line)


def _pair_ns(value: object) -> int:
    """Nanoseconds of a `[seconds, nanoseconds]` pair, or of an instant in another spelling; 0 where it is not set."""
    if isinstance(value, list) and len(value) == 2:
        seconds, rest = v.integer(value[0]), v.integer(value[1])
        if seconds is not None and rest is not None and abs(seconds) < 10**10:
            return v.total(seconds * NS_PER_S, rest) or 0
        return 0
    return v.instant_ns(value) or 0


def _javascript(span: Mapping[str, Any], line: int) -> RawSpan:
    context = v.mapping(v.first(span.get("spanContext"), span.get("_spanContext")))
    parent = v.first(
        v.text(v.at(span, "parentSpanContext", "spanId")),
        v.text(span.get("parentSpanId")),
        v.text(span.get("parentId")),
    )
    start, end = _pair_ns(span.get("startTime")), _pair_ns(span.get("endTime"))
    if not end and start and span.get("duration") is not None:
        end = v.total(start, _pair_ns(span.get("duration"))) or 0
    kind = span.get("kind")
    scope = v.first(v.at(span, "instrumentationScope", "name"), v.at(span, "instrumentationLibrary", "name"))
    resource = v.first(v.at(span, "resource", "attributes"), v.at(span, "resource", "_attributes"))
    return RawSpan(
        trace_id=hex_id(context.get("traceId"), 32),
        span_id=hex_id(context.get("spanId"), 16),
        parent_span_id=parent_id(parent),
        name=v.text(span.get("name")) or "",
        kind=kind_of(kind + 1 if type(kind) is int else kind),
        start_ns=start,
        end_ns=end,
        status_code=status_of(v.at(span, "status", "code")),
        attributes=plain(span.get("attributes")),
        resource=plain(resource),
        scope=v.text(scope),
        events=_events(span, "time"),
        dropped_events=v.integer(span.get("droppedEventsCount")) or 0,
        line=line,
    )


def _python(span: Mapping[str, Any], line: int) -> RawSpan:
    context = v.mapping(span.get("context"))
    return RawSpan(
        trace_id=hex_id(context.get("trace_id"), 32),
        span_id=hex_id(context.get("span_id"), 16),
        parent_span_id=parent_id(span.get("parent_id")),
        name=v.text(span.get("name")) or "",
        kind=kind_of(span.get("kind")),
        start_ns=v.instant_ns(span.get("start_time")) or 0,
        end_ns=v.instant_ns(span.get("end_time")) or 0,
        status_code=status_of(v.first(v.at(span, "status", "status_code"), span.get("status"))),
        attributes=plain(span.get("attributes")),
        resource=plain(v.at(span, "resource", "attributes")),
        scope=v.text(v.at(span, "instrumentation_scope", "name")),
        events=_events(span, "timestamp"),
        line=line,
    )


def _events(span: Mapping[str, Any], time: str) -> tuple[tuple[str, int, dict[str, str]], ...]:
    return tuple(
        (v.text(event.get("name")) or "", _pair_ns(event.get(time)), plain(event.get("attributes")))
        for event in v.listing(span.get("events"))
        if isinstance(event, dict)
    )


REDUNDANT = ("parentSpanContext.*", "context.trace_state", "links", "resource.schema_url")


FORMAT = Format(
    name="span_objects",
    title="Span objects of debug exporters",
    says="spans as the SDKs for JavaScript and Python print them",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
