"""JSON objects of a source, one at a time, however they are laid out.

Input: an opened source. Output: Row per object, RawReject per piece that is none, in source order; neither a bad
piece nor a torn end costs its neighbors. Layouts: a value a line, values set one after another, one array, one
document whose elements lie at given paths. Memory: one line or one element.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Any

import msgspec

from ingest.bounds import MAX_OBJECT_BYTES
from ingest.errors import HEAD_CHARACTERS
from ingest.formats.contract import RawReject, Source
from ingest.formats.heads import Cells, fault_of, head_of, head_of_line, too_long

MAX_BYTES = MAX_OBJECT_BYTES  # of one line or element, as reject reason line_too_long says
CHUNK_BYTES = 1 << 20
MAX_NESTING = 1000  # deeper is no telemetry, and no decoder follows
TRIED_BYTES = 4 << 20  # of a line that is parsed only to tell lines from a document
LINES_TRIED = 4  # a document may hold a line that is a value by itself; a file of lines may start with a bad one

Path = tuple[str, ...]  # keys from the top; "[]" stands for every index of an array, "*" for every key

# Up to the next bracket or comma, strings passed over; possessive, so that a missing end costs no second look
_STRUCTURE = re.compile(rb'(?:[^"{}\[\],]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\],]', re.DOTALL)
_INSIDE = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\]]', re.DOTALL)  # of a piece: commas do not matter
_LINE_OF_VALUE = re.compile(rb"\n[ \t]*+(?=[{\[])")
_KEY = re.compile(rb'"([^"]{1,256})"\s*:\s*[{\[]$')
_BLANK = b" \t\r\n"


@dataclass(frozen=True)
class Row:
    """One JSON object: its value, where it stands, where in the document it was found, and in which of several."""

    value: dict[str, Any]
    line: int
    offset: int
    path: tuple[str | int, ...] = ()
    data: bytes = b""
    document: int = 0


def reject(reason: str, line: int | None, offset: int | None, data: bytes | str | Cells, detail: str = "") -> RawReject:
    """A rejected piece with its first characters, content left out, and what is wrong with it."""
    if not isinstance(data, bytes):
        return RawReject(line, offset, reason, head_of(data), detail)
    return RawReject(line, offset, reason, head_of_line(data), detail or fault_of(data, reason))


def decode(data: bytes) -> Any:
    """The JSON value of the bytes; NaN and Infinity, which Python writes, become None.

    Raises:
        ValueError: not one JSON value; UnicodeDecodeError, which is one, if the bytes are not UTF-8.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(data.decode("utf-8"), parse_constant=lambda _: None)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_rows(source: Source, *paths: Path, under: str = "", opened: tuple[str, ...] = ()) -> Iterator[Row | RawReject]:
    """The objects of the source.

    Args:
        paths: where they lie in a single document, such as ("data", "[]"); none: each element of an outer array, or
            the outer value itself.
        under: dotted name of the objects, where they are a part of what the receipt calls a row.
        opened: names whose texts hold JSON with names of its own.
    """
    with source.open() as stream:
        by_line = _is_by_line(stream)
    with source.open() as stream:
        for row in by_line_rows(stream) if by_line else document_rows(stream, *paths):
            if source.unread is None or isinstance(row, RawReject):
                yield row
                continue
            value = source.unread.watched(row.value, under=under, opened=opened)
            yield row if value is row.value else replace(row, value=value)


def _is_by_line(stream: IO[bytes]) -> bool:
    """Whether there is more than one line, and the first, or half of the first, is an object (or array) by itself."""
    told: list[bool] = []
    while len(told) < LINES_TRIED and (line := stream.readline(TRIED_BYTES)):
        is_cut = len(line) == TRIED_BYTES and not line.endswith(b"\n")
        stripped = line.strip(_BLANK + b"\xef\xbb\xbf")
        if is_cut:
            told.append(stripped[:1] in (b"{", b"[") and _last_byte(stream) in (b"}", b"]"))
        elif stripped:
            told.append(_is_value(stripped))
    return len(told) > 1 and (told[0] or 2 * sum(told) >= len(told))


