"""Refused rows of one source, in order: few in memory, the rest in a file without a name.

Input: rejects as they are found. Output: a sequence of them and their number by reason. Of ten million broken lines each
has a place, a reason and the head of the line; in memory they would be gigabytes.
"""

from __future__ import annotations

import heapq
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import eq
from typing import IO, overload

import msgspec

from ingest.errors import Reject

IN_MEMORY = 10_000
READ_BYTES = 1 << 20  # at once

_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Reject).decode


class Rejects(Sequence[Reject]):
    """Rejects in the order in which they were added."""

    def __init__(self, rejects: Iterable[Reject] = ()) -> None:
        self._held: list[Reject] = []
        self._file: IO[bytes] | None = None
        self.reasons: Counter[str] = Counter()
        self.extend(rejects)

    def extend(self, rejects: Iterable[Reject]) -> None:
        """Adds some at the end."""
        for reject in rejects:
            self.reasons[reject.reason] += 1
            if len(self._held) < IN_MEMORY:
                self._held.append(reject)
                continue
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="tailwise-")  # noqa: SIM115  # closed with the last reference
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            self._file.write(_ENCODE(reject) + b"\n")

    def __len__(self) -> int:
        return self.reasons.total()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rejects | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __iter__(self) -> Iterator[Reject]:
        yield from self._held
        place = 0
        while self._file is not None:
            self._file.seek(place)
            lines = self._file.readlines(READ_BYTES)
            place = self._file.tell()
            if not lines:
                return
            yield from map(_DECODE, lines)

    @overload
    def __getitem__(self, place: int) -> Reject: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Reject]: ...
    def __getitem__(self, place: int | slice) -> Reject | Sequence[Reject]:
        if isinstance(place, slice):
            return tuple(islice(self, *place.indices(len(self))))
        number = range(len(self))[place]
        return next(islice(self, number, None))


def in_order(*parts: Iterable[Reject]) -> Rejects:
    """The rejects of several lists, each in order of place, as one."""
    return Rejects(heapq.merge(*parts, key=lambda reject: (reject.line or 0, reject.offset or 0)))
