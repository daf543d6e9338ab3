"""Compiled code that reads protobuf where it lies in memory: the extra `protobuf`, which is numba.

Input: addresses of bytes. Output: arrays that the caller gives, filled.
Source: protobuf encoding; OTLP 1.x, trace.proto and common.proto.

Arguments named `data` are addresses, and `at`, `start`, `end` places behind them: of an array, compiled code would count at
every call who holds it. Eight bytes are read at any place, so data has otlp_wire.MARGIN zeros at its end, but for that of
`cut`. What is compiled is kept beside this file where there is room for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from ingest.formats import otlp_wire as wire
from ingest.formats.byte_slices import INLINE

LONGEST_KEY = 120  # bytes
SLOT_BITS = 14
SLOTS = 1 << SLOT_BITS  # of the table of known keys, of which half are filled at most
PROBES = 16  # slots in a row that are looked at
ENTRY_BYTES = 16 + LONGEST_KEY + 8  # size and number of a key, and the key
LISTS, MAPS, BYTES = 0x2A, 0x32, 0x3A  # tags of values that the protobuf library reads
FIRST, SECOND, THIRD = 0x0A, 0x12, 0x1A  # tags of the fields of a message, of a resource's spans, of a scope's
NOWHERE = 1 << 40  # a place beyond all data
SINGLE = (  # tags of the fields that are told by place and size, in the order of their columns
    *(wire.TRACE_ID, wire.SPAN_ID, wire.TRACE_STATE, wire.PARENT_ID, wire.NAME, wire.KIND, wire.STARTED, wire.ENDED),
    *(wire.DROPPED, wire.STATUS),
)
_COLUMN_OF = np.full(128, -1, np.int8)  # tag -> column
_COLUMN_OF[list(SINGLE)] = range(len(SINGLE))


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        made: Callable[..., Any] = njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # no folder to keep it in
        made = njit(nogil=True, error_model="numpy")(function)
    return made


def _load_of(bits: int) -> Any:
    """Reads so many bits at an address as a number."""

    def typed(context: Any, at: Any) -> Any:
        def built(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            told = builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)
            return told if bits == 64 else builder.zext(told, ir.IntType(64))

        return types.int64(types.int64), built

    return intrinsic(typed)


_load = _load_of(64)
_byte = _load_of(8)


@_compiled
def _word(data: int, at: int) -> Any:
    return _load(data + at)


@_compiled
def _after_varint(data: Any, at: int) -> Any:
    """Where a varint ends; far beyond all data where it does not end within ten bytes."""
    word = _word(data, at)
    for i in range(8):
        if word & 0x80 == 0:
            return at + i + 1
        word >>= 8
    word = _word(data, at + 8)
    if word & 0x80 == 0:
        return at + 9
    return at + 10 if (word >> 8) & 0xFF < 2 else NOWHERE


@_compiled
def _varint(data: Any, at: int, after: int) -> Any:
    """Value of a varint between two places."""
    value = np.int64(0)
    for i in range(after - at):
        value |= (_word(data, at + i) & 0x7F) << (7 * i)
    return value


@_compiled
def _size(data: Any, at: int) -> Any:
    """Size of a content whose length stands at a place, and where it begins."""
    word = _word(data, at)
    if word & 0x80 == 0:
        return word & 0x7F, at + 1
    if word & 0x8000 == 0:
        return (word & 0x7F) | (word & 0x7F00) >> 1, at + 2
    after = _after_varint(data, at)
    if after - at > 5:
        return NOWHERE, at
    return _varint(data, at, after), after


@_compiled
def _code(word: int, last: int, size: int) -> Any:
    """A number of a slot from the first and the last bytes of a key."""
    code = (np.uint64(word) ^ (np.uint64(last) * np.uint64(0x9E3779B97F4A7C15))) + np.uint64(size)
    code *= np.uint64(0xC2B2AE3D27D4EB4F)
    code ^= code >> np.uint64(29)
    code *= np.uint64(0x9E3779B97F4A7C15)
    return np.int64(code >> np.uint64(64 - SLOT_BITS))


@_compiled
def slot(data: Any, at: int, size: int) -> Any:
    if size >= 8:
        return _code(_word(data, at), _word(data, at + size - 8), size)
    return _code(_word(data, at) & ((1 << (8 * size)) - 1), 0, size)


@_compiled
def number(data: Any, at: int, size: int, slot: int, table: Any, keys: Any) -> Any:
    """Number of a known key; -1 of another one."""
    for _ in range(PROBES):
        entry = _word(table, slot << 3)
        if entry < 0:
            return -1
        of_key = entry * ENTRY_BYTES
        if _word(keys, of_key) == size:
            differs, place = np.int64(0), of_key + 16
            for i in range(0, size - 7, 8):
                differs |= _word(data, at + i) ^ _word(keys, place + i)
            rest = size & 7
            if rest:
                i = size - rest
                differs |= (_word(data, at + i) ^ _word(keys, place + i)) & ((1 << (8 * rest)) - 1)
            if differs == 0:
                return _word(keys, of_key + 8)
        slot = (slot + 1) & (SLOTS - 1)
    return -1


@_compiled
def _value(data: int, at: int, end: int) -> Any:
    """Kind, place and size of a plain value, a whole number in place of its size; kind 0 of one not written as usual."""
    kind, at = _word(data, at) & 0xFF, at + 1
    size = end - at
    is_usual = False
    if kind == wire.STRING:
        size, at = _size(data, at)
        is_usual = at + size == end
    elif kind == wire.INT:
        is_usual = _after_varint(data, at) == end
        size = _varint(data, at, end) if is_usual else 0
    elif kind == wire.DOUBLE:
        is_usual = size == 8
    elif kind == wire.BOOL:
        is_usual = size == 1 and _word(data, at) & 0xFF < 2
    return kind if is_usual else 0, at, size


@_compiled
def _attribute(data: int, at: int, end: int) -> Any:
    """Place and size of the key; kind, place and size of the value, of all of the attribute where the library reads it.

    Kind 0 of one that is not written as usual."""
    word = _word(data, at)
    key_at, key_size = at + 2, (word >> 8) & 0xFF
    value_at = key_at + key_size
    if word & 0xFF != wire.KEY or key_size > LONGEST_KEY or value_at + 3 > end:
        return 0, 0, 0, 0, 0
    size, place = _size(data, value_at + 1)
    if _word(data, value_at) & 0xFF != wire.VALUE or size < 2 or place + size != end:
        return 0, 0, 0, 0, 0
    kind = _word(data, place) & 0xFF
    if kind in (LISTS, MAPS, BYTES):
        size, place = _size(data, place + 1)
        return key_at, key_size, kind if place + size == end else 0, at, end - at
    kind, place, size = _value(data, place, end)
    return key_at, key_size, kind, place, size


@_compiled
def _field(data: int, at: int, end: int) -> Any:
    """Tag of a field, place and size of its content; tag 0 of one that is not written as usual."""
    tag = _word(data, at) & 0xFFFF
    if tag & 0x80:
        if tag < 0x100 or tag >= 0x8000:
            return 0, at, 0
        at += 2
    else:
        tag &= 0xFF
        at += 1
    wire_type = tag & 7
    if wire_type == 2:
        size, at = _size(data, at)
    elif wire_type == 0:
        size = _after_varint(data, at) - at
    elif wire_type == 1:
        size = 8
    elif wire_type == 5:
        size = 4
    else:
        return 0, at, 0
    return tag if tag >= 8 and size <= end - at else 0, at, size


@_compiled
def read(
    data: int, starts: Any, ends: Any, table: int, keys: int, rows: Any, fields: Any, told: Any, others: Any
) -> Any:
    """Number of spans told, of their attributes, events and links.

    Args:
        rows: (2, n) gets the span and the number of its attributes, of each span told.
        fields: (2, columns, n), zeros, gets place and size of its fields.
        told: (7, m) gets span told, place among its attributes, number of the name, kind, place, size; place of the key.
        others: (2, 3, k) gets span told, place and size of events, and of links.
    """
    n = n_told = n_events = n_links = 0
    most_others = others.shape[2]
    for row in range(len(starts)):
        at, end = starts[row], ends[row]
        first, n_own_events, n_own_links, has_status = n_told, n_events, n_links, False
        while at < end:
            tag, start, size = _field(data, at, end)
            at = start + size
            if tag == wire.ATTRIBUTE:
                key_at, key_size, kind, place, size = _attribute(data, start, at)
                told[0, n_told] = n
                told[1, n_told] = n_told - first
                told[2, n_told] = number(data, key_at, key_size, slot(data, key_at, key_size), table, keys)
                told[3, n_told] = kind
                told[4, n_told] = place
                told[5, n_told] = size
                told[6, n_told] = key_at
                n_told += 1
                tag = kind
            elif tag == wire.EVENT and n_events < most_others:
                others[0, 0, n_events] = n
                others[0, 1, n_events] = start
                others[0, 2, n_events] = size
                n_events += 1
            elif tag == wire.LINK and n_links < most_others:
                others[1, 0, n_links] = n
                others[1, 1, n_links] = start
                others[1, 2, n_links] = size
                n_links += 1
            elif tag in (wire.EVENT, wire.LINK):
                tag = 0  # more of them than there is room for
            elif 0 < tag < 0x80 and _COLUMN_OF[tag] >= 0:
                fields[0, _COLUMN_OF[tag], n] = start
                fields[1, _COLUMN_OF[tag], n] = size
                if tag == wire.STATUS:
                    tag = 0 if has_status else tag  # told twice the two are one
                    has_status = True
            if tag == 0:
                break
        else:
            rows[0, n] = row
            rows[1, n] = n_told - first
            n += 1
            continue
        n_told, n_events, n_links = first, n_own_events, n_own_links
        fields[1, :, n] = 0
    return n, n_told, n_events, n_links


@_compiled
def number_again(data: int, table: int, keys: int, which: Any, told: Any) -> None:
    """Looks those names up once more."""
    for i in which:
        key_at = told[6, i]
        key_size = _word(data, key_at - 1) & 0xFF
        told[2, i] = number(data, key_at, key_size, slot(data, key_at, key_size), table, keys)


@_compiled
def views(data: int, starts: Any, sizes: Any, views: Any) -> None:
    """Fills views (n, 2) of the bytes at each of these places."""
    for i in range(len(starts)):
        start, size = starts[i], sizes[i]
        word = _word(data, start)
        if size > INLINE:
            views[i, 0], views[i, 1] = word << 32 | size, start << 32
        elif size > 4:
            views[i, 0] = word << 32 | size
            views[i, 1] = _word(data, start + 4) & ((1 << (8 * (size - 4))) - 1)
        else:
            views[i, 0] = (word & ((1 << (8 * size)) - 1)) << 32 | size
            views[i, 1] = 0


@_compiled
def _content(data: int, at: int, end: int) -> Any:
    """Where the content of a field begins and ends whose tag was read; both NOWHERE if not within the message."""
    size = np.int64(0)
    for i in range(5):
        if at >= end:
            break
        byte = _byte(data + at)
        at += 1
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return (at, at + size) if size <= end - at else (NOWHERE, NOWHERE)
    return NOWHERE, NOWHERE


@_compiled
def _cut_scope(data: int, at: int, end: int, group: Any, spans: Any, n_spans: int) -> Any:
    """Number of spans with those of one scope; -1 where it is not written as usual."""
    has_scope = False
    group[2:4] = 0
    while at < end:
        tag = _byte(data + at)
        at, stop = _content(data, at + 1, end)
        if at == NOWHERE or n_spans == len(spans) or (tag == FIRST and has_scope):
            return -1
        if tag == FIRST:
            has_scope = True
            group[2], group[3] = at, stop
        elif tag == SECOND:
            spans[n_spans, 0], spans[n_spans, 1] = at, stop
            n_spans += 1
        elif tag != THIRD:
            return -1
        at = stop
    group[4] = n_spans
    return n_spans


@_compiled
def _cut_resource(data: int, at: int, end: int, groups: Any, n_groups: int, spans: Any, n_spans: int) -> Any:
    """Numbers of groups and spans with those of one resource; -1 where it is not written as usual."""
    first, has_resource = n_groups, False
    start = after = 0
    while at < end:
        tag = _byte(data + at)
        at, stop = _content(data, at + 1, end)
        if at == NOWHERE or n_groups == len(groups) or (tag == FIRST and has_resource):
            return -1, -1
        if tag == FIRST:
            start, after, has_resource = at, stop, True
        elif tag == SECOND:
            n_spans = _cut_scope(data, at, stop, groups[n_groups], spans, n_spans)
            n_groups += 1
            if n_spans < 0:
                return -1, -1
        elif tag != THIRD:
            return -1, -1
        at = stop
    if n_groups == len(groups):
        return -1, -1
    if first == n_groups:  # no span, but a resource to be read
        groups[n_groups, 2:4] = 0
        groups[n_groups, 4] = n_spans
        n_groups += 1
    groups[first:n_groups, 0], groups[first:n_groups, 1] = start, after
    return n_groups, n_spans


@_compiled
def cut(data: int, size: int, groups: Any, spans: Any) -> Any:
    """Number of groups of spans of a message, -1 of one that is not written as usual.

    Args:
        groups: (k, 5) gets start and end of the resource and of the scope, and where the spans end among the spans.
        spans: (n, 2) gets start and end of each span.
    """
    n_groups = n_spans = at = 0
    while at < size and n_groups >= 0:
        tag = _byte(data + at)
        at, end = _content(data, at + 1, size)
        if tag != FIRST or at == NOWHERE:
            return -1
        n_groups, n_spans = _cut_resource(data, at, end, groups, n_groups, spans, n_spans)
        at = end
    return n_groups


@_compiled
def lists(names: Any, counts: Any, slots: Any, firsts: Any, lists: Any) -> Any:
    """Number of different lists of names.

    Args:
        slots: all -1, a power of two of them, more than there are spans.
        firsts: gets the first name of each list among the names.
        lists: gets the number of the list of each span.
    """
    n_lists = at = 0
    ends = np.empty(len(counts), np.int64)
    for row in range(len(counts)):
        count = counts[row]
        code = np.uint64(count)
        for i in range(at, at + count):
            code = (code + np.uint64(names[i])) * np.uint64(0x9E3779B97F4A7C15)
            code ^= code >> np.uint64(29)
        slot = np.int64(code >> np.uint64(8)) & (len(slots) - 1)
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = number = n_lists
                firsts[number], ends[number] = at, at + count
                n_lists += 1
                break
            is_same = ends[number] - firsts[number] == count
            for i in range(count if is_same else 0):
                is_same &= names[firsts[number] + i] == names[at + i]
            if is_same:
                break
            slot = (slot + 1) & (len(slots) - 1)
        lists[row] = number
        at += count
    return n_lists
