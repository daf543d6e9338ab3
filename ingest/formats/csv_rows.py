"""Rows of a CSV source as one mapping of text each.

Input: an opened source and its delimiter. Output: CsvRow per record, RawReject per record that is none, in order.
A byte order mark, CRLF, quoted line ends and a missing last line end are borne.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO

from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import Cells, fault_of, head_of_torn
from ingest.formats.json_rows import MAX_BYTES


@dataclass(frozen=True)
class CsvRow:
    """One record: cells by column name, the line it starts on, and what its head is made from."""

    value: dict[str, str]
    line: int
    text: Cells


class _Lines:
    """The lines of a stream as text, remembering those of the record being read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self.record: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.record.append(line)
            yield line


def csv_rows(source: Source, delimiter: str = ",", *, opened: tuple[str, ...] = ()) -> Iterator[CsvRow | RawReject]:
    """The records below the header line.

    Args:
        opened: columns whose texts hold JSON with names of its own.
    """
    for row in _records(source, delimiter):
        if source.unread is None or isinstance(row, RawReject):
            yield row
        else:
            yield replace(row, value=source.unread.watched(row.value, opened=opened))


def _records(source: Source, delimiter: str) -> Iterator[CsvRow | RawReject]:
    csv.field_size_limit(MAX_BYTES)  # the library's limit is process-wide and far below the prompts in a cell
    with source.open() as stream:
        lines = _Lines(stream)
        reader = csv.reader(lines, delimiter=delimiter)
        header: list[str] | None = None
        while True:
            line = reader.line_num + 1
            lines.record.clear()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield RawReject(
                    line, None, "wrong_columns", head_of_torn("".join(lines.record), header or ()), str(error)
                )
                continue
            if header is None:
                header = [name.strip() for name in cells] if cells else None
            elif cells and cells != [""]:
                yield _row(header, cells, line, "".join(lines.record), delimiter)


def _row(header: list[str], cells: list[str], line: int, raw: str, delimiter: str) -> CsvRow | RawReject:
    if not raw.isascii() and any("\udc80" <= character <= "\udcff" for character in raw):
        data = raw.encode("utf-8", "surrogateescape")
        return RawReject(line, None, "invalid_utf8", head_of_torn(data, header), fault_of(data, "invalid_utf8"))
    if "\0" in raw:
        data = raw.encode()
        return RawReject(line, None, "zero_bytes", head_of_torn(raw, header), fault_of(data, "zero_bytes"))
    if len(cells) != len(header):
        is_torn = len(cells) < len(header) and not raw.endswith(("\n", "\r"))
        says = f"{len(cells)} values for {len(header)} columns"
        return RawReject(line, None, "torn_line" if is_torn else "wrong_columns", head_of_torn(raw, header), says)
    return CsvRow(dict(zip(header, cells, strict=True)), line, Cells(cells, header, delimiter))
