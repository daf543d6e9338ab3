"""Rows of a CSV source as one mapping of text each.

Input: an opened source and its delimiter. Output: CsvRow per record, RawReject per record that is none, in order.
A byte order mark, CRLF, blank lines, quoted line ends and a missing last line end are borne.
One bad line costs no neighbor: a quote that never ends, or that makes a record of the wrong width out of several
lines, spoils its own line alone.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, NamedTuple

from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import Cells, fault_of, head_of_torn, too_long
from ingest.formats.json_rows import MAX_BYTES
from ingest.formats.text_rows import Line, numbered_lines

MAX_RECORD_LINES = 200  # a quoted value with more line ends than that is a quote that was never closed
_BLANK = b" \t\r\n"


@dataclass(frozen=True)
class CsvRow:
    """One record: cells by column name, line and byte offset that it starts at, and what its head is made from."""

    value: dict[str, str]
    line: int
    offset: int
    text: Cells


class Record(NamedTuple):
    """One record as it lies in a file: where its first line stands, that line, and its cells or why it has none."""

    line: int
    offset: int
    data: bytes
    cells: list[str] | str


def records(stream: IO[bytes], delimiter: str, width: int | None = None) -> Iterator[Record]:
    """The records of a table, the header first.

    Args:
        width: number of cells that a record must have; None: as many as the header.
    """
    csv.field_size_limit(MAX_BYTES)  # the library's limit is process-wide and far below the prompts in a cell
    waiting: deque[Line] = deque()
    lines = numbered_lines(stream)
    while True:
        first = waiting.popleft() if waiting else next(lines, None)
        if first is None:
            return
        if not first[2].strip(_BLANK):
            continue
        cells = "line_too_long" if len(first[2]) > MAX_BYTES else _cells_from(first, waiting, lines, delimiter, width)
        yield Record(*first, cells)
        if width is None:
            width = len(cells) if isinstance(cells, list) else 0


def _cells_from(
    first: Line, waiting: deque[Line], lines: Iterator[Line], delimiter: str, width: int | None
) -> list[str] | str:
    """Cells of the record that begins with a line, or the reason why it is none; lines not used go to `waiting`."""
    taken = [first]
    found = cells_of(first[2], delimiter)
    while found is None and len(taken) < MAX_RECORD_LINES:
        line = waiting.popleft() if waiting else next(lines, None)
        if line is None:
            break
        taken.append(line)
        found = cells_of(b"".join(data for _, _, data in taken), delimiter)
    if isinstance(found, list) and width in (None, len(found)):
        return found
    waiting.extendleft(reversed(taken[1:]))
    if found is None:
        return "unclosed_quote"
    if isinstance(found, list) and not first[2].endswith(b"\n") and len(found) < (width or 0):
        return "torn_line"
    return found if isinstance(found, str) else "wrong_columns"


def cells_of(data: bytes, delimiter: str) -> list[str] | str | None:
    """Cells of a record, the reason why it has none, or None where a quote is still open."""
    if b"\0" in data:
        return "zero_bytes"
    try:
        text = data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return "invalid_utf8"
    if '"' not in text and "\r" not in text:
        return text.split(delimiter)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return None if "unexpected end of data" in str(error) else "wrong_columns"
    return rows[0] if len(rows) == 1 else "wrong_columns"


def fault_of_record(data: bytes, reason: str, delimiter: str, width: int) -> str:
    """What is wrong with a line that is no record."""
    if reason == "line_too_long":
        return too_long()
    if reason not in ("wrong_columns", "torn_line"):
        return fault_of(data, reason)
    cells = cells_of(data, delimiter)
    return f"{len(cells)} values for {width} columns" if isinstance(cells, list) else ""


def csv_rows(source: Source, delimiter: str = ",", *, opened: tuple[str, ...] = ()) -> Iterator[CsvRow | RawReject]:
    """The records below the header line.

    Args:
        opened: columns whose texts hold JSON with names of its own.
    """
    for row in _rows(source, delimiter):
        if source.unread is None or isinstance(row, RawReject):
            yield row
        else:
            yield replace(row, value=source.unread.watched(row.value, opened=opened))


def _rows(source: Source, delimiter: str) -> Iterator[CsvRow | RawReject]:
    header: list[str] | None = None
    with source.open() as stream:
        for line, offset, data, cells in records(stream, delimiter):
            if header is None:
                header = [name.strip() for name in cells] if isinstance(cells, list) else []
            elif isinstance(cells, list):
                row = dict(zip(header, cells, strict=True))
                yield CsvRow(row, line, offset, Cells(cells, header, delimiter))
            else:
                says = fault_of_record(data, cells, delimiter, len(header))
                yield RawReject(line, offset, cells, head_of_torn(data, header), says)
