"""Tables that the bulk reader does not take as they are, rewritten record by record as JSON lines.

Input: a delimited table with bad rows, or a JSON array of objects. Output: JSON lines of the sound records, their
places, and a Reject for every other.
One bad line costs no neighbor: a quote that never ends, or that makes a record of the wrong width out of several
lines, spoils its own line alone.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from ingest.errors import Reject
from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import LOOKED_AT, fault_of, head_of_cells, head_of_line, head_of_torn, too_long
from ingest.formats.json_rows import CHUNK_BYTES, json_rows
from ingest.lines import Refused, is_text, mended, numbered_lines, with_whole_characters
from ingest.unpack import MAX_LINE_BYTES

MAX_RECORD_LINES = 200  # a quoted value with more line ends than that is a quote that was never closed
_BLANK = b" \t\r\n"


@dataclass(frozen=True)
class Table:
    """Header and delimiter of a table, by which its rows are shown without content."""

    header: tuple[str, ...]
    delimiter: str

    def head_of(self, data: bytes) -> str:
        """First characters of a row."""
        cells = _cells(data, self.delimiter)
        if isinstance(cells, list) and len(cells) == len(self.header):
            return head_of_cells(cells, self.header, self.delimiter)
        return head_of_torn(data, self.header)


class Window:
    """Looks at places of a stream, ascending, without holding more than a few bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._start = 0
        self._data = b""

    def at(self, offset: int) -> bytes:
        """The bytes from a place on, as many as a head is made from."""
        while self._start + len(self._data) < offset + LOOKED_AT and (more := self._stream.read(CHUNK_BYTES)):
            kept = max(offset - self._start, 0)
            kept = min(kept, len(self._data))
            self._data = self._data[kept:] + more
            self._start += kept
        return self._data[offset - self._start : offset - self._start + LOOKED_AT]


@dataclass
class Places:
    """Where each record of the rewritten table stands in the source: line and byte offset, by record number from 1."""

    lines: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("q"))

    def add(self, line: int, offset: int) -> None:
        self.lines.append(line)
        self.offsets.append(offset)

    def rejects(self, stream: IO[bytes], refused: Iterable[Refused], table: Table | None = None) -> Iterator[Reject]:
        """The refused records, ascending by number, with their place in the source that `stream` reads.

        Args:
            table: where the source is a delimited table.
        """
        window = Window(stream)
        for record, reason, detail in refused:
            line, at = self.lines[record - 1], self.offsets[record - 1]
            data = window.at(at)
            head = head_of_line(data) if table is None else table.head_of(data.partition(b"\n")[0])
            yield Reject(line, at, reason, head, detail)


class Mender:
    """Takes lines that only half a surrogate pair kept from being read, and writes them mended for another reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places = Places()

    def take(self, line: int, offset: int, data: bytes) -> bool:
        """Whether the line could be mended."""
        found = mended(data)
        if found is None:
            return False
        with self.path.open("ab") as out:
            out.write(found + b"\n")
        self.places.add(line, offset)
        return True


def rewrite_array(source: Source, out: IO[bytes], places: Places) -> Iterator[Reject]:
    """Writes the objects of a JSON array, one a line, and yields a Reject for everything else."""
    encode = msgspec.json.Encoder().encode
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield Reject(row.line, row.offset, row.reason, row.head, row.detail)
            continue
        out.write((encode(row.value) if is_text(row.value) else with_whole_characters(row.value)) + b"\n")
        places.add(row.line, row.offset)


Line = tuple[int, int, bytes]  # number, byte offset, bytes


def rewrite(
    stream: IO[bytes], header: Sequence[str], delimiter: str, out: IO[bytes], places: Places
) -> Iterator[Reject]:
    """Writes the sound records to `out`, one JSON object of text a line, and yields a Reject for every other.

    Args:
        header: names of the columns; the first line that is not blank is passed over.
    """
    csv.field_size_limit(MAX_LINE_BYTES)  # the library's limit is process-wide and far below the prompts in a cell
    encode = msgspec.json.Encoder().encode
    is_header = True
    waiting: deque[Line] = deque()
    lines = numbered_lines(stream)
    while True:
        first = waiting.popleft() if waiting else next(lines, None)
        if first is None:
            return
        number, offset, data = first
        if not data.strip(_BLANK):
            continue
        if is_header:
            is_header = False
            _record(first, waiting, lines, delimiter, len(header))  # takes its lines, if it has several
            continue
        if len(data) > MAX_LINE_BYTES:
            yield Reject(number, offset, "line_too_long", head_of_torn(data, header), too_long())
            continue
        cells = _record(first, waiting, lines, delimiter, len(header))
        if isinstance(cells, str):
            yield Reject(number, offset, cells, head_of_torn(data, header), _why(data, cells, header, delimiter))
        elif any(cells):
            row = {name: cell for name, cell in zip(reversed(header), reversed(cells), strict=True) if cell}
            out.write(encode(dict(reversed(row.items()))) + b"\n")
            places.add(number, offset)
        else:
            yield Reject(number, offset, "no_time", head_of_torn(data, header))


def _record(first: Line, waiting: deque[Line], lines: Iterator[Line], delimiter: str, width: int) -> list[str] | str:
    """Cells of the record that begins with a line, or the reason why it is none; lines not used go to `waiting`."""
    taken = [first]
    found = _cells(first[2], delimiter)
    while found is None and len(taken) < MAX_RECORD_LINES:
        line = waiting.popleft() if waiting else next(lines, None)
        if line is None:
            break
        taken.append(line)
        found = _cells(b"".join(data for _, _, data in taken), delimiter)
    if isinstance(found, list) and len(found) == width:
        return found
    waiting.extendleft(reversed(taken[1:]))
    if found is None:
        return "unclosed_quote"
    if isinstance(found, list) and not first[2].endswith(b"\n") and len(found) < width:
        return "torn_line"
    return found if isinstance(found, str) else "wrong_columns"


def _why(data: bytes, reason: str, header: Sequence[str], delimiter: str) -> str:
    """What is wrong with a line that is no record."""
    if reason not in ("wrong_columns", "torn_line"):
        return fault_of(data, reason)
    cells = _cells(data, delimiter)
    return f"{len(cells)} values for {len(header)} columns" if isinstance(cells, list) else ""


def _cells(data: bytes, delimiter: str) -> list[str] | str | None:
    """Cells of a record, a reason, or None where a quote is still open."""
    if b"\0" in data:
        return "zero_bytes"
    try:
        text = data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return "invalid_utf8"
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return None if "unexpected end of data" in str(error) else "wrong_columns"
    return rows[0] if len(rows) == 1 else "wrong_columns"
