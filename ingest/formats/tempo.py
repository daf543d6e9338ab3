"""Tempo: traces of its API and UI.

Input: `{"batches": [{"resource", "scopeSpans": [...]}]}`, or the same below `trace`; ids in base64.
Output: RawSpan per span. Source: format page, 5.9; inside a batch the shape is that of OTLP JSON, of old and new names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.json_rows import json_rows, reject
from ingest.formats.span_values import hex_id, kind_of, nanoseconds, parent_id, status_of, tagged

PATHS = (("batches", "[]"), ("trace", "batches", "[]"), ("trace", "resourceSpans", "[]"))
SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans", "instrumentation_library_spans")


def sniff(head: Head) -> float:
    if "batches" in head.keys or "trace.batches" in head.keys:
        return 0.95
    return 0.9 if "trace.resourceSpans" in head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source, *PATHS):
        if isinstance(row, RawReject):
            yield row
            continue
        batches = next((v.listing(v.at(row.value, *path)) for path in _INNER if v.at(row.value, *path)), [row.value])
        for batch in batches:
            yield from _batch(v.mapping(batch), row.line)
        if not batches:
            yield reject("not_a_request", row.line, row.offset, row.data)


_INNER = (("batches",), ("trace", "batches"), ("trace", "resourceSpans"))  # where a line holds the whole answer


def _batch(batch: Mapping[str, Any], line: int) -> Iterator[RawSpan | RawReject]:
    resource = tagged(v.at(batch, "resource", "attributes"))
    for key in SCOPES:
        for scoped in v.listing(batch.get(key)):
            scope = v.text(v.first(v.at(scoped, "scope", "name"), v.at(scoped, "instrumentationLibrary", "name")))
            for span in v.listing(v.at(scoped, "spans")):
                if isinstance(span, dict):
                    yield _span(span, resource, scope, line)
                else:
                    yield reject("not_an_object", line, None, str(span))


def _span(span: Mapping[str, Any], resource: dict[str, str], scope: str | None, line: int) -> RawSpan:
    return RawSpan(
        trace_id=hex_id(span.get("traceId"), 32),
        span_id=hex_id(span.get("spanId"), 16),
        parent_span_id=parent_id(span.get("parentSpanId")),
        name=v.text(span.get("name")) or "",
        kind=kind_of(span.get("kind")),
        start_ns=nanoseconds(span.get("startTimeUnixNano")),
        end_ns=nanoseconds(span.get("endTimeUnixNano")),
        status_code=status_of(v.at(span, "status", "code")),
        attributes=tagged(span.get("attributes")),
        resource=resource,
        scope=scope,
        events=tuple(
            (v.text(event.get("name")) or "", nanoseconds(event.get("timeUnixNano")), tagged(event.get("attributes")))
            for event in v.listing(span.get("events"))
            if isinstance(event, dict)
        ),
        dropped_events=v.integer(span.get("droppedEventsCount")) or 0,
        trace_state=v.text(span.get("traceState")),
        line=line,
    )


FORMAT = Format(
    name="tempo",
    title="Tempo JSON",
    says="traces as the Tempo API gives them",
    sniff=sniff,
    reader=RowReader(read),
)
