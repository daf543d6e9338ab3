"""Bodies of requests: read with a cap, unpacked with a cap.

Input: an HTTP request. Output: bytes, or the refusal that says which limit was met.
A body of 300 kB may unpack to 300 MB: the cap is watched while unpacking, not afterwards. Many bodies that are each
below their cap may be too much together: those that are under way share an allowance.
"""

from __future__ import annotations

import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from fastapi import Request

from api.problems import Refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 20  # unpacked at once
BLOCK = 1 << 16  # fed at once
RETRY_AFTER_S = 2
MOST_MEMBERS = 10_000  # gzip members or zstd frames; a sender that flushes makes a few


class Held:
    """Bytes of bodies that all doors hold in memory together, `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._lock = threading.Lock()

    @contextmanager
    def share(self) -> Iterator[Share]:
        """What one request holds, given back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            with self._lock:
                self._bytes -= share.bytes
                share.is_over = True

    def take(self, share: Share, size: int) -> None:
        """Counts some more bytes of a share.

        Raises:
            Refused: it would be more than there may be.
        """
        with self._lock:
            if share.is_over or self._bytes + size > self._most:
                raise Refused(
                    f"bodies under way hold {self._bytes} bytes of memory, the limit is {self._most}",
                    status=503,
                    code="too_many_bodies",
                    retry_after=RETRY_AFTER_S,
                )
            self._bytes += size
            share.bytes += size


class Share:
    """What one request holds of the memory for bodies; `is_over`: it is answered, though a thread may still unpack."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self.bytes = 0
        self.is_over = False

    def add(self, size: int) -> None:
        """Takes some more.

        Raises:
            Refused: all requests together hold too much.
        """
        self._held.take(self, size)


class _Unpacker(Protocol):
    """What gzip and zstd have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes | memoryview, max_length: int = ...) -> bytes: ...


async def read_body(request: Request, limit: int, share: Share) -> bytes:
    """The body as sent, counted in `share`.

    Raises:
        Refused: it is longer than `limit`, or all bodies together are too long.
    """
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        raise too_large("body", limit)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large("body", limit)
        share.add(len(part))
        parts.append(part)
    return b"".join(parts)


def too_large(what: str, limit: int) -> Refused:
    """The refusal of something that is longer than its limit."""
    return Refused(f"the {what} is longer than {limit} bytes, the limit of this server", status=413, code="too_large")


def unpack(body: bytes, encoding: str, limit: int, share: Share) -> bytes:
    """The body unpacked by its content encoding: identity, gzip, deflate or zstd; what is unpacked is counted in `share`.

    Raises:
        Refused: unknown encoding, damaged data, more than `limit` bytes unpacked, or all bodies together too long.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate", "zstd"):
        raise Refused(
            f'content encoding "{encoding}" is not known; use gzip, zstd or none', status=415, code="unknown_encoding"
        )
    try:
        return _unpack_members(body, encoding, limit, share)
    except (zlib.error, zstd.ZstdError) as error:
        raise Refused(f"the body is not valid {encoding}: {error}", status=400, code="damaged_body") from error


def _unpack_members(body: bytes, encoding: str, limit: int, share: Share) -> bytes:
    """All members one after another; fed in blocks, for what an unpacker has not used yet is copied at every call."""
    parts: list[bytes] = []
    view, at, size, members = memoryview(body), 0, 0, 0
    while at < len(body):
        members += 1
        if members > MOST_MEMBERS:
            raise Refused(
                f"the {encoding} body has more than {MOST_MEMBERS} members", status=400, code="too_many_members"
            )
        unpacker = _unpacker(encoding)
        while not unpacker.eof:
            if at == len(body):
                raise Refused(f"the {encoding} body ends in the middle", status=400, code="damaged_body")
            block = view[at : at + BLOCK]
            at += len(block)
            for part in _unpacked(unpacker, block):
                size += len(part)
                if size > limit:
                    raise too_large("unpacked body", limit)
                share.add(len(part))
                parts.append(part)
        at -= len(unpacker.unused_data)
    return b"".join(parts)


def _unpacked(unpacker: _Unpacker, block: memoryview) -> Iterator[bytes]:
    """What a block gives, in parts of at most CHUNK bytes."""
    data: bytes | memoryview = block
    while True:
        part = unpacker.decompress(data, CHUNK)
        yield part
        data = getattr(unpacker, "unconsumed_tail", b"")
        if unpacker.eof or (not data and len(part) < CHUNK):
            return


def _unpacker(encoding: str) -> _Unpacker:
    if encoding == "gzip":
        return zlib.decompressobj(wbits=31)
    if encoding == "deflate":
        return zlib.decompressobj()
    return zstd.ZstdDecompressor()
