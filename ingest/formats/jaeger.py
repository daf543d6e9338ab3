"""Jaeger: traces of its UI and API.

Input: `{"data": [{"traceID", "spans", "processes"}]}`, a bare trace, an array or lines of them, or `data` as one
object. Output: RawSpan per span. Source: format page, 5.9. Times are integer microseconds; ids of 64 bits are padded
on the left; the resource stands once per process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.json_rows import Path, Row, json_rows, reject
from ingest.formats.memo import memo
from ingest.formats.span_values import hex_id, kind_of, parent_id, status_of, tagged

TRACES: tuple[Path, ...] = (("data", "[]"), ("data",), (), ("[]",))  # where a trace may lie in a document
SCOPE = ("otel.scope.name", "otel.library.name")


def sniff(head: Head) -> float:
    keys = head.keys | {key.removeprefix("data.") for key in head.keys}
    return 0.96 if {"traceID", "spans"} <= keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    with memo() as processes:
        for row in json_rows(source.looked_ahead, *((*trace, "processes") for trace in TRACES)):
            if not isinstance(row, RawReject) and row.path:
                processes[_place(row, -1)] = json.dumps(_resources(row.value))
        last: str | None = None
        resources: dict[str, dict[str, str]] = {}
        for row in json_rows(source, *((*trace, "spans", "[]") for trace in TRACES)):
            if isinstance(row, RawReject):
                yield row
            elif row.path:
                if last != (trace := _place(row, -2)):
                    last, resources = trace, json.loads(processes.get(trace) or "{}")
                yield _span(row.value, resources, row.line)
            else:
                yield from _line(row)


def _place(row: Row, end: int) -> str:
    """Where the trace lies that a row is found in, so far below it, as a key."""
    return "/".join(map(str, (row.document, *row.path[:end])))


def _line(row: Row) -> Iterator[RawRow]:
    """Spans of a line that holds a trace, or the whole answer of the API."""
    inner = row.value.get("data")
    for trace in inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else [row.value]:
        spans = v.listing(v.at(trace, "spans"))
        if not spans:
            yield reject("not_a_request", row.line, row.offset, row.data)
        resources = _resources(v.mapping(v.at(trace, "processes")))
        for span in spans:
            if isinstance(span, dict):
                yield _span(span, resources, row.line)
            else:
                yield reject("not_an_object", row.line, row.offset, str(span))


def _resources(processes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {key: _resource(process) for key, process in processes.items()}


def _resource(process: object) -> dict[str, str]:
    service = v.text(v.at(process, "serviceName"))
    return ({"service.name": service} if service else {}) | tagged(v.at(process, "tags"))


def _span(span: Mapping[str, Any], processes: Mapping[str, dict[str, str]], line: int) -> RawSpan:
    tags = tagged(span.get("tags"))
    start = v.duration_ns(span.get("startTime"), "us") or 0
    duration = v.duration_ns(span.get("duration"), "us")
    told = v.text(tags.get("otel.status_code"))
    is_error = v.flag(tags.get("error")) is True
    process = v.text(span.get("processID"))
    return RawSpan(
        trace_id=hex_id(span.get("traceID"), 32),
        span_id=hex_id(span.get("spanID"), 16),
        parent_span_id=_parent(span),
        name=v.text(span.get("operationName")) or "",
        kind=kind_of(tags.get("span.kind")),
        start_ns=start,
        end_ns=(v.total(start, duration) or 0) if duration is not None and start else 0,
        status_code=status_of(told) if told else 2 if is_error else 0,
        attributes=tags,
        resource=processes.get(process or "", {}) or _resource(span.get("process")),
        scope=next((tags[name] for name in SCOPE if name in tags), None),
        events=tuple(_event(log) for log in v.listing(span.get("logs")) if isinstance(log, dict)),
        line=line,
    )


def _parent(span: Mapping[str, Any]) -> str | None:
    for reference in v.listing(span.get("references")):
        if v.at(reference, "refType") in ("CHILD_OF", None) and v.text(v.at(reference, "spanID")):
            return parent_id(v.at(reference, "spanID"))
    return parent_id(span.get("parentSpanID"))


def _event(log: Mapping[str, Any]) -> tuple[str, int, dict[str, str]]:
    fields = tagged(log.get("fields"))
    return fields.pop("event", ""), v.duration_ns(log.get("timestamp"), "us") or 0, fields


REDUNDANT = (  # of the page that shows the trace
    *("*tags.type", "*fields.type", "references.traceID", "*references.span", "flags", "warnings", "depth"),
    *("hasChildren", "relativeStartTime", "*processes", "*process"),
)


FORMAT = Format(
    name="jaeger",
    title="Jaeger JSON",
    says="traces as the Jaeger UI and API give them",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
