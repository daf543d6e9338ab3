"""OTLP JSON: export requests one a line, or JSON documents however laid out.

Input: bytes. Output: FORMAT, read in bulk by SQL (store/span_source); and for documents the pieces that SQL reads as
lines: each entry of resourceSpans on a line of its own.
Source: OTLP specification, JSON encoding; what the collector's file exporter writes; OTLP examples.

A document torn in the middle gives every span that is whole, and one reject.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from ingest.bounds import MAX_OBJECT_BYTES
from ingest.errors import HEAD_CHARACTERS, Reject
from ingest.formats.contract import Format, Head, SpanReader
from ingest.formats.heads import LOOKED_AT, head_of_line, too_long

MAX_PIECE_BYTES = 8 << 20  # well below the object limit of the JSON reader
LONG_LINE_BYTES = 16 << 20  # above it the JSON reader of the store may refuse a line
MAX_LINE_BYTES = MAX_OBJECT_BYTES  # the longest line that is read
RELEASED_BYTES = 32 << 20  # of a mapped document that are looked at before their pages are let go
LONG_TEXT = 65_536  # of one value; a longer one is some prompt, and only its start is kept
_SIGNALS = ("resourceSpans", "resource_spans", "resourceMetrics", "resourceLogs", "resource_metrics", "resource_logs")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_LINE = re.compile(rb'\n[ \t]*\{[ \t]*"(?:%s)"' % "|".join(_SIGNALS).encode())  # an export request that begins a line
_OPENS = re.compile(rb"\[\s*\{")  # a list of documents
_TEXT = re.compile(rb"[^\s,]+")  # between documents there is none
_SPANS_KEYS = (b'"resourceSpans"', b'"resource_spans"')
_OTHER_KEYS = (b'"resourceMetrics"', b'"resource_metrics"', b'"resourceLogs"', b'"resource_logs"')


def sniff(head: Head) -> float:
    """Certain where a key of the encoding stands at the top."""
    if head.shape not in ("json_lines", "json_document"):
        return 0.0
    if any(key in head.keys for key in _SIGNALS):
        return 0.95
    return 0.6 if any(key in head.data for key in _SPANS_KEYS) and b'"spans"' in head.data else 0.0


def is_document(start: bytes) -> bool:
    """Whether the bytes are laid out over several lines, or set one value after another without a newline.

    Args:
        start: the first bytes of the source, the longer the surer.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    end, line = _value_end(text), _LINE.search(text)
    if text[:1] == b"[":
        return line is None or (end is None and _OPENS.match(text) is not None) or (end or 0) > line.start()
    if line and (end is None or line.start() < end):  # a bad line goes first; no document is laid out so
        return False
    newline = text.find(b"\n")
    if end is None:
        return 0 <= newline < len(text)
    if 0 <= newline < end:
        return True
    return text[end:].lstrip(b" \t\r")[:1] == b"{"


def _value_end(text: bytes) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


@dataclass(frozen=True)
class Piece:
    """One entry of resourceSpans as a line of its own (`text`), and where it stands in the document.

    Entries of metrics and logs come without content, documents without spans as they are. `is_ended`: the line it was
    cut from has its end.
    """

    text: bytes
    line: int
    offset: int
    is_ended: bool = True


Data = bytes | mmap.mmap


def pieces(data: Data) -> Iterator[Piece | Reject]:
    """Entries of all documents in the bytes, in order; a torn end or text that is no JSON is one reject."""
    walk = _Walk(data)
    yield from walk.run()


