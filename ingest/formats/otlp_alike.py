"""Spans of protobuf that are written alike, read together: an emitter writes the same fields and names in the same order.

Input: the bytes of messages Span. Output: where their fields are, names and values of their attributes; and which spans
are left for otlp_wire.walk, which reads all others.
Source: protobuf encoding; OTLP 1.x, trace.proto and common.proto.

A group are spans whose fields were the same so far. Its first span says what should come next; of which spans it does
is one comparison of arrays. Those go on together, the others are a group of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.formats import otlp_wire as wire
from ingest.formats.otlp_wire import Data, Flags, Ints, Keys, Places

LEAST = 48  # spans of a group; fewer cost less one field of all spans at a time
MOST_MISSES = 3  # first spans in a row that hardly any other is like
LONGEST_KEY = 120  # bytes: its length is one byte
LIBRARY = (0x2A, 0x32, 0x3A)  # tags of values that the protobuf library reads: lists, maps, bytes
KINDS = (wire.STRING, wire.BOOL, wire.INT, wire.DOUBLE)


@dataclass(frozen=True)
class Attributes:
    """Attributes of one kind of value: span, place among its attributes; place and size of the text of a string, of the
    value of an INT, of all of the attribute where its kind is one of LIBRARY, place alone else."""

    rows: Ints
    at: Ints
    starts: Ints
    sizes: Ints


@dataclass(frozen=True)
class Alike:
    """What was read, of the spans that `rows` numbers, one entry each; attributes, events and links by their number
    among these.

    `fields`: as of otlp_wire.Walk. `names`: row -> its list of names, as numbers. `rest`: spans that are not told.
    """

    rows: Ints
    rest: Ints
    fields: dict[int, tuple[Ints, Ints]]
    events: Places
    links: Places
    attributes: dict[int, Attributes]
    lists: list[tuple[Ints, tuple[int, ...]]]


@dataclass
class _Group:
    rows: Ints
    at: Ints
    ends: Ints
    names: tuple[int, ...] = ()
    has_status: bool = False
    misses: int = 0

    def part(self, which: Flags) -> _Group:
        return _Group(self.rows[which], self.at[which], self.ends[which], self.names, self.has_status, self.misses)


@dataclass(frozen=True)
class _Next:
    """What the first span of a group has next: tag and the bytes it takes; of an attribute the key as it stands in the
    message, up to the tag of the value, its number and the tag of the value."""

    tag: int
    width: int
    key: bytes = b""
    number: int = -1
    kind: int = 0


def read(data: Data, keys: Keys) -> Alike:
    """All spans that many others are like."""
    return _Reading(data, keys).alike()


@dataclass
class _Reading:
    data: Data
    keys: Keys
    found: dict[int, list[tuple[Ints, int, Ints, Ints]]] = field(default_factory=dict)  # kind of value -> attributes
    others: dict[int, list[tuple[Ints, Ints, Ints]]] = field(default_factory=dict)  # tag -> events, links
    lists: list[tuple[Ints, tuple[int, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.data.ends)
        self.is_rest = np.zeros(n, np.bool_)
        tags = (
            *(wire.TRACE_ID, wire.SPAN_ID, wire.TRACE_STATE, wire.PARENT_ID, wire.NAME, wire.KIND, wire.STARTED),
            *(wire.ENDED, wire.DROPPED, wire.STATUS),
        )
        self.fields = {tag: (np.zeros(n, np.int64), np.zeros(n, np.int64)) for tag in tags}

    def alike(self) -> Alike:
        groups = [_Group(np.arange(len(self.data.ends)), self.data.starts, self.data.ends)]
        while groups:
            groups.extend(self._step(groups.pop()))
        return self._told()

    def _step(self, group: _Group) -> Iterator[_Group]:
        """The group or groups that go on behind the next field."""
        if len(group.rows) < LEAST or group.misses > MOST_MISSES:
            self.is_rest[group.rows] = True
            return
        is_open = group.at < group.ends
        if not is_open.all():
            ended = group.rows[~is_open]
            self.lists.append((ended, group.names))
            if len(ended) < len(group.rows):
                yield group.part(is_open)
            return
        wanted = self._next(int(group.at[0]), int(group.ends[0]))
        if wanted is None or (wanted.tag == wire.STATUS and group.has_status):
            first = np.zeros(len(group.rows), np.bool_)
            first[0] = self.is_rest[group.rows[0]] = True
            group.misses += 1
            yield group.part(~first)
            return
        if wanted.tag != wire.ATTRIBUTE:
            is_so, *told = self._field(group, wanted)
        else:
            is_so, *told = self._short_attribute(group, wanted)
            if not is_so.all():
                is_so, *told = self._attribute(group, wanted)
        if not is_so.all():
            n_like = int(is_so.sum())
            group.misses = group.misses + 1 if n_like < LEAST else 0
            yield group.part(~is_so)
            if n_like < LEAST:
                self.is_rest[group.rows[is_so]] = True
                return
            group = group.part(is_so)
            told = [part[is_so] for part in told]
        yield self._kept(group, wanted, *told)

    def _kept(self, group: _Group, wanted: _Next, after: Ints, starts: Ints, sizes: Ints) -> _Group:
        names, rows = group.names, group.rows
        if wanted.tag == wire.ATTRIBUTE:
            self.found.setdefault(wanted.kind, []).append((rows, len(names), starts, sizes))
            names = (*names, wanted.number)
        elif wanted.tag in self.fields:
            of_tag = self.fields[wanted.tag]
            of_tag[0][rows], of_tag[1][rows] = starts, sizes
        elif wanted.tag in (wire.EVENT, wire.LINK):
            self.others.setdefault(wanted.tag, []).append((rows, starts, sizes))
        return _Group(rows, after, group.ends, names, group.has_status or wanted.tag == wire.STATUS)

    def _next(self, at: int, end: int) -> _Next | None:
        """None where the first span is for otlp_wire."""
        data = self.data.bytes
        tag, width = data[at], 1
        if tag >= 0x80:
            tag, width = tag | data[at + 1] << 8, 2
        if tag < 8 or 0x80 <= tag < 0x180 or tag >= 0x8000 or wire.IS_ODD[tag & 7]:
            return None
        if tag != wire.ATTRIBUTE:
            return _Next(tag, width)
        while data[at + width] >= 0x80 and width < 4:
            width += 1
        start = at + 1 + width
        size = data[start + 1]
        value = start + 2 + size
        if data[start] != wire.KEY or size > LONGEST_KEY or value + 3 > end or data[value] != wire.VALUE:
            return None
        kind = value + 1
        while data[kind] >= 0x80 and kind < value + 4:
            kind += 1
        if data[kind] == 0 or data[kind + 1] not in (*KINDS, *LIBRARY):
            return None
        name = data[start + 2 : value].decode("utf-8", "replace")
        return _Next(tag, 1, data[start : value + 1], self.keys.number(name), data[kind + 1])

    def _field(self, group: _Group, wanted: _Next) -> tuple[Flags, Ints, Ints, Ints]:
        """Which spans have it; where each goes on, place and size of the content."""
        word = self.data.word(group.at)
        is_so = (word & (0xFF if wanted.width == 1 else 0xFFFF)) == wanted.tag
        starts = group.at + wanted.width
        if wanted.tag & 7 in (1, 5):
            sizes = np.full(len(starts), 8 if wanted.tag & 7 == 1 else 4)
        else:
            sizes, width = wire.short(word >> (8 * wanted.width))
            if wanted.tag & 7 == 0:
                if (sizes < 0).any():
                    width = self.data.varints(starts)[1]
                    is_so &= width > 0
                sizes = width
            else:
                is_so &= sizes >= 0
                starts += width
        after = starts + sizes
        is_so &= after <= group.ends
        return is_so, after, starts, sizes

    def _short_attribute(self, group: _Group, wanted: _Next) -> tuple[Flags, Ints, Ints, Ints]:
        """The same of attributes below 128 bytes, whose lengths are a byte each and follow from one another."""
        key = wanted.key
        told = self.data.stretches(group.at, len(key) + 5)
        size, value, kind, inner = told[:, 1], told[:, -3], told[:, -2], told[:, -1]
        is_so = told[:, 2:-3].view(f"S{len(key)}")[:, 0] == key
        is_so &= told[:, 0] == wire.ATTRIBUTE
        is_so &= size < 0x80
        is_so &= kind == wanted.kind
        is_so &= size > len(key) + 2
        is_so &= value == size - np.uint8(len(key) + 1)
        after = group.at + 2
        after += size
        is_so &= after <= group.ends
        starts = group.at + (len(key) + 4)
        if wanted.kind == wire.BOOL:
            is_so &= (value == 2) & (inner < 2)
        elif wanted.kind == wire.DOUBLE:
            is_so &= value == 9
        elif wanted.kind == wire.INT:
            is_so &= value <= 11
        else:
            is_so &= inner == value - np.uint8(2)
            starts += 1
            if wanted.kind != wire.STRING:
                starts = group.at + 2
        return is_so, after, starts, after - starts

    def _attribute(self, group: _Group, wanted: _Next) -> tuple[Flags, Ints, Ints, Ints]:
        data = self.data
        word = data.word(group.at)
        size, width = wire.short(word >> 8)
        key_at = group.at + 1
        key_at += width
        after = key_at + size
        is_so = data.are(key_at, wanted.key)
        is_so &= (word & 0xFF) == wire.ATTRIBUTE
        is_so &= size > 0
        is_so &= after <= group.ends
        starts = key_at + len(wanted.key)
        word = data.word(starts)
        size, width = wire.short(word)
        starts += width
        word >>= width << 3
        is_so &= (word & 0xFF) == wanted.kind
        is_so &= starts + size == after
        starts += 1
        size -= 1
        if wanted.kind == wire.STRING or wanted.kind in LIBRARY:
            size, width = wire.short(word >> 8)
            starts += width
            is_so &= starts + size == after
            if wanted.kind != wire.STRING:
                starts = key_at
                size = after - key_at
        elif wanted.kind == wire.BOOL:
            is_so &= (size == 1) & ((word >> 8) & 0xFF < 2)
        else:
            is_so &= size == 8 if wanted.kind == wire.DOUBLE else (size > 0) & (size <= 10)
        return is_so, after, starts, size

    def _joined(self) -> dict[int, tuple[Ints, Ints, Ints, Ints]]:
        """Attributes by kind; numbers in place of their sizes. A span with one that ends elsewhere is left."""
        joined = {}
        for kind, found in self.found.items():
            rows, starts, sizes = (np.concatenate([part[i] for part in found]) for i in (0, 2, 3))
            if kind == wire.INT:
                told = sizes
                sizes, width = self.data.varints(starts)
                self.is_rest[rows[width != told]] = True
            at = np.repeat([place for _, place, _, _ in found], [len(part) for part, _, _, _ in found])
            joined[kind] = rows, at, starts, sizes
        return joined

    def _told(self) -> Alike:
        joined = self._joined()
        rows = np.flatnonzero(~self.is_rest)
        number = np.cumsum(~self.is_rest) - 1
        is_all = len(rows) == len(self.is_rest)

        def kept(of: Ints, *columns: Ints) -> tuple[Ints, ...]:
            if is_all:
                return of, *columns
            which = ~self.is_rest[of]
            return number[of[which]], *(column[which] for column in columns)

        fields = {tag: (starts[rows], sizes[rows]) for tag, (starts, sizes) in self.fields.items()}
        events, links = (self._places(self.others.get(tag, []), kept) for tag in (wire.EVENT, wire.LINK))
        return Alike(
            rows,
            np.flatnonzero(self.is_rest),
            self.fields if is_all else fields,
            events,
            links,
            {kind: Attributes(*kept(*columns)) for kind, columns in joined.items()},
            [(kept(of)[0], names) for of, names in self.lists],
        )

    @staticmethod
    def _places(found: list[tuple[Ints, Ints, Ints]], kept: Any) -> Places:
        if not found:
            nothing = np.zeros(0, np.int64)
            return Places(nothing, nothing, nothing)
        rows, starts, sizes = kept(*(np.concatenate(part) for part in zip(*found, strict=True)))
        order = np.argsort(rows, kind="stable")
        return Places(rows[order], starts[order], sizes[order])
