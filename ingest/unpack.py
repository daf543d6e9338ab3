"""Sources as they lie on disk: how they are packed, read again from the start, unpacked as far as they are whole.

Input: a file, packed or not. Output: Source; a Survey of its bytes; a Spool, the unpacked copy for readers that need
one (a damaged archive, UTF-16, lines above the limit).
Packing is told by magic, never by name: gzip with several members and zstd with several frames are one stream, and a zip
archive of one file is that file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, cast

from ingest.bounds import MAX_OBJECT_BYTES
from ingest.errors import Reject, UnknownFormat, UnreadableInput
from ingest.formats.contract import Source
from ingest.formats.heads import LOOKED_AT, head_of_line, too_long
from ingest.formats.otlp_protobuf import framing_of, messages

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
NOT_WHOLE = b"{"  # line of a message that is torn or damaged, which is rejected as such
ZIP_MAGIC = b"PK\x03\x04"
CHUNK = 1 << 22
MAX_LINE_BYTES = MAX_OBJECT_BYTES  # the longest line that is read (accounting to the line, up to 64 MiB)
FLOOR_UNPACKED = 1 << 30  # bytes any archive may unpack to
MAX_RATIO = 250  # unpacked to packed bytes above that floor; telemetry packs about 13 times, tables of numbers 4 times

CR_LINES = "cr"  # in place of an encoding: UTF-8 whose lines end in a carriage return alone

Packing = Literal["none", "gzip", "zstd"]
Damage = (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError)


@dataclass(frozen=True)
class Survey:
    """Facts about the bytes of a file as it lies on disk.

    `longest_gap`: no line is longer than this many bytes (an upper bound; 0 if the file is packed).
    """

    sha256: str
    size_bytes: int
    longest_gap: int = 0


@dataclass(frozen=True)
class Spool:
    """An unpacked copy: where it lies, what was cut out of it, and what a reader should know.

    `removed`: bytes taken out of a line, by its number; offsets of later lines are that much higher in the source.
    """

    path: Path
    rejects: tuple[Reject, ...] = ()
    notes: tuple[str, ...] = ()
    removed: tuple[tuple[int, int], ...] = ()

    def in_source(self, reject: Reject) -> Reject:
        """A reject of the copy with its offset in the source."""
        if not self.removed or reject.line is None or reject.offset is None:
            return reject
        shift = sum(removed for line, removed in self.removed if line < reject.line)
        return replace(reject, offset=reject.offset + shift)


class Positions:
    """How far the file of a source has been read, in bytes as it lies on disk."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None

    def done(self) -> int:
        """Bytes read by the latest opening; 0 when it is closed."""
        return 0 if self.file is None or self.file.closed else self.file.tell()


class _Capped(io.RawIOBase):
    """A stream of unpacked bytes that ends with an error above its cap."""

    def __init__(self, inner: io.BufferedIOBase, packed: IO[bytes], cap: int, name: str) -> None:
        self._inner = inner
        self._packed = packed  # closed here, for the unpacking streams leave a file that was given to them open
        self._left = cap
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        data = self._inner.read1(len(view))  # one step at a time: what is whole before a damage is not lost
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableInput(bomb(self._name))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        self._packed.close()
        super().close()


def packing_of(start: bytes) -> Packing:
    """How a file is packed, by its first bytes."""
    if start.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if start.startswith(ZSTD_MAGIC) else "none"


def open_source(path: Path, name: str | None = None, positions: Positions | None = None) -> Source:
    """The file as a source that can be read again and again.

    Args:
        positions: told how far each opening has read the file.

    Raises:
        UnreadableInput: it is missing, no file, or may not be read.
    """
    shown = name or path.name
    try:
        with path.open("rb") as file:
            packing = packing_of(file.read(4))
        size = path.stat().st_size
    except FileNotFoundError:
        raise UnreadableInput(f"{shown} does not exist") from None
    except IsADirectoryError:
        if not os.access(path, os.R_OK | os.X_OK):
            raise UnreadableInput(f"{shown} is a folder that may not be read; what lies in it is left out") from None
        raise UnreadableInput(f"{shown} is a folder, not a file") from None
    except OSError as error:
        raise UnreadableInput(f"{shown} cannot be read: {error.strerror or error}") from error
    return Source(path, shown, packing, size, lambda: _open_unpacked(path, shown, packing, size, positions))


