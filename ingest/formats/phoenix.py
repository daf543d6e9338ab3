"""Phoenix: spans in the OpenInference names.

Input: rows with `context.trace_id`, `context.span_id`, `span_kind`, `attributes.*`, flattened with dots in CSV and
Parquet, nested in JSON. Output: RawSpan per span; the attribute names are OpenInference's own and pass through.
Source: format page, 5.12. Times are ISO text or timestamps; naive ones are UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.json_rows import json_rows
from ingest.formats.parquet_rows import parquet_rows
from ingest.formats.span_values import attributes, flattened, hex_id, kind_of, parent_id, status_of
from ingest.formats.unread import glance

PREFIX = "attributes."


def sniff(head: Head) -> float:
    names = head.keys | set(head.columns)
    return 0.95 if {"context.span_id", "span_kind"} <= names else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    if head.shape == "parquet":
        for line, cells in enumerate(parquet_rows(source), 1):
            yield _span(cells, line)
    elif head.shape == "csv":
        for record in csv_rows(source, head.delimiter):
            yield record if isinstance(record, RawReject) else _span(record.value, record.line)
    else:
        paths = (("data", "[]"),) if "data" in head.keys else ()
        for row in json_rows(source, *paths):
            yield row if isinstance(row, RawReject) else _span(row.value, row.line)


def _span(row: Mapping[str, Any], line: int) -> RawSpan:
    context = v.mapping(row.get("context"))
    kind = (v.text(row.get("span_kind")) or "UNKNOWN").upper()
    told = _attributes(row)
    told.setdefault("openinference.span.kind", kind)
    return RawSpan(
        trace_id=hex_id(v.first(row.get("context.trace_id"), context.get("trace_id")), 32),
        span_id=hex_id(v.first(row.get("context.span_id"), context.get("span_id")), 16),
        parent_span_id=parent_id(row.get("parent_id")),
        name=v.text(row.get("name")) or kind,
        kind=kind_of(row.get("kind")) or 1,
        start_ns=v.instant_ns(row.get("start_time")) or 0,
        end_ns=v.instant_ns(row.get("end_time")) or 0,
        status_code=status_of(v.first(row.get("status_code"), v.at(row, "status", "status_code"))),
        attributes=told,
        scope="openinference",
        events=_events(row),
        line=line,
    )


def _attributes(row: Mapping[str, Any]) -> dict[str, str]:
    """Attributes under dotted names, whichever way they were written; empty cells of a table are absent."""
    nested = flattened(v.mapping(row.get("attributes")))
    flat: dict[str, object] = {}
    for key, told in glance(row):
        if not key.startswith(PREFIX) or told in (None, ""):
            continue
        value = row[key]
        name = key.removeprefix(PREFIX)
        if isinstance(value, dict):
            flat |= flattened(value, name)
        else:
            flat[name] = value
    return attributes({**nested, **flat}.items())


def _events(row: Mapping[str, Any]) -> tuple[tuple[str, int, dict[str, str]], ...]:
    return tuple(
        (
            v.text(event.get("name")) or "",
            v.instant_ns(event.get("timestamp")) or 0,
            attributes(v.mapping(event.get("attributes")).items()),
        )
        for event in v.listing(row.get("events"))
        if isinstance(event, dict)
    )


FORMAT = Format(
    name="phoenix",
    title="Phoenix spans",
    says="OpenInference spans as JSON, CSV or Parquet",
    sniff=sniff,
    reader=RowReader(read),
)
