"""Received bodies on disk, durable before they are acknowledged, in order until they are in the store.

Input: (kind, payload). Output: segments, files of records that the batcher reads, commits and removes.
One thread writes: whatever waits is written together and synchronized once, so that many small bodies cost one fsync.
A record is a header (mark, kind, length, CRC-32) and the payload; a torn record at the end of a segment was never
acknowledged and is left out at reading.
"""

from __future__ import annotations

import os
import queue
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO

from api.problems import Refused

HEADER = struct.Struct(">4scII")
MARK = b"TWS1"
SUFFIX = ".segment"
RETRY_AFTER_S = 5
SEGMENT_BYTES = 32 << 20  # of a file, after which the next begins: a segment is stored at once
LONGEST_NUMBER = 16  # digits; milliseconds since 1970 have 13

Waiting = tuple[bytes, bytes, "Future[None]"]


class Spool:
    """The folder of segments; `max_bytes` is what may wait there before bodies are refused."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._max_bytes = max_bytes
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._sizes = {path: path.stat().st_size for path in sorted(folder.glob(f"*{SUFFIX}"))}
        self._backlog = sum(self._sizes.values())
        self._open: tuple[Path, IO[bytes]] | None = None
        self._next = _first_free(folder)
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what waits, then end."""
        self._waiting.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self.take()

    @property
    def backlog_bytes(self) -> int:
        """Bytes on disk that are not in the store yet; told without waiting for a write that is under way."""
        return self._backlog

    def offer(self, kind: bytes, payload: bytes) -> Future[None]:
        """A future that is done once the payload is on disk; whoever stops waiting for it does not take it back.

        Raises:
            Refused: too much waits already.
        """
        if self.backlog_bytes + len(payload) > self._max_bytes:
            raise Refused(
                f"{self.backlog_bytes} bytes of received spans wait for the store, the limit is {self._max_bytes}",
                status=503,
                code="backlog_full",
                retry_after=RETRY_AFTER_S,
            )
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # a client that goes away would otherwise cancel what is being written
        self._waiting.put((kind, payload, future))
        return future

    def take(self) -> list[Path]:
        """Segments to bring into the store, oldest first; none of them is written to any more."""
        with self._lock:
            if self._open is not None:
                self._open[1].close()
                self._open = None
            return sorted(self._sizes)

    def done(self, segment: Path) -> None:
        """The segment's records are in the store."""
        segment.unlink(missing_ok=True)
        with self._lock:
            self._backlog -= self._sizes.pop(segment, 0)

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, size = [first], len(first[1])
            ends = False
            while size < SEGMENT_BYTES and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    ends = True
                    break
                batch.append(more)
                size += len(more[1])
            self._write(batch)
            if ends:
                return

    def _write(self, batch: list[Waiting]) -> None:
        data = b"".join(
            HEADER.pack(MARK, kind, len(payload), zlib.crc32(payload)) + payload for kind, payload, _ in batch
        )
        try:
            with self._lock:
                path, file = self._segment()
                before = file.tell()
                try:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    os.ftruncate(file.fileno(), before)
                    file.seek(before)
                    raise
                self._sizes[path] = file.tell()
                self._backlog += len(data)
        except OSError as error:
            refusal = Refused(
                f"received spans cannot be written: {error.strerror or error}",
                status=503,
                code="spool_full",
                retry_after=RETRY_AFTER_S * 6,
            )
            for _, _, future in batch:
                future.set_exception(refusal)
            return
        for _, _, future in batch:
            future.set_result(None)

    def _segment(self) -> tuple[Path, IO[bytes]]:
        if self._open is not None and self._open[1].tell() >= SEGMENT_BYTES:
            self._open[1].close()
            self._open = None
        if self._open is None:
            path = self.folder / f"{self._next:012d}{SUFFIX}"
            self._next += 1
            self._open = (path, path.open("wb", buffering=0))
            _sync_folder(self.folder)
        return self._open


def records(segment: Path) -> Iterator[tuple[bytes, bytes]]:
    """(kind, payload) of every whole record of a segment, in order."""
    with segment.open("rb") as file:
        while len(header := file.read(HEADER.size)) == HEADER.size:
            mark, kind, length, checksum = HEADER.unpack(header)
            payload = file.read(length)
            if mark != MARK or len(payload) != length or zlib.crc32(payload) != checksum:
                return
            yield kind, payload


def _first_free(folder: Path) -> int:
    """A number above all that were given out: by the clock, for a segment that is done leaves no trace, and above all
    names that are left, for a clock may go back. Bodies that are set aside have the number of their segment."""
    left = (path.stem.partition("-")[0] for path in folder.rglob("*") if path.is_file())
    numbers = (int(stem) for stem in left if stem.isascii() and stem.isdigit() and len(stem) < LONGEST_NUMBER)
    return max(time.time_ns() // 1_000_000, 1 + max(numbers, default=0))


def _sync_folder(folder: Path) -> None:
    """A new file's name is durable only once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
