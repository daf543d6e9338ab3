"""Tumbling windows: multiples of their length from local midnight of the first Monday on or before the selection.

Source: metric definitions, section 8; a request belongs to the window in which it arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from ingest.schema import NS_PER_S
from ingest.selection import to_datetime, to_ns, zone_of


@dataclass(frozen=True)
class Span:
    """The time that is analyzed, in nanoseconds: half-open; None where there is no clock."""

    start_ns: int | None
    end_ns: int | None

    @property
    def seconds(self) -> float | None:
        """Length in true seconds: 167 or 169 hours in a week of daylight saving."""
        if self.start_ns is None or self.end_ns is None or self.end_ns <= self.start_ns:
            return None
        return (self.end_ns - self.start_ns) / NS_PER_S

    def overlap_s(self, start_ns: int, end_ns: int) -> float:
        """Seconds of a window that lie in the span."""
        low = start_ns if self.start_ns is None else max(start_ns, self.start_ns)
        high = end_ns if self.end_ns is None else min(end_ns, self.end_ns)
        return max(0, high - low) / NS_PER_S


def span_of(frame: pl.DataFrame, start_ns: int | None, end_ns: int | None) -> Span:
    """The range as selected; an open side ends at the first arrival or after the last end (or arrival) of the frame."""
    first, last = frame.select(
        pl.col("started_ns").min().alias("first"),
        pl.max_horizontal(pl.col("ended_ns").max(), pl.col("started_ns").max() + 1).alias("last"),
    ).row(0)
    return Span(first if start_ns is None else start_ns, last if end_ns is None else end_ns)


def origin_of(start_ns: int, timezone: str) -> int:
    """Local midnight of the first Monday on or before an instant, in nanoseconds."""
    zone = zone_of(timezone)
    day = to_datetime(start_ns).astimezone(zone).date()
    monday = day - timedelta(days=day.weekday())
    return to_ns(datetime(monday.year, monday.month, monday.day, tzinfo=zone))


def window_index(window_s: int, origin_ns: int) -> pl.Expr:
    """Number of the window of an arrival, counted from the origin; null without a clock."""
    return (pl.col("started_ns") - origin_ns) // (window_s * NS_PER_S)


def window_bounds(index: int, window_s: int, origin_ns: int) -> tuple[int, int]:
    """First instant of a window and of the next one, in nanoseconds."""
    start = origin_ns + index * window_s * NS_PER_S
    return start, start + window_s * NS_PER_S
