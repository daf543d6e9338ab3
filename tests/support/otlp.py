"""OTLP sources for tests: spans built by hand, files written, loaded, and the rows they make.

Times are seconds from START; ids are short names, padded to the width of real ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.assemble import SpanCounts, SpanOptions, assemble, load_spans
from ingest.store.database import Store, StoreSettings
from ingest.unpack import open_source

START_NS = 1_795_000_000_000_000_000  # 2026-11-18
NS = 1_000_000_000
Json = dict[str, Any]


def hex_id(name: str, width: int) -> str:
    """A name as an id of that many hex digits."""
    return name.encode().hex().ljust(width, "0")[:width]


def value(content: object) -> Json:
    """A Python value as an attribute value of the encoding."""
    if isinstance(content, bool):
        return {"boolValue": content}
    if isinstance(content, int):
        return {"intValue": str(content)}
    if isinstance(content, float):
        return {"doubleValue": content}
    if isinstance(content, list):
        return {"arrayValue": {"values": [value(item) for item in content]}}
    return {"stringValue": content}


def attributes(values: Json) -> list[Json]:
    """A dict as the list of attributes of the encoding."""
    return [{"key": key, "value": value(content)} for key, content in values.items()]


def span(
    name: str,
    start: float = 0.0,
    end: float = 1.0,
    *,
    span_id: str = "a",
    parent: str = "",
    trace: str = "t",
    kind: int = 1,
    **more: object,
) -> Json:
    """One span; `more`: `attributes` as a dict, `events` as (name, second) pairs, or fields of the encoding."""
    told = more.pop("attributes", {})
    events = more.pop("events", ())
    assert isinstance(told, dict)
    assert isinstance(events, list | tuple)
    return {
        "traceId": hex_id(trace, 32),
        "spanId": hex_id(span_id, 16),
        "parentSpanId": hex_id(parent, 16) if parent else "",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(START_NS + round(start * NS)),
        "endTimeUnixNano": str(START_NS + round(end * NS)),
        "attributes": attributes(told),
        "events": [{"name": event, "timeUnixNano": str(START_NS + round(at * NS))} for event, at in events],
        **more,
    }


def request(spans: Sequence[Json], scope: str = "app", resource: Json | None = None) -> Json:
    """One export request with the spans of one scope."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource or {"service.name": "svc"})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def write_lines(path: Path, requests: Sequence[Json | str]) -> Path:
    """A file of JSON lines; a text is written as it is."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in requests))
    return path


@contextmanager
def store_for(*folders: Path) -> Iterator[Store]:
    """A temporary store that may read files of the folders."""
    with Store.open(None, StoreSettings(folders=folders)) as store:
        yield store


def load(store: Store, path: Path, upload_id: str = "u", options: SpanOptions | None = None) -> SpanCounts:
    """Counts of one file whose requests are made."""
    with store.writing() as cursor:
        counts = load_spans(store, cursor, open_source(path), "lines", upload_id, options or SpanOptions())
        assemble(cursor)
    return counts


def rows(store: Store) -> dict[str, Json]:
    """Request rows by trace id."""
    return {row["trace_id"]: row for row in store.read("requests").to_dicts()}


def one_row(tmp_path: Path, spans: Sequence[Json], scope: str = "app", options: SpanOptions | None = None) -> Json:
    """The only request row that the spans of one scope make, nulls left out."""
    return only_row(tmp_path, [request(spans, scope)], options)


def only_row(tmp_path: Path, requests: Sequence[Json], options: SpanOptions | None = None) -> Json:
    """The only request row that the export requests make, nulls left out."""
    path = write_lines(tmp_path / "traces.jsonl", requests)
    with store_for(tmp_path) as store:
        load(store, path, options=options)
        (row,) = rows(store).values()
    return {name: content for name, content in row.items() if content is not None}
