"""Events of one span -> the figures that the store keeps of them.

Input: name, instant (ns) and attributes of each event. Output: columns of EVENT_TYPES by name, absent ones left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from ingest.formats.attributes import FIRST_TOKEN_EVENTS

Attributes = Callable[[], Mapping[str, str]]  # read only where an event says something by them

EVENT_TYPES: dict[str, Any] = {
    "event_first_ns": pl.Int64(),
    "event_gap_ns": pl.Int64(),
    "event_error": pl.String(),
    "event_finish": pl.String(),
    "slice_from_ns": pl.Int64(),
    "slice_to_ns": pl.Int64(),
}
_EARLIEST: dict[str, str] = {  # event -> figure that is the earliest instant of such events
    **dict.fromkeys(FIRST_TOKEN_EVENTS, "event_first_ns"),
    **dict.fromkeys(("QUEUE_START", "HTTP_SEND_START", "GRPC_SEND_START", "kv_cache_transfer_start"), "slice_from_ns"),
    **dict.fromkeys(("HTTP_SEND_END", "GRPC_SEND_END", "kv_cache_transfer_end"), "slice_to_ns"),
}
_SAID = {"exception": ("event_error", "exception.type"), "gen_ai.choice": ("event_finish", "finish_reason")}
_CHUNKS = frozenset(name for name in FIRST_TOKEN_EVENTS if name.endswith(".chunk"))
_MOST_NS = 1 << 63  # what the store holds; an instant from there on is no instant, and 0 is one that was not told


def event_figures(events: Iterable[tuple[str, int, Attributes]]) -> dict[str, object]:
    """Figures of the events of one span; empty where none of them says anything."""
    found: dict[str, Any] = {}
    chunks: list[int] = []
    for name, at, attributes in events:
        figure = _EARLIEST.get(name)
        if figure is not None and 0 < at < _MOST_NS:
            found[figure] = min(at, found.get(figure, at))
            if name in _CHUNKS:
                chunks.append(at)
        elif name in _SAID:
            figure, attribute = _SAID[name]
            if figure not in found:
                found[figure] = attributes().get(attribute)
    if len(chunks) > 1:
        chunks.sort()
        found["event_gap_ns"] = max(b - a for a, b in pairwise(chunks))
    return found