def _open_unpacked(path: Path, name: str, packing: Packing, size: int, positions: Positions | None) -> IO[bytes]:
    file = path.open("rb")
    if positions is not None:
        positions.file = file
    if packing == "none":
        return file
    inner = gzip.GzipFile(fileobj=file) if packing == "gzip" else zstd.ZstdFile(file)
    cap = max(FLOOR_UNPACKED, MAX_RATIO * size)
    return io.BufferedReader(_Capped(cast("io.BufferedIOBase", inner), file, cap, name), CHUNK)


@contextmanager
def unzipped(source: Source, folder: Path, positions: Positions | None = None) -> Iterator[Source]:
    """The one file of a zip archive, or messages of JSON behind their lengths as lines, as a source of its own that is
    removed afterwards; any other source as it is.

    Raises:
        UnknownFormat: an archive holds several files, or none.
        UnreadableInput: an archive is damaged, locked or a bomb.
    """
    with source.path.open("rb") as file:
        is_zip = file.read(4) == ZIP_MAGIC
    if not is_zip and not _holds_json_messages(source):
        yield source
        return
    path = folder / f"unzipped-{hashlib.sha256(str(source.path).encode()).hexdigest()[:16]}.data"
    try:
        if is_zip:
            _unzip(source, path)
        else:
            _as_lines(source, path)
        yield open_source(path, source.name, positions)
    finally:
        path.unlink(missing_ok=True)


def _unzip(source: Source, target: Path) -> None:
    left = max(FLOOR_UNPACKED, MAX_RATIO * source.size_bytes)
    try:
        with zipfile.ZipFile(source.path) as archive:
            files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
            if len(files) != 1:
                raise UnknownFormat(
                    f"{source.name} is a zip archive of {len(files)} files, not read; unpack it first and load its folder"
                )
            with archive.open(files[0]) as packed, target.open("wb") as out:
                while chunk := packed.read(CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise UnreadableInput(bomb(source.name))
                    out.write(chunk)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, *Damage) as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise UnreadableInput(f"{source.name} is a zip archive that cannot be unpacked: {why}") from error


def _holds_json_messages(source: Source) -> bool:
    """Whether messages stand behind their lengths, as the collector's file exporter writes those that it compresses, and
    are JSON."""
    try:
        with source.open() as stream:
            head = stream.read(8)
        if framing_of(head + b"\0") != "fixed" and head[:1] + head[4:5] != b"\0{":
            return False
        with source.open() as stream:  # an unpacked one cannot be read from its start again
            return next(messages(stream, head, "fixed")).body.lstrip()[:1] == b"{"
    except (StopIteration, *Damage):
        return False


def _as_lines(source: Source, target: Path) -> None:
    with source.open() as stream, target.open("wb") as out:
        for message in messages(stream, b"", "fixed"):
            text = NOT_WHOLE if message.fault else message.body.replace(b"\n", b" ")  # no text in JSON has a line end
            out.write(text + b"\n")


def bomb(name: str) -> str:
    """What is said of an archive that unpacks to more than anyone's telemetry."""
    return (
        f"{name} unpacks to more than {MAX_RATIO} times its size and is taken for a bomb. Unpack it first if it is none"
    )


def survey(source: Source, progress: Callable[[int], None] | None = None) -> Survey:
    """Hash, size and longest line of a file, read once.

    Args:
        progress: told the number of bytes done after each chunk; may raise to end the reading.
    """
    digest = hashlib.sha256()
    done = since_newline = longest = 0
    with source.path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if source.packing == "none":
                first = chunk.find(b"\n")
                if first < 0:
                    since_newline += len(chunk)
                else:
                    longest = max(longest, since_newline + first, len(chunk))
                    since_newline = len(chunk) - chunk.rfind(b"\n")
                longest = max(longest, since_newline)
            if progress is not None:
                progress(done)
    return Survey(digest.hexdigest(), done, longest)


