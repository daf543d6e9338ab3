"""Spans of protobuf read one by one by compiled code.

Input: the bytes of messages. Output: the same as of otlp_alike, of every span that is written as usual; the others are
left for otlp_wire.walk, messages that are not for the protobuf library.
Source: protobuf encoding; OTLP 1.x, trace.proto.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ingest.formats import otlp_wire as wire
from ingest.formats import wire_compiled as compiled
from ingest.formats.otlp_alike import LIBRARY, Alike, Attributes
from ingest.formats.otlp_kernel import Cut, Kernel
from ingest.formats.otlp_wire import Data, Ints, Keys, Places

LEAST_ATTRIBUTE = 8  # bytes of an attribute with a value
LEAST_SPAN = 32  # of a span, nearly always
LEAST_EVENT = 12  # of an event or a link, nearly always
MOST_PASSES = 200  # over the names of some spans, each of which learns one
_KINDS = (wire.STRING, wire.BOOL, wire.INT, wire.DOUBLE, *LIBRARY)


def kernel() -> Kernel:
    """For the messages of one source."""
    return Kernel(_Reader().read, views_of, cut)


def views_of(data: bytes, starts: Ints, sizes: Ints) -> Ints:
    """Views of the bytes at each of these places, (n, 2) words."""
    views = np.empty((len(starts), 2), np.int64)
    compiled.views(np.frombuffer(data, np.uint8).ctypes.data, starts, sizes, views)
    return views


def cut(body: bytes) -> list[Cut] | None:
    """The spans of a message, group by group; None where it is for the library to read."""
    spans = np.empty((len(body) // LEAST_SPAN + 1, 2), np.int64)
    groups = np.empty((len(body) // LEAST_SPAN + 64, 5), np.int64)
    n = compiled.cut(np.frombuffer(body, np.uint8).ctypes.data if body else 0, len(body), groups, spans)
    if n < 0:
        return None
    told, first = [], 0
    for resource, after, scope, end, last in groups[:n].tolist():
        told.append(Cut(body[resource:after], body[scope:end], *np.ascontiguousarray(spans[first:last].T)))
        first = last
    return told


class _Reader(threading.local):
    """Reads spans with the keys that it came to know, in each thread by itself."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._forget(self._keys)
        self._room = 0

    def read(self, data: Data, keys: Keys) -> Alike:
        """All spans that are written as usual."""
        if keys is not self._keys:
            self._forget(keys)
        n = len(data.ends)
        self._make_room(len(data.bytes))
        raw = np.frombuffer(data.bytes, np.uint8)
        fields = np.zeros((2, len(compiled.SINGLE), n), np.int64)
        rows = np.empty((2, n), np.int64)
        n, n_told, *n_others = compiled.read(
            raw.ctypes.data,
            data.starts,
            data.ends,
            self._table.ctypes.data,
            self._entries.ctypes.data,
            rows,
            fields,
            self._told,
            self._others,
        )
        told = self._told[:, :n_told]
        self._learn(raw, told)
        of, counts = rows[:, :n]
        is_rest = np.ones(len(data.ends), np.bool_)
        is_rest[of] = False
        events, links = (Places(*self._others[i, :, : n_others[i]].copy()) for i in range(2))
        span, at, names, kinds, starts, sizes, _ = told
        attributes = {}
        for kind in _KINDS:
            found = np.flatnonzero(kinds == kind)
            if len(found):
                attributes[kind] = Attributes(span[found], at[found], starts[found], sizes[found])
        single = {tag: (fields[0, column, :n], fields[1, column, :n]) for column, tag in enumerate(compiled.SINGLE)}
        return Alike(of, np.flatnonzero(is_rest), single, events, links, attributes, _named(names, counts))

    def _forget(self, keys: Keys) -> None:
        self._keys = keys
        self._table = np.full(compiled.SLOTS, -1).view(np.uint8)
        self._entries = np.zeros((compiled.SLOTS // 2, compiled.ENTRY_BYTES), np.uint8).reshape(-1)
        self._n_entries = 0

    def _make_room(self, size: int) -> None:
        """Arrays that hold whatever stands in so many bytes; of memory they take what is written."""
        if size > self._room:
            self._room = size
            self._told = np.empty((7, size // LEAST_ATTRIBUTE + 1), np.int64)
            self._others = np.empty((2, 3, size // LEAST_EVENT + 1), np.int64)

    def _learn(self, raw: Any, told: Ints) -> None:
        """Gives the names that were not known their numbers."""
        for _ in range(MOST_PASSES):
            unknown = np.flatnonzero(told[2] < 0)
            if not len(unknown):
                return
            self._learn_one(raw, told, int(unknown[0]))
            compiled.number_again(raw.ctypes.data, self._table.ctypes.data, self._entries.ctypes.data, unknown, told)
        for i in np.flatnonzero(told[2] < 0).tolist():
            self._learn_one(raw, told, i)

    def _learn_one(self, raw: Any, told: Ints, i: int) -> None:
        at = int(told[6, i])
        size = int(raw[at - 1])
        key = raw[at : at + size]
        told[2, i] = number = self._keys.number(key.tobytes().decode("utf-8", "replace"))
        slot, table = int(compiled.slot(raw.ctypes.data, at, size)), self._table.view(np.int64)
        free = [
            place & (compiled.SLOTS - 1)
            for place in range(slot, slot + compiled.PROBES)
            if table[place & (compiled.SLOTS - 1)] < 0
        ]
        if free and self._n_entries < compiled.SLOTS // 2:
            start = self._n_entries * compiled.ENTRY_BYTES
            self._entries[start : start + 16].view(np.int64)[:] = size, number
            self._entries[start + 16 : start + 16 + size] = key
            table[free[0]] = self._n_entries
            self._n_entries += 1


def _named(names: Ints, counts: Ints) -> list[tuple[Ints, tuple[int, ...]]]:
    """Every list of names with its spans."""
    n = len(counts)
    if not n:
        return []
    lists, firsts = np.empty(n, np.int64), np.empty(n, np.int64)
    n_lists = compiled.lists(names, counts, np.full(1 << (2 * n).bit_length(), -1), firsts, lists)
    order = np.argsort(lists, kind="stable")
    spans = np.split(order, np.cumsum(np.bincount(lists, minlength=n_lists))[:-1])
    return [
        (of, tuple(names[first : first + counts[of[0]]].tolist()))
        for of, first in zip(spans, firsts[:n_lists].tolist(), strict=True)
    ]