def mapped(path: Path) -> Data:
    """The bytes of a file, of which no more is held than is looked at; let go with the last reference."""
    if path.stat().st_size == 0:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Walk:
    """One pass over the tokens of a source."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.line_at = 0  # offset up to which lines are counted
        self.lines = 1
        self.released = 0  # offset up to which pages were let go
        self.depth = 0  # open brackets, a top-level array left out
        self.is_array = False
        self.key = b""  # last key at the top of a document
        self.array_key = b""  # key of the array that is open there
        self.document_at = 0
        self.entry_at = -1
        self.n_entries = 0
        self.ended_at = 3 if data[:3] == b"\xef\xbb\xbf" else 0  # end of the last document, or of what is none

    def run(self) -> Iterator[Piece | Reject]:
        for token in _TOKEN.finditer(self.data):
            mark = token[0]
            if token.start() - self.released > RELEASED_BYTES:
                self._release(token.start())
            if mark in (b"{", b"["):
                if self.depth == 0:
                    yield from self._between(token.start())
                self._open(mark, token.start())
            elif mark in (b"}", b"]"):
                if self.depth:
                    yield from self._close(mark, token.end())
                elif self.is_array and mark == b"]":
                    yield from self._between(token.start())
                    self.is_array, self.ended_at = False, token.end()
            elif self.depth == 1 and mark != b",":
                self.key = mark
        if self.depth or self.is_array:
            yield from self._torn()
        else:
            yield from self._between(len(self.data))

    def _between(self, end: int) -> Iterator[Reject]:
        """What stands between two documents and is none, as one reject."""
        found = _TEXT.search(self.data, self.ended_at, end)
        if found:
            yield self._reject(found.start(), "trailing_text" if self.ended_at > 3 else "invalid_json")
        self.ended_at = end

    def _release(self, at: int) -> None:
        """Lets go of the pages that were looked at; what is looked at again is read again."""
        self.released = at
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.data.madvise(mmap.MADV_DONTNEED, 0, at // mmap.PAGESIZE * mmap.PAGESIZE)

    def _open(self, mark: bytes, at: int) -> None:
        if self.depth == 0 and mark == b"[" and not self.is_array:
            self.is_array = True
            self.document_at = at
            self.ended_at = at + 1
            return
        if self.depth == 0:
            self.document_at, self.n_entries = at, 0
        elif self.depth == 1 and mark == b"[":
            self.array_key = self.key
        elif self.depth == 2 and self.array_key in (*_SPANS_KEYS, *_OTHER_KEYS):
            self.entry_at = at
        self.depth += 1

    def _close(self, mark: bytes, end: int) -> Iterator[Piece]:
        self.depth -= 1
        if self.depth == 0:
            self.ended_at = end
        if self.depth == 2 and self.entry_at >= 0:
            self.n_entries += 1
            yield from self._entry(self.array_key, self.entry_at, end)
            self.entry_at = -1
        elif self.depth == 1 and mark == b"]":
            self.array_key = b""
        elif self.depth == 0 and not self.n_entries:
            yield Piece(_one_line(self.data[self.document_at : end]), *self._place(self.document_at))

    def _entry(self, key: bytes, start: int, end: int) -> Iterator[Piece]:
        if key not in _SPANS_KEYS:
            yield Piece(b"{" + key + b":[]}", *self._place(start))
        elif end - start <= MAX_PIECE_BYTES:
            yield Piece(b"{" + key + b":[" + _one_line(self.data[start:end]) + b"]}", *self._place(start))
        else:
            for part in _parts(self.data, start, end):
                yield Piece(b"{" + key + b":[" + _one_line(part) + b"]}", *self._place(start))

    def _torn(self) -> Iterator[Piece | Reject]:
        if self.entry_at >= 0 and self.array_key in _SPANS_KEYS:
            for part in _parts(self.data, self.entry_at, len(self.data)):
                yield Piece(b"{" + self.array_key + b":[" + _one_line(part) + b"]}", *self._place(self.entry_at))
        yield self._reject(self.entry_at if self.entry_at >= 0 else self.document_at, "torn_line")

    def _place(self, offset: int) -> tuple[int, int]:
        while self.line_at < offset:
            step = min(offset, self.line_at + MAX_PIECE_BYTES)
            self.lines += self.data[self.line_at : step].count(b"\n")
            self.line_at = step
        return self.lines, offset

    def _reject(self, offset: int, reason: str) -> Reject:
        line, _ = self._place(offset)
        return Reject(line, offset, reason, head_of_line(self.data[offset : offset + LOOKED_AT]))


def _one_line(text: bytes) -> bytes:
    """The same JSON without line ends, which can only stand between its tokens."""
    return text.translate(_BLANKS) if b"\n" in text or b"\r" in text else text


_BLANKS = bytes.maketrans(b"\r\n", b"  ")


def _parts(entry: Data, start: int, end: int) -> Iterator[bytes]:
    """A long or torn entry of resourceSpans as several whole ones, each with its resource, scope and one run of spans.

    Resource and scope are those told before the spans; a span that does not end is left out.
    """
    stack: list[bytes] = []
    scopes_at = scope_at = spans_at = first = last = -1
    for token in _TOKEN.finditer(entry, start, end):
        mark = token[0]
        if mark in (b"{", b"["):
            stack.append(mark)
            if stack == _SPAN_STACK[:2]:
                scopes_at = token.end()
            elif stack == _SPAN_STACK[:3]:
                scope_at = token.start()
            elif stack == _SPAN_STACK[:4]:
                spans_at = token.end()
            elif stack == _SPAN_STACK and first < 0:
                first = token.start()
        elif mark in (b"}", b"]"):
            stack.pop()
            if stack == _SPAN_STACK[:4]:
                last = token.end()
            ends = stack == _SPAN_STACK[:3] or last - first > MAX_PIECE_BYTES // 2
            if ends and first >= 0 and last > first:
                yield entry[start:scopes_at] + entry[scope_at:spans_at] + entry[first:last] + b"]}]}"
                first = last = -1
    if first >= 0 and last > first:
        yield entry[start:scopes_at] + entry[scope_at:spans_at] + entry[first:last] + b"]}]}"


_SPAN_STACK = [b"{", b"[", b"{", b"[", b"{"]  # entry { scopeSpans [ scope { spans [ span {


def has_long_line(path: Path) -> bool:
    """Whether a file has a line above LONG_LINE_BYTES; looks at the end of each stretch of that length only."""
    if path.stat().st_size <= LONG_LINE_BYTES:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = 0
        while len(data) - at > LONG_LINE_BYTES:
            newline = data.rfind(b"\n", at, at + LONG_LINE_BYTES)
            if newline < 0:
                return True
            at = newline + 1
    return False


def short_lines(stream: IO[bytes]) -> Iterator[Piece | Reject]:
    """Lines of a source as they are, the long ones cut into several; one above 64 MiB is a reject."""
    line = offset = 0
    while data := stream.readline(MAX_LINE_BYTES + 1):
        line += 1
        start, offset = offset, offset + len(data)
        if len(data) > MAX_LINE_BYTES and not data.endswith(b"\n"):
            head = head_of_line(data)
            while rest := stream.readline(MAX_PIECE_BYTES):
                offset += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield Reject(line, start, "line_too_long", head, too_long(offset - start))
        elif len(data) <= LONG_LINE_BYTES:
            if data.strip():
                yield Piece(data.rstrip(b"\r\n"), line, start, is_ended=data.endswith(b"\n"))
        else:
            for piece in pieces(data):
                if isinstance(piece, Piece):
                    yield Piece(piece.text, line, start)
                else:
                    yield Reject(line, start, piece.reason, piece.head)


def slim(text: bytes) -> bytes:
    """The same JSON with every text above LONG_TEXT cut to its start; what is no JSON is cut to its start as it is."""
    try:
        return msgspec.json.encode(_slim(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text[:LONG_TEXT]


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _slim(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_slim(item) for item in value]
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return value[:HEAD_CHARACTERS]
    return value


FORMAT = Format(
    name="otlp_json",
    title="OTLP JSON",
    says="traces as the collector's file exporter writes them, one export request a line or as documents",
    sniff=sniff,
    reader=SpanReader("lines"),
)
