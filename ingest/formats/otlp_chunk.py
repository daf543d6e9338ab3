"""Some spans of protobuf that are read together: where their fields are, and what these hold.

Input: bytes of spans, places of their fields. Output: columns; messages within the spans, read by the library.
Source: OTLP 1.x, trace.proto; protobuf encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from ingest.formats import otlp_wire as wire
from ingest.formats.otlp_library import class_of
from ingest.formats.otlp_wire import Data, Ints


@dataclass(frozen=True)
class Chunk:
    """Some spans, where their fields are, the places of their messages, and which of these turned out to be broken."""

    data: Data
    fields: dict[int, tuple[Ints, Ints]]
    events: wire.Places
    links: wire.Places
    places: Ints
    broken: set[int] = field(default_factory=set)

    def messages(self, places: wire.Places, which: Ints | slice = slice(None)) -> list[bytes]:
        starts, ends = places.starts[which], (places.starts + places.sizes)[which]
        return [self.data.bytes[a:z] for a, z in zip(starts.tolist(), ends.tolist(), strict=True)]

    def read(self, name: str, message: bytes, row: int) -> Any:
        """The message of a span, or None, and that of the span is broken."""
        try:
            return class_of(name).FromString(message)
        except DecodeError:
            self.broken.add(int(self.places[row]))
            return None

    def whole(self, tag: int) -> Ints:
        starts, sizes = self.fields[tag]
        found = np.zeros_like(starts)
        told = np.flatnonzero(sizes)
        found[told] = self.data.varints(starts[told])[0]
        return found

    def fixed(self, tag: int) -> Any:
        starts, sizes = self.fields[tag]
        return (self.data.word(starts) * (sizes > 0)).view(np.uint64)

    def status(self) -> Ints:
        """Status codes; a status without a message is nearly always the code alone."""
        starts, sizes = self.fields[wire.STATUS]
        word = self.data.word(starts)
        codes = (word >> 8) & 0x7F
        codes *= (sizes == 2) & (word & 0x80FF == wire.STATUS_CODE)
        for row in np.flatnonzero((sizes > 0) & ((sizes != 2) | (word & 0x80FF != wire.STATUS_CODE))).tolist():
            read = self.read("Status", self.data.bytes[starts[row] : starts[row] + sizes[row]], row)
            codes[row] = read.code if read is not None else 0
        return codes

    def columns(self) -> dict[str, Any]:
        """Columns of the fields that are numbers."""
        return {
            "kind": self.whole(wire.KIND).astype(np.int32),
            "started": self.fixed(wire.STARTED),
            "ended": self.fixed(wire.ENDED),
            "status": self.status().astype(np.int32),
            "dropped": self.whole(wire.DROPPED).astype(np.uint32),
        }