def one_step(file: IO[bytes], size: int) -> bytes:
    """Up to that many bytes, as one step of unpacking gives them: what is whole before a damage is not lost to it."""
    return file.read1(size) if isinstance(file, io.BufferedReader) else file.read(size)


def whole_chunks(source: Source) -> Iterator[bytes | UnreadableInput]:
    """Unpacked bytes in chunks; where the archive is damaged, what is whole and then the damage as a last item."""
    try:
        with source.open() as file:
            while chunk := one_step(file, CHUNK):
                yield chunk
    except Damage as error:
        yield UnreadableInput(f"{source.name} is damaged: {str(error).rstrip('.') or type(error).__name__}")


def spool(source: Source, folder: Path, *, encoding: str = "utf-8") -> Spool:
    """An unpacked copy without the lines that no reader takes.

    Lines above 64 MiB are left out (an empty line keeps their place) and told as rejects. Of a damaged archive the
    whole part is kept. Text of another encoding is turned into UTF-8, and lines that
    end in a carriage return alone into those of today.
    """
    target = folder / f"spool-{hashlib.sha256(str(source.path).encode()).hexdigest()[:16]}.data"
    rejects: list[Reject] = []
    removed: list[tuple[int, int]] = []
    notes: list[str] = []
    with target.open("wb") as out:
        decoder = _decoder(encoding)
        cutter = _LineCutter(out, rejects, removed)
        for chunk in whole_chunks(source):
            if isinstance(chunk, UnreadableInput):
                notes.append(f"{chunk.message}; what is whole was read, the last line may be cut")
                break
            cutter.write(decoder(chunk))
        cutter.close()
    if encoding not in ("utf-8", CR_LINES):
        notes.append(f"{encoding.upper()} read as UTF-8; byte offsets count in the UTF-8 form")
    return Spool(target, tuple(rejects), tuple(notes), tuple(removed))


def _decoder(encoding: str) -> Callable[[bytes], bytes]:
    if encoding == "utf-8":
        return lambda chunk: chunk
    if encoding == CR_LINES:
        return lambda chunk: chunk.replace(b"\r", b"\n")
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return lambda chunk: decoder.decode(chunk).encode("utf-8")


class _LineCutter:
    """Writes lines on, except those above the limit, of which it keeps number, offset and head."""

    def __init__(self, out: IO[bytes], rejects: list[Reject], removed: list[tuple[int, int]]) -> None:
        self._out = out
        self._rejects = rejects
        self._removed = removed
        self._line = 1
        self._offset = 0  # of the current line's start
        self._pending = bytearray()
        self._length = 0
        self._head = b""

    def write(self, chunk: bytes) -> None:
        start = 0
        if self._length:  # finish the line that the chunk before left open
            end = chunk.find(b"\n")
            if end < 0:
                self._extend(chunk)
                return
            self._extend(chunk[: end + 1])
            self._finish()
            start = end + 1
        last = chunk.rfind(b"\n") + 1
        if last > start:
            self._out.write(memoryview(chunk)[start:last])
            self._line += chunk.count(b"\n", start, last)
            self._offset += last - start
            start = last
        if start < len(chunk):
            self._extend(chunk[start:])

    def _extend(self, part: bytes) -> None:
        self._head = part if not self._length else self._head + part
        self._head = self._head[:LOOKED_AT]
        self._length += len(part)
        if self._length > MAX_LINE_BYTES:
            self._pending.clear()
        else:
            self._pending += part

    def _finish(self) -> None:
        if self._length > MAX_LINE_BYTES:
            head, detail = head_of_line(self._head), too_long(self._length)
            self._rejects.append(Reject(self._line, self._offset, "line_too_long", head, detail))
            self._removed.append((self._line, self._length - 1))
            self._out.write(b"\n")
        else:
            self._out.write(self._pending)
        self._line += 1
        self._offset += self._length
        self._pending.clear()
        self._length = 0

    def close(self) -> None:
        if self._length:
            self._finish()
