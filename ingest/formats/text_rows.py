"""Lines of a text log, numbered.

Input: an opened source. Output: TextRow per line that is not blank, RawReject for what is no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import fault_of
from ingest.formats.json_rows import MAX_BYTES, reject


@dataclass(frozen=True)
class TextRow:
    """One line without its end; `is_torn`: nothing ends it, so it may have been cut."""

    text: str
    line: int
    offset: int
    is_torn: bool


def text_rows(source: Source) -> Iterator[TextRow | RawReject]:
    """The lines of the source; a line above the limit is refused in pieces of that size."""
    with source.open() as stream:
        line = offset = 0
        while data := stream.readline(MAX_BYTES):
            line += 1
            start, offset = offset, offset + len(data)
            if len(data) == MAX_BYTES and not data.endswith(b"\n"):
                yield reject("line_too_long", line, start, data)
                continue
            try:
                text = data.decode("utf-8-sig" if start == 0 else "utf-8").strip()
            except UnicodeDecodeError:
                yield reject("invalid_utf8", line, start, data)
                continue
            if "\0" in text:
                yield reject("zero_bytes", line, start, data, fault_of(data, "zero_bytes"))
            elif text:
                yield TextRow(text, line, start, not data.endswith(b"\n"))
