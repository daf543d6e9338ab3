"""DOOR of ingest for what leaves: whole past days become roll-ups, one piece of a day at a time.

Input: a store, an instant, and who makes roll-ups of raw rows. Output: raw rows gone, roll-ups in their place. A piece
is one transaction: a process that is killed leaves it as it was, or done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from ingest.assemble import assemble
from ingest.errors import Cancelled
from ingest.store.database import Store
from ingest.store.retention import Dropped, Piece, checkpoint, cutoff, drop_leftovers, due, replace_rows

__all__ = ["Piece", "Retired", "cutoff", "is_due", "retire"]

Roll = Callable[[Piece], Mapping[str, pl.DataFrame]]


@dataclass(frozen=True)
class Retired:
    """What one run took out: pieces of days, their raw rows, and spans that belonged to no request."""

    pieces: tuple[Piece, ...] = ()
    requests: int = 0
    calls: int = 0
    spans: int = 0


def is_due(store: Store, before_ns: int, timezone: str) -> bool:
    """Whether a whole day before an instant has requests that still stand."""
    return due(store, before_ns, timezone) is not None


def retire(
    store: Store,
    before_ns: int,
    timezone: str,
    roll: Roll,
    *,
    now_ns: int,
    cancelled: Callable[[], bool] = lambda: False,
    told: Callable[[Piece, Dropped], None] | None = None,
) -> Retired:
    """Roll up and drop every whole day before an instant; requests without a clock belong to no day and stay.

    Args:
        timezone: whose midnights cut days, beside those of UTC.
        roll: the roll-ups of the requests of a piece, by table.
        now_ns: what the roll-ups bear as their time.
        cancelled: asked between two pieces; what was done stays done.
        told: told of each piece that is done.

    Raises:
        Cancelled: `cancelled` said so.
    """
    with store.writing() as cursor:
        assemble(cursor)  # a span that waits for its request would be told to have none
    pieces: list[Piece] = []
    requests = calls = spans = 0
    after: int | None = None
    while (piece := due(store, before_ns, timezone, after)) is not None:
        if cancelled():
            raise Cancelled("retention was stopped between two days; what was rolled up stays so")
        with store.quiet():  # no row may come between the reading and the dropping
            rolled = roll(piece)
            with store.writing() as cursor:
                dropped = replace_rows(store, cursor, piece, rolled, now_ns)
        pieces.append(piece)
        requests, calls, spans = requests + dropped.requests, calls + dropped.calls, spans + dropped.spans
        if told is not None:
            told(piece, dropped)
        after = piece.end_ns
    with store.writing() as cursor:
        spans += drop_leftovers(cursor, before_ns)
    if requests or spans:
        checkpoint(store)
    return Retired(tuple(pieces), requests, calls, spans)
