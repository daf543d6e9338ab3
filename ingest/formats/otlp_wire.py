"""Spans of protobuf read where they lie, many at once: where each field is, which key and what value an attribute has.

Input: the bytes of messages Span. Output: arrays of places and sizes within these bytes, one entry per span, or per
attribute in the order of spans.
Source: protobuf encoding; OTLP 1.x, trace.proto and common.proto.

All spans take their next field at once, so that a field costs arithmetic on arrays and not a turn of the interpreter.
What is written otherwise than by the usual libraries is told as odd, and is for the protobuf library to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TRACE_ID, SPAN_ID, TRACE_STATE, PARENT_ID, NAME = 0x0A, 0x12, 0x1A, 0x22, 0x2A  # tags of a span's fields
KIND, STARTED, ENDED, ATTRIBUTE, EVENT, DROPPED, LINK, STATUS = 0x30, 0x39, 0x41, 0x4A, 0x5A, 0x60, 0x6A, 0x7A
KEY, VALUE = 0x0A, 0x12  # of an attribute
STRING, BOOL, INT, DOUBLE = 0x0A, 0x10, 0x18, 0x21  # of a plain value
STATUS_CODE = 0x18  # of a status

MOST_AT_ONCE = 1 << 14  # spans, whose numbers have 16 bits
FEW = 8  # spans below which a field at a time is cheaper than arrays
MARGIN = 1 << 10  # zeros behind the data: what is read beyond the end of a damaged span is there
LONG_KEY = 40  # bytes; longer keys are looked up one by one
BLOCK = 1 << 13  # attributes that are looked at at once: their arrays stay in the cache of a core
ENTRIES = 4_096  # keys that are told apart by their bytes
SLOT_BITS = 16

_VARINT, _LENGTH = 0, 2  # wire types
_FIXED = np.array([0, 8, 0, 0, 0, 4, 0, 0])  # bytes of content by wire type
IS_ODD = np.array([False, False, False, True, True, False, True, True])  # groups, and what is no wire type
_MASKS = np.array([[(1 << 8 * min(8, max(0, size - 8 * i))) - 1 for i in range(LONG_KEY // 8)] for size in range(LONG_KEY + 1)], np.uint64).view(np.int64)  # fmt: skip
_ODD_NUMBERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5, 0xD6E8FEB86659FD93],
    np.uint64,
).view(np.int64)  # multipliers: odd, their bits without a pattern
SPREAD = _ODD_NUMBERS[0]
_ZERO = np.zeros(1, np.int64)


class Data:
    """Bytes of some spans, eight of which are read at any place at once.

    Args:
        data: MARGIN zeros at the end.
        starts, ends: of each span.
    """

    def __init__(self, data: bytes, starts: Ints, ends: Ints) -> None:
        self.bytes, self.starts, self.ends = data, starts, ends
        # untyped, for numpy gathers what may lie unaligned half as fast where it has a type
        self._words: npt.NDArray[Any] = np.ndarray((len(self.bytes) - 8,), "V8", self.bytes, strides=(1,))
        self._keys: npt.NDArray[Any] = np.ndarray(
            (len(self.bytes) - LONG_KEY,), f"V{LONG_KEY}", self.bytes, strides=(1,)
        )

    @classmethod
    def of(cls, spans: Sequence[bytes]) -> Data:
        """The spans one after the other."""
        ends = np.cumsum(np.fromiter(map(len, spans), np.int64, len(spans)))
        return cls(b"".join((*spans, bytes(MARGIN))), np.concatenate([_ZERO, ends[:-1]])[: len(ends)], ends)

    def word(self, at: Ints) -> Ints:
        """The eight bytes at each of these places."""
        return self._words[at].view("<i8")

    def stretches(self, at: Ints, size: int) -> npt.NDArray[np.uint8]:
        """So many bytes at each of these places, (n, size)."""
        there: npt.NDArray[Any] = np.ndarray((len(self.bytes) - size,), f"V{size}", self.bytes, strides=(1,))
        return there[at].view(np.uint8).reshape(-1, size)

    def are(self, at: Ints, told: bytes) -> Flags:
        """At which of these places the bytes stand, the last of which is not 0."""
        there: npt.NDArray[np.bytes_] = np.ndarray(
            (len(self.bytes) - len(told),), f"S{len(told)}", self.bytes, strides=(1,)
        )
        return np.asarray(there[at] == told)

    def keys(self, at: Ints, size: Ints) -> Ints:
        """Keys of at most LONG_KEY bytes as rows of words, zeros behind them."""
        words: Ints = self._keys[at].view("<i8").reshape(-1, LONG_KEY // 8)
        words &= _MASKS[size]
        return words

    def varints(self, at: Ints) -> tuple[Ints, Ints]:
        """Values at these places and the bytes they take; 0 bytes for one that does not end within ten."""
        value, width = np.zeros_like(at), np.zeros_like(at)
        more = np.arange(len(at))
        for i in range(10):
            byte = self.word(at[more] + i) & 0xFF
            value[more] |= (byte & 0x7F) << (7 * i)
            is_last = byte < (0x80 if i < 9 else 2)
            width[more[is_last]] = i + 1
            more = more[~is_last]
            if not len(more):
                break
        return value, width

    def doubles(self, at: Ints) -> npt.NDArray[np.float64]:
        return self.word(at).view(np.float64)


@dataclass(frozen=True)
class Walk:
    """Where the fields of some spans are.

    `fields`: tag -> place and size of the content, one entry per span, size 0 where it has none; of a field told twice
    the last. `rows`, `starts`, `sizes`: of every attribute, in order of the spans; likewise `events` and `links`.
    `is_odd`: one entry per span; of such a span nothing else is told.
    """

    fields: dict[int, tuple[Ints, Ints]]
    attributes: Places
    events: Places
    links: Places
    is_odd: Flags


@dataclass(frozen=True)
class Places:
    """Messages within the spans: row of the span, place and size of the content, in order of the spans."""

    rows: Ints
    starts: Ints
    sizes: Ints


def walk(data: Data) -> Walk:
    """The fields of at most MOST_AT_ONCE spans."""
    n = len(data.ends)
    is_odd = np.zeros(n, np.bool_)
    rows = np.flatnonzero(data.starts < data.ends)
    at, ends = data.starts[rows], data.ends[rows]
    steps: list[tuple[Ints, Ints, Ints, Ints]] = []
    while len(rows) > FEW:
        tags, starts, sizes, is_wrong = _next_fields(data, at, ends)
        if is_wrong.any():
            is_odd[rows[is_wrong]] = True
            rows, ends, tags, starts, sizes = (part[~is_wrong] for part in (rows, ends, tags, starts, sizes))
        steps.append((rows, tags, starts, sizes))
        at = starts + sizes
        is_open = at < ends
        if not is_open.all():
            rows, at, ends = rows[is_open], at[is_open], ends[is_open]
    for row, first, end in zip(rows.tolist(), at.tolist(), ends.tolist(), strict=True):
        told = _fields_of_one(data.bytes, first, end)
        if told is None:
            is_odd[row] = True
        else:
            steps.append((np.full(len(told), row), *np.array(told, np.int64).reshape(-1, 3).T))
    rows, tags, starts, sizes = _joined(steps)
    if is_odd.any():
        is_kept = ~is_odd[rows]
        rows, tags, starts, sizes = rows[is_kept], tags[is_kept], starts[is_kept], sizes[is_kept]
    return _sorted(rows, tags, starts, sizes, is_odd)


def _joined(steps: list[tuple[Ints, Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints, Ints]:
    if not steps:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    rows, tags, starts, sizes = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    return rows, tags, starts, sizes


def _next_fields(data: Data, at: Ints, ends: Ints) -> tuple[Ints, Ints, Ints, Flags]:
    """Tag, place and size of the content of the fields that begin at these places, and which cannot be."""
    word = data.word(at)
    tags = word & 0xFF
    is_wrong = tags < 8  # field 0
    wide = tags >> 7
    if wide.any():
        second = (word >> 8) & 0xFF
        tags |= (second << 8) * wide
        is_wrong |= (wide > 0) & ((second == 0) | (second >= 0x80))
        word >>= wide << 3
    kinds = tags & 7
    sizes, width = short(word >> 8)
    starts = at + 1 + wide
    if (sizes < 0).any():
        long = np.flatnonzero((sizes < 0) & ((kinds == _LENGTH) | (kinds == _VARINT)))
        sizes[long], width[long] = data.varints(starts[long])
        is_wrong[long] |= width[long] == 0
    other = np.flatnonzero(kinds != _LENGTH)
    starts += width
    if len(other):
        kind = kinds[other]
        starts[other] -= width[other]
        sizes[other] = np.where(kind == _VARINT, width[other], _FIXED[kind])
        is_wrong[other] |= IS_ODD[kind]
    is_wrong |= (sizes < 0) | (sizes > ends - starts)
    return tags, starts, sizes, is_wrong


def _fields_of_one(data: bytes, at: int, end: int) -> list[tuple[int, int, int]] | None:
    """The same of one span, field by field; None where one cannot be."""
    found: list[tuple[int, int, int]] = []
    while at < end:
        tag, at = data[at], at + 1
        if tag >= 0x80:
            tag, at = tag | data[at] << 8, at + 1
        kind = tag & 7
        if tag < 8 or 0x80 <= tag < 0x180 or tag >= 0x8000 or IS_ODD[kind]:
            return None
        size, start = int(_FIXED[kind]), at
        if kind in (_VARINT, _LENGTH):
            value = shift = 0
            while True:
                byte, at = data[at], at + 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
                if shift == 70:
                    return None
            if shift == 70 and byte > 1:
                return None
            start, size = (at, value) if kind == _LENGTH else (start, at - start)
        at = start + size
        if at > end:
            return None
        found.append((tag, start, size))
    return found


def _sorted(rows: Ints, tags: Ints, starts: Ints, sizes: Ints, is_odd: Flags) -> Walk:
    n = len(is_odd)

    def places(found: Ints) -> Places:
        # numbers of 16 bits are sorted by their digits
        of = rows[found]
        found = found[np.argsort(of.astype(np.uint16), kind="stable")]
        return Places(np.repeat(np.arange(n), np.bincount(of, minlength=n)), starts[found], sizes[found])

    fields: dict[int, tuple[Ints, Ints]] = {}
    is_attribute = tags == ATTRIBUTE
    single = np.flatnonzero(~is_attribute)
    told = tags[single]
    for tag in (TRACE_ID, SPAN_ID, TRACE_STATE, PARENT_ID, NAME, KIND, STARTED, ENDED, DROPPED, STATUS):
        found = single[told == tag]
        start, size = np.zeros(n, np.int64), np.zeros(n, np.int64)
        start[rows[found]], size[rows[found]] = starts[found], sizes[found]
        fields[tag] = start, size
        if tag == STATUS:  # told twice the two are one
            is_odd |= np.bincount(rows[found], minlength=n) > 1
    events, links = (places(single[told == tag]) for tag in (EVENT, LINK))
    return Walk(fields, places(np.flatnonzero(is_attribute)), events, links, is_odd)


@dataclass(frozen=True)
class Values:
    """Attributes with a plain value: place and size of the key; tag of the value; place and size of a string's text,
    place of any other value, and in place of the size what a whole number is. One that is for the library to read has kind 0 and a key of size 0."""

    key_starts: Ints
    key_sizes: Ints
    kinds: Ints
    starts: Ints
    sizes: Ints


def values(data: Data, places: Places) -> Values:
    """What attributes consist of."""
    parts = [_values(data, places.starts[part], places.sizes[part]) for part in _blocks(len(places.starts))]
    return Values(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _blocks(n: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, max(n, 1), BLOCK)]


def _values(data: Data, starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    head = data.word(starts)
    ends = starts + sizes
    key_sizes = (head >> 8) & 0xFF
    after = starts + 2 + key_sizes
    is_usual = ((head & 0xFF) == KEY) & (key_sizes < 0x80) & (after < ends)
    after *= is_usual
    middle = data.word(after)
    size, width = short(middle >> 8)
    at = after + 1 + width
    is_usual &= ((middle & 0xFF) == VALUE) & (size > 0) & (at + size == ends)
    at *= is_usual
    value = data.word(at)
    kinds = (value & 0xFF) * is_usual
    size -= 1
    at += 1
    text_size, text_width = short(value >> 8)
    is_text = (kinds == STRING) & (text_width + text_size == size)
    is_flag = (kinds == BOOL) & (size == 1) & ((value >> 8) & 0xFF < 2)
    is_plain = is_text | is_flag | ((kinds == INT) & (size <= 10)) | ((kinds == DOUBLE) & (size == 8))
    kinds *= is_plain
    key_sizes *= is_plain
    whole = np.flatnonzero(kinds == INT)
    numbers, width = data.varints(at[whole])
    kinds[whole] *= width == size[whole]
    at += text_width * is_text
    told = text_size * is_text
    told[whole] = numbers
    return starts + 2, key_sizes, kinds, at, told


def short(word: Ints) -> tuple[Ints, Ints]:
    """Value and bytes of a varint of at most three bytes at the low end of a word; a longer one gives a value below 0."""
    value, width = word & 0x7F, (word >> 7) & 1
    if width.any():
        value += (((word >> 8) & 0x7F) << 7) * width
        still = (word >> 15) & width
        if still.any():
            value += (((word >> 16) & 0x7F) << 14) * still
            value -= (still & (word >> 23)) << 40
            width += still
    width += 1
    return value, width


class Keys:
    """Numbers of attribute names, given as they come; `names` by number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._words = np.zeros((ENTRIES, LONG_KEY // 8), np.int64)
        self._sizes = np.full(ENTRIES, -1)
        self._number_of = np.zeros(ENTRIES, np.int64)
        self._n = 1  # entry 0 is no key
        self._slots = np.zeros((2, 1 << SLOT_BITS), np.int64)

    def number(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def numbers(self, data: Data, starts: Ints, sizes: Ints) -> Ints:
        """Numbers of the names at these places."""
        return np.concatenate([self._of_block(data, starts[part], sizes[part]) for part in _blocks(len(starts))])

    def _of_block(self, data: Data, starts: Ints, sizes: Ints) -> Ints:
        found = np.zeros_like(starts)
        short = np.flatnonzero(sizes <= LONG_KEY)
        at, size = (starts, sizes) if len(short) == len(starts) else (starts[short], sizes[short])
        words = data.keys(at, size)
        code = _code(words, size)
        entries, is_known = self._looked_up(words, size, code)
        if not is_known.all():
            unknown = np.flatnonzero(~is_known)
            for i in unknown[np.unique(code[unknown], return_index=True)[1]].tolist():
                self._learn(data.bytes[at[i] : at[i] + size[i]], words[i], int(code[i]))
            entries, is_known = self._looked_up(words, size, code)
        found[short] = self._number_of[entries]
        for i in (*short[~is_known].tolist(), *np.flatnonzero(sizes > LONG_KEY).tolist()):
            found[i] = self.number(data.bytes[starts[i] : starts[i] + sizes[i]].decode("utf-8", "replace"))
        return found

    def _looked_up(self, words: Ints, sizes: Ints, code: Ints) -> tuple[Ints, Flags]:
        entries = self._slots[0][code & ((1 << SLOT_BITS) - 1)]
        is_known = self._is(entries, words, sizes)
        if not is_known.all():
            rest = np.flatnonzero(~is_known)
            entries[rest] = self._slots[1][(code[rest] >> SLOT_BITS) & ((1 << SLOT_BITS) - 1)]
            is_known[rest] = self._is(entries[rest], words[rest], sizes[rest])
        return entries, is_known

    def _is(self, entries: Ints, words: Ints, sizes: Ints) -> Flags:
        differs = self._words[entries]
        differs ^= words
        any_bit = self._sizes[entries] ^ sizes
        for i in range(LONG_KEY // 8):
            any_bit |= differs[:, i]
        is_same: Flags = any_bit == 0
        return is_same

    def _learn(self, name: bytes, words: Ints, code: int) -> None:
        number = self.number(name.decode("utf-8", "replace"))
        for i in range(2):
            slot = (code >> (SLOT_BITS * i)) & ((1 << SLOT_BITS) - 1)
            if self._n < ENTRIES and not self._slots[i][slot]:
                self._words[self._n], self._sizes[self._n], self._number_of[self._n] = words, len(name), number
                self._slots[i][slot] = self._n
                self._n += 1
                return


def _code(words: Ints, sizes: Ints) -> Ints:
    """Some bits of each key, of which the lower 32 are spread well."""
    code: Ints = sizes * _ODD_NUMBERS[0]
    for i in range(LONG_KEY // 8):
        code += words[:, i]
        code *= _ODD_NUMBERS[i]
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code
