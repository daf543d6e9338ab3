"""Figures of the events of many spans of protobuf.

Input: a chunk of spans. Output: columns of EVENT_TYPES.
Nearly all events are the only one of their span and differ in nothing but the instant, which stands in front: those are
read once, the others each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial

import numpy as np
import polars as pl
from google.protobuf.message import DecodeError

from ingest.formats import otlp_wire as wire
from ingest.formats.otlp_chunk import Chunk
from ingest.formats.otlp_library import KNOWN_BYTES, KNOWN_LIMIT, class_of, text_of, texts_of
from ingest.formats.otlp_wire import Flags
from ingest.formats.span_events import EVENT_TYPES, event_figures

_SOME_INSTANT = (1 << 63) - 1
_INSTANT = b"\x09" + _SOME_INSTANT.to_bytes(8, "little")  # of an event


class Events:
    """Reads events, and knows those that came before."""

    def __init__(self) -> None:
        self._numbered = _KnownEvents()

    def columns(self, chunk: Chunk) -> dict[str, pl.Series]:
        """Figures of the events of every span."""
        for row, link in zip(chunk.links.rows.tolist(), chunk.messages(chunk.links), strict=True):
            chunk.read("Link", link, row)
        columns = {name: column[: len(chunk.places)] for name, column in _no_figures().items()}
        events, found = chunk.events, _Figures()
        is_known = self._known_figures(chunk, found)
        told: dict[int, list[bytes]] = {}
        other = np.flatnonzero(~is_known)
        for row, event in zip(events.rows[other].tolist(), chunk.messages(events, other), strict=True):
            told.setdefault(row, []).append(event)
        for row, of_row in told.items():
            try:
                found.add(row, _figures_of(of_row))
            except DecodeError:
                chunk.broken.add(int(chunk.places[row]))
        for name, (rows, figures) in found.items():
            columns[name] = columns[name].scatter(rows, pl.Series(figures, dtype=EVENT_TYPES[name]))
        return columns

    def _known_figures(self, chunk: Chunk, found: _Figures) -> Flags:
        """Of which events the figures are found: those that are the only one of their span and begin with the instant."""
        events = chunk.events
        if not len(events.rows):
            return np.zeros(0, np.bool_)
        instants = chunk.data.word(events.starts + 1)
        is_known: Flags = np.bincount(events.rows)[events.rows] == 1
        is_known &= (chunk.data.word(events.starts) & 0xFF == _INSTANT[0]) & (instants > 0) & (instants < _SOME_INSTANT)
        is_known &= (events.sizes > len(_INSTANT)) & (events.sizes <= KNOWN_BYTES)
        which = np.flatnonzero(is_known)
        rests = [event[len(_INSTANT) :] for event in chunk.messages(events, which)]
        try:
            kinds = np.fromiter(map(self._numbered.__getitem__, rests), np.int64, len(rests))
        except DecodeError:
            return np.zeros(len(is_known), np.bool_)
        for kind in np.unique(kinds).tolist():
            at = which[kinds == kind]
            for name, figure in self._numbered.figures[kind].items():
                is_instant = figure == _SOME_INSTANT
                found.add_all(
                    name, events.rows[at].tolist(), instants[at].tolist() if is_instant else [figure] * len(at)
                )
        return is_known


class _Figures(dict[str, tuple[list[int], list[object]]]):
    """Column -> rows that have a figure, and these figures."""

    def add(self, row: int, figures: Mapping[str, object]) -> None:
        for name, figure in figures.items():
            self.add_all(name, [row], [figure])

    def add_all(self, name: str, rows: list[int], figures: list[object]) -> None:
        of_rows, of_name = self.setdefault(name, ([], []))
        of_rows += rows
        of_name += figures


class _KnownEvents(dict[bytes, int]):
    """Number of the figures of an event that is the only one of its span, by its bytes behind the instant; these figures."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[dict[str, object]] = []

    def __missing__(self, rest: bytes) -> int:
        figures = _figures_of([_INSTANT + rest])
        if figures not in self.figures:
            self.figures.append(figures)
        if len(self) >= KNOWN_LIMIT:
            self.clear()
        self[rest] = self.figures.index(figures)
        return self[rest]


@cache
def _no_figures() -> dict[str, pl.Series]:
    """Columns of as many spans as are read at once."""
    return {name: pl.repeat(None, wire.MOST_AT_ONCE, dtype=of, eager=True) for name, of in EVENT_TYPES.items()}


def _figures_of(events: Iterable[bytes]) -> dict[str, object]:
    read = map(class_of("Event").FromString, events)
    return event_figures(
        (text_of(event.name), event.time_unix_nano, partial(texts_of, event.attributes)) for event in read
    )
