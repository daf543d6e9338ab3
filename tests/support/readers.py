"""Readers driven without a store: a file or bytes in, rows out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Head, RawNote, RawReject, RawRequest, RawRow, RawSpan, Refusal, RowReader
from ingest.sniff import read_head, recognize
from ingest.unpack import open_source

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
    assert isinstance(reader, RowReader)
    return list(reader.read(source, head))


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