def _last_byte(stream: IO[bytes]) -> bytes:
    """The last byte of the rest of a line that is not blank; a line too long to be tried is judged by its ends."""
    last = b""
    while data := stream.readline(CHUNK_BYTES):
        last = data.strip(_BLANK)[-1:] or last
        if data.endswith(b"\n"):
            break
    return last


def _is_value(line: bytes) -> bool:
    if line[:1] not in (b"{", b"[") or len(line) <= len("[{"):
        return False
    try:
        return isinstance(decode(line), (dict, list))
    except ValueError:
        return False


def by_line_rows(stream: IO[bytes]) -> Iterator[Row | RawReject]:
    """One Row per object, lines counted from 1 with blank ones."""
    line = offset = 0
    while data := stream.readline(MAX_BYTES + 1):
        line += 1
        start, offset = offset, offset + len(data)
        if len(data) > MAX_BYTES:
            offset += _skip_line(stream)
            yield reject("line_too_long", line, start, data, too_long(offset - start))
            continue
        stripped = data.strip(_BLANK)
        if start == 0:
            stripped = stripped.removeprefix(b"\xef\xbb\xbf").strip(_BLANK)
        if stripped:
            yield from _values_of_line(stripped, line, start, is_torn=not data.endswith(b"\n"))


def _skip_line(stream: IO[bytes]) -> int:
    skipped = 0
    while data := stream.readline(CHUNK_BYTES):
        skipped += len(data)
        if data.endswith(b"\n"):
            break
    return skipped


def _values_of_line(data: bytes, line: int, offset: int, *, is_torn: bool) -> Iterator[Row | RawReject]:
    try:
        values = [decode(data)]
    except UnicodeDecodeError:
        yield reject("invalid_utf8", line, offset, data)
        return
    except ValueError:
        found = _values_in_a_row(data)
        if not isinstance(found, list):
            yield reject("torn_line" if is_torn and found != "trailing_text" else found, line, offset, data)
            return
        values = found
    for value in values:
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, dict):
                yield Row(element, line, offset, (), data)
            else:
                yield reject("not_an_object", line, offset, data)


