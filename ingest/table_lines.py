"""Tables that the bulk reader does not take as they are, rewritten record by record as JSON lines.

Input: a delimited table with bad rows, or a JSON array of objects. Output: JSON lines of the sound records, their
places, and a Reject for every other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec

from ingest.errors import Reject
from ingest.formats.contract import RawReject, Source
from ingest.formats.csv_rows import cells_of, fault_of_record, records
from ingest.formats.heads import LOOKED_AT, head_of_cells, head_of_line, head_of_torn
from ingest.formats.json_rows import CHUNK_BYTES, json_rows
from ingest.lines import Refused, is_text, mended, with_whole_characters


@dataclass(frozen=True)
class Table:
    """Header and delimiter of a table, by which its rows are shown without content."""

    header: tuple[str, ...]
    delimiter: str

    def head_of(self, data: bytes) -> str:
        """First characters of a row."""
        cells = cells_of(data, self.delimiter)
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


def rewrite(
    stream: IO[bytes], header: Sequence[str], delimiter: str, out: IO[bytes], places: Places
) -> Iterator[Reject]:
    """Writes the sound records to `out`, one JSON object of text a line, and yields a Reject for every other.

    Args:
        header: names of the columns; the first line that is not blank is passed over.
    """
    encode = msgspec.json.Encoder().encode
    for number, offset, data, cells in islice(records(stream, delimiter, len(header)), 1, None):
        if isinstance(cells, str):
            says = fault_of_record(data, cells, delimiter, len(header))
            yield Reject(number, offset, cells, head_of_torn(data, header), says)
        elif any(cells):
            row = {name: cell for name, cell in zip(reversed(header), reversed(cells), strict=True) if cell}
            out.write(encode(dict(reversed(row.items()))) + b"\n")
            places.add(number, offset)
        else:
            yield Reject(number, offset, "no_time", head_of_torn(data, header))
