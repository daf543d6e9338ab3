"""Readers driven without a store: a file or bytes in, rows out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ingest.errors import UnreadableInput
from ingest.formats.attributes import RESOURCE_PICKS
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import (
    Head,
    RawNote,
    RawReject,
    RawRequest,
    RawRow,
    RawRun,
    RawSpan,
    Refusal,
    RowReader,
    SpanReader,
)
from ingest.formats.otlp_columns import Columns, Piece
from ingest.formats.otlp_protobuf import messages
from ingest.sniff import read_head, recognize
from ingest.unpack import open_source

PICKED = {pick: names[0] for pick, names in RESOURCE_PICKS.items()}
DATA = Path(__file__).resolve().parents[1] / "data"


def head_of(path: Path) -> Head:
    return read_head(open_source(path))


def told_format(path: Path) -> str:
    """Name of the format that recognizes the file best."""
    return recognize(head_of(path), FORMATS).name


def refusal(path: Path) -> str:
    """The sentence with which the file is refused."""
    head = head_of(path)
    reader = recognize(head, FORMATS).reader
    assert isinstance(reader, Refusal)
    return reader.says(head)


def rows(path: Path, name: str | None = None) -> list[RawRow]:
    """All rows of a file, read as the format of that name or as the one it is recognized as."""
    source = open_source(path)
    head = read_head(source)
    reader = recognize(head, FORMATS, name).reader
    if isinstance(reader, SpanReader) and reader.framing == "messages":
        return list(_rows_of_messages(path, head))
    assert isinstance(reader, RowReader)
    return list(reader.read(source, head))


def _rows_of_messages(path: Path, head: Head) -> Iterator[RawRow]:
    """Rows of a file of protobuf, from the columns that the store is given."""
    with path.open("rb") as stream:
        for message in messages(stream, head.data):
            fault = message.fault
            columns = Columns()
            if fault is None:
                try:
                    columns.add(message.body, message.offset)
                except UnreadableInput:
                    fault = "bad_value"
            piece = columns.piece()
            if piece.broken:
                fault = "bad_value"
            if fault is not None:
                reject = message.reject(fault)
                yield RawReject(None, reject.offset, reject.reason, reject.head)
            yield from spans_of(piece)


def spans_of(piece: Piece) -> Iterator[RawSpan]:
    """Spans of a piece, row by row, without their events; the resource has what the store picks of it."""
    groups = {row["group"]: row for row in piece.groups.to_dicts()}
    names = dict(piece.shapes.rows())
    for row in piece.spans.to_dicts():
        group = groups[row["group"]]
        values = row["vals"] or []
        yield RawSpan(
            trace_id=row["trace_id"].hex(),
            span_id=row["span_id"].hex(),
            parent_span_id=row["parent_id"].hex() or None,
            name=row["name"],
            kind=row["kind"],
            start_ns=row["started"],
            end_ns=row["ended"],
            status_code=row["status"],
            attributes=dict(zip(names[row["shape"]], values, strict=True)),
            resource={PICKED[pick]: group[pick] for pick in PICKED if group[pick] is not None},
            scope=group["scope"],
            dropped_events=row["dropped"],
            trace_state=row["trace_state"] or None,
        )


def requests(path: Path) -> list[dict[str, object]]:
    """Canonical columns of the requests of a file."""
    return [dict(row.values) for row in rows(path) if isinstance(row, RawRequest)]


def spans(path: Path) -> list[RawSpan]:
    return [row for row in rows(path) if isinstance(row, RawSpan)]


def rejects(path: Path) -> list[tuple[str, int | None]]:
    """Reason and line of the rejects of a file."""
    return [(row.reason, row.line) for row in rows(path) if isinstance(row, RawReject)]


def notes(path: Path) -> list[str]:
    return [row.says for row in rows(path) if isinstance(row, RawNote)]


def runs(path: Path) -> list[int | None]:
    """How long the load tests took that a file holds, as it says."""
    return [row.duration_ns for row in rows(path) if isinstance(row, RawRun)]


def numbers(found: Iterable[dict[str, object]], column: str) -> list[int]:
    """The known values of an integer column."""
    return [value for row in found if isinstance(value := row.get(column), int)]


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value with at least that share of the values at or below it."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def tpots_ns(found: Iterable[dict[str, object]]) -> list[float]:
    """Generation time per token after the first, of rows that have one."""
    return [
        generation / (tokens - 1)
        for row in found
        if isinstance(generation := row.get("generation_ns"), int)
        and isinstance(tokens := row.get("output_tokens"), int)
    ]