def _values_in_a_row(data: bytes) -> list[Any] | str:
    """All values of a line that holds several, or the reason why it holds none."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    try:
        remaining = data.decode("utf-8")
        values: list[Any] = []
        while remaining:
            value, end = decoder.raw_decode(remaining)
            values.append(value)
            remaining = remaining[end:].lstrip()
    except UnicodeDecodeError:
        return "invalid_utf8"
    except (ValueError, RecursionError):
        return "trailing_text" if values else "invalid_json"
    return values if all(isinstance(value, dict) for value in values) else "trailing_text"


def document_rows(stream: IO[bytes], *paths: Path) -> Iterator[Row | RawReject]:
    """One Row per object at one of the paths of a document, or of documents set one after another."""
    for piece in _Cutter(stream, paths or (("[]",), ())).pieces():
        if isinstance(piece, RawReject):
            yield piece
            continue
        data, line, offset, path, document = piece
        try:
            value = decode(data)
        except UnicodeDecodeError:
            yield reject("invalid_utf8", line, offset, data)
        except ValueError:
            yield reject("invalid_json", line, offset, data)
        else:
            if isinstance(value, dict):
                yield Row(value, line, offset, path, data, document)
            else:
                yield reject("not_an_object", line, offset, data)


Piece = tuple[bytes, int, int, tuple[str | int, ...], int]


class _Cutter:
    """Cuts the objects and arrays at given paths out of a document without keeping the rest.

    Only brackets and strings are looked at; what stands between is checked when the piece is decoded.
    """

    def __init__(self, stream: IO[bytes], paths: tuple[Path, ...]) -> None:
        self._stream = stream
        self._paths = paths
        self._buffer = stream.read(CHUNK_BYTES)
        self._at = 3 if self._buffer.startswith(b"\xef\xbb\xbf") else 0
        self._base = 0  # offset of the buffer in the source
        self._line = 1  # of the byte at `_counted`
        self._counted = 0
        self._keep: int | None = None  # start of the piece being cut, which must stay in the buffer
        self._open: list[bytes] = []
        self._path: list[str | int] = []

    def pieces(self) -> Iterator[Piece | RawReject]:
        depth_of_piece = n_values = 0
        while (found := self._next()) is not None:
            token = self._buffer[self._at - 1 : self._at]
            if not self._open and (token not in b"{[" or self._buffer[found : self._at - 1].strip(_BLANK)):
                yield self._reject("trailing_text" if n_values else "invalid_json", found)
                self._to_line_of_value(found)
                continue
            if token in b"{[":
                if len(self._open) == MAX_NESTING:
                    yield self._reject("invalid_json", self._at - 1)
                    return
                self._enter(token, found)
                if self._keep is None and self._is_wanted():
                    self._keep, depth_of_piece = self._at - 1, len(self._open)
            elif token in b"}]":
                if self._open[-1] != (b"{" if token == b"}" else b"["):
                    yield self._reject("invalid_json", self._at - 1)
                    return
                if self._keep is not None and len(self._open) == depth_of_piece:
                    yield (*self._cut(), n_values)
                self._open.pop()
                self._path.pop()
                n_values += not self._open
            elif isinstance(self._path[-1], int):
                self._path[-1] += 1
            if self._keep is not None and self._at - self._keep > MAX_BYTES:
                yield self._reject("line_too_long", self._keep)
                self._keep = None
        rest = self._buffer[self._at :].strip(_BLANK)
        if self._open:
            is_long = len(self._buffer) - self._at > MAX_BYTES  # one text, of which the end was not looked for
            yield self._reject("line_too_long" if is_long else "torn_line", self._at)
        elif rest:
            yield self._reject("trailing_text" if n_values else "invalid_json", self._at)

    def _enter(self, token: bytes, start: int) -> None:
        if self._open and self._open[-1] == b"{":
            key = _KEY.search(self._buffer, max(start, self._at - 600), self._at)
            self._path[-1] = key[1].decode("utf-8", "replace") if key else ""
        self._open.append(token)
        self._path.append(0 if token == b"[" else "")

    def _is_wanted(self) -> bool:
        here = self._path[:-1]
        return any(
            len(path) == len(here)
            and all(
                (want == "[]" and isinstance(key, int)) or want == key or (want == "*" and isinstance(key, str))
                for want, key in zip(path, here, strict=True)
            )
            and not (path == () and self._open[-1] == b"[")
            for path in self._paths
        )

    def _cut(self) -> tuple[bytes, int, int, tuple[str | int, ...]]:
        start = self._keep or 0
        self._keep = None
        return self._buffer[start : self._at], self._line_at(start), self._base + start, tuple(self._path[:-1])

    def _reject(self, reason: str, start: int) -> RawReject:
        """A reject at a place, or at the piece being cut."""
        start = start if self._keep is None else self._keep
        return reject(
            reason, self._line_at(start), self._base + start, self._buffer[start : start + 4 * HEAD_CHARACTERS]
        )

    def _line_at(self, place: int) -> int:
        """Line of a place; places are asked for in order, but for a few bytes."""
        if place >= self._counted:
            self._line += self._buffer.count(b"\n", self._counted, place)
        else:
            self._line -= self._buffer.count(b"\n", place, self._counted)
        self._counted = place
        return self._line

    def _next(self) -> int | None:
        """Goes behind the next bracket or comma and gives where the way to it began; None at the end."""
        while (found := (_STRUCTURE if self._keep is None else _INSIDE).match(self._buffer, self._at)) is None:
            if len(self._buffer) - self._at > MAX_BYTES or not self._read():
                return None
        start, self._at = self._at, found.end()
        return start

    def _to_line_of_value(self, start: int) -> None:
        """Goes on to the next line that begins a value, or to the end: text between two values costs no value."""
        self._at = start
        while (found := _LINE_OF_VALUE.search(self._buffer, self._at)) is None:
            newline = self._buffer.rfind(b"\n", self._at)
            self._at = newline if newline >= 0 else len(self._buffer)
            if not self._read():
                self._at = len(self._buffer)
                return
        self._at = found.end()

    def _read(self) -> bool:
        """More bytes in the buffer; what lies before the piece being cut is let go."""
        start = self._at if self._keep is None else self._keep
        chunk = self._stream.read(max(CHUNK_BYTES, len(self._buffer) - start))
        if not chunk:
            return False
        self._line_at(start)
        self._base += start
        self._buffer = self._buffer[start:] + chunk
        self._at -= start
        self._counted -= start
        if self._keep is not None:
            self._keep -= start
        return True
