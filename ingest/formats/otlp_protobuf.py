"""OTLP protobuf in every framing that collectors and other writers use.

Input: export requests behind a 4-byte big-endian length each (the collector's file exporter), each compressed alone
with zstd or not; behind a varint length (protobuf's own delimited writers); or one bare message (a saved body).
Output: FORMAT, read in bulk (ingest/messages), and messages with their places. A message that is broken or torn is one
reject; its neighbors are read.
Source: format page, 2 and 5.1; OTLP trace.proto.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from typing import IO

from ingest.errors import Reject
from ingest.formats.contract import Format, Head, SpanReader
from ingest.formats.heads import too_long
from ingest.formats.json_rows import MAX_BYTES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
EMPTY = b"\0\0\0\0"  # length of a message without spans, which may be the first
FIELD_1 = 0x0A  # tag of resource_spans, the only field of an export request
CHUNK = 1 << 20
MAX_VARINT_BYTES = 5  # of a length below 2^35


def sniff(head: Head) -> float:
    if head.shape not in ("protobuf", "binary"):
        return 0.0
    framing = framing_of(head.data)
    return 0.9 if framing and framing != "bare" else 0.7 if framing else 0.0


def framing_of(data: bytes) -> str | None:
    """How messages follow one another: fixed, varint, bare; None if the bytes are none of these."""
    while data[:4] == EMPTY:
        data = data[4:]
    if len(data) > 8 and data[0] == 0 and (data[4] == FIELD_1 or data[4:8] == ZSTD_MAGIC):
        return "fixed"
    if data[:1] == bytes([FIELD_1]) and _walks_as_fields(data):
        return "bare"
    length, start = _varint(data, 0)
    return "varint" if length and start < len(data) and data[start] == FIELD_1 and length < MAX_BYTES else None


def _walks_as_fields(data: bytes) -> bool:
    """Whether the data is a row of length-delimited fields 1, as far as it goes, whose first holds such a field."""
    at = 0
    while at < len(data):
        if data[at] != FIELD_1:
            return False
        length, start = _varint(data, at + 1)
        if length is None or (at == 0 and start < len(data) and data[start] not in (FIELD_1, 0x12, 0x1A)):
            return False
        at = start + length
    return True


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    """A varint and where it ends; None if it does not end within its limit."""
    value = 0
    for index in range(MAX_VARINT_BYTES):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    return None, at


@dataclass(frozen=True)
class Message:
    """One message, unpacked, and where it begins in the source; `fault` is the reason where it cannot be read, `size`
    the bytes that it should have, where there are others or too many."""

    body: bytes
    offset: int
    fault: str | None = None
    size: int | None = None

    def reject(self, reason: str) -> Reject:
        """The message as refused; its bytes are not shown, for names and texts can be read in them."""
        has = f"{len(self.body):,} of {self.size:,}" if self.size is not None else f"{len(self.body):,}"
        detail = too_long(self.size) if reason == "line_too_long" else f"{has} bytes of a message"
        return Reject(None, self.offset, reason, "", detail)


def messages(stream: IO[bytes], head: bytes, framing: str | None = None) -> Iterator[Message]:
    """Messages of a source in order; the last may be torn.

    Args:
        head: first bytes of the source, which tell its framing where it is not given.
    """
    for message in _framed(stream, framing or framing_of(head)):
        yield message if message.fault or message.body[:4] != ZSTD_MAGIC else _unpacked(message)


def _unpacked(message: Message) -> Message:
    """The message without its packing: all frames of it are one stream, and the last must end where it ends."""
    parts: list[bytes] = []
    size = 0
    try:
        with zstd.ZstdFile(BytesIO(message.body)) as file:
            while part := file.read1(CHUNK):
                size += len(part)
                if size > MAX_BYTES:
                    return replace(message, fault="line_too_long")
                parts.append(part)
    except EOFError:
        return replace(message, fault="torn_line")
    except zstd.ZstdError:  # damaged, or something else behind a frame
        return replace(message, fault="bad_value")
    return replace(message, body=b"".join(parts))


def _framed(stream: IO[bytes], framing: str | None) -> Iterator[Message]:
    """Messages as they lie there; a bare message field by field."""
    offset = 0
    while True:
        tag = stream.read(1) if framing == "bare" else b""
        length, width, is_torn = _length(stream, framing)
        if length is None:
            if is_torn or tag:
                yield Message(b"", offset, "torn_line")
            return
        body = stream.read(min(length, MAX_BYTES))
        if len(body) < min(length, MAX_BYTES):
            yield Message(body, offset, "torn_line", length)
            return
        if length > MAX_BYTES:
            yield Message(body[:40], offset, "line_too_long", length)
            _skip(stream, length - MAX_BYTES)
        else:
            yield Message(tag + _as_varint(length) + body if tag else body, offset)
        offset += len(tag) + width + length


def _length(stream: IO[bytes], framing: str | None) -> tuple[int | None, int, bool]:
    """Length of the next message, bytes it is written in, and whether it is cut."""
    if framing == "fixed":
        data = stream.read(4)
        return (int.from_bytes(data, "big"), 4, False) if len(data) == 4 else (None, 0, bool(data))
    data = b""
    while len(data) < MAX_VARINT_BYTES and (byte := stream.read(1)):
        data += byte
        if byte[0] < 0x80:
            return _varint(data, 0)[0], len(data), False
    return None, 0, bool(data)


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value])


def _skip(stream: IO[bytes], length: int) -> None:
    while length > 0 and (chunk := stream.read(min(length, 1 << 20))):
        length -= len(chunk)


FORMAT = Format(
    name="otlp_protobuf",
    title="OTLP protobuf",
    says="export requests as the collector and SDKs write them, in every framing",
    sniff=sniff,
    reader=SpanReader("messages"),
)
