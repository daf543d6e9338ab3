"""Lines of a text, numbered.

Input: an opened source. Output: TextRow per line that is not blank, RawReject for what is no text; and the lines as
they are, with number and offset, for whoever splits them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import fault_of, too_long
from ingest.formats.json_rows import CHUNK_BYTES, MAX_BYTES, reject

BOM = b"\xef\xbb\xbf"
Line = tuple[int, int, bytes]  # number from 1, byte offset, bytes with the line's end


@dataclass(frozen=True)
class TextRow:
    """One line without its end; `is_torn`: nothing ends it, so it may have been cut."""

    text: str
    line: int
    offset: int
    is_torn: bool


def numbered_lines(stream: IO[bytes]) -> Iterator[Line]:
    """Every line, without a byte order mark; of one above the limit only its start, which is longer than the limit."""
    line = offset = 0
    while data := stream.readline(MAX_BYTES + 1):
        line += 1
        start, offset = offset, offset + len(data)
        if len(data) > MAX_BYTES and not data.endswith(b"\n"):
            while rest := stream.readline(CHUNK_BYTES):
                offset += len(rest)
                if rest.endswith(b"\n"):
                    break
        yield line, start, data.removeprefix(BOM) if start == 0 else data


def text_rows(source: Source) -> Iterator[TextRow | RawReject]:
    """The lines of the source; one above the limit is refused."""
    with source.open() as stream:
        for line, start, data in numbered_lines(stream):
            if len(data) > MAX_BYTES:
                yield reject("line_too_long", line, start, data, too_long())
                continue
            try:
                text = data.decode("utf-8").strip()
            except UnicodeDecodeError:
                yield reject("invalid_utf8", line, start, data)
                continue
            if "\0" in text:
                yield reject("zero_bytes", line, start, data, fault_of(data, "zero_bytes"))
            elif text:
                yield TextRow(text, line, start, not data.endswith(b"\n"))
