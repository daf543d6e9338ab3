"""A week of an objective out of rows that stand and counts of rows that are gone.

Input: the verdict of the rows, the cells of time with counts, the week. Output: the verdict of both together, exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from analysis.aggregates.attainment import BREACHED, MET, TOO_FEW, verdict_of
from analysis.aggregates.verdicts import UNKNOWN
from analysis.metrics.metric import Better
from analysis.objectives import Objective
from analysis.result import WeekVerdict, WindowVerdict
from ingest.schema import NS_PER_S
from ingest.selection import to_iso

Counts = dict[str, int]


def with_rolled(
    week: WeekVerdict, item: Objective, windows: Sequence[WindowVerdict], cells: pl.DataFrame, span: tuple[int, int]
) -> WeekVerdict:
    """The week with the counts of its cells added; its verdict is unknown if they cannot tell it.

    Args:
        windows: of the rows that stand, for an objective with a window.
        cells: of any range; those that the week cuts, or that have no counts, cannot be added.
        span: first instant of the week and of the next one.
    """
    start, end = span
    mine = cells.filter((pl.col("start_ns") < end) & (pl.col("end_ns") > start))
    inside = (pl.col("start_ns") >= start) & (pl.col("end_ns") <= end) & pl.col("good").is_not_null()
    kept = mine.filter(inside)
    good, bad = (int(kept.get_column(name).sum()) for name in ("good", "bad"))
    share = _share(week.good + good, week.bad + bad)
    whole = replace(
        week,
        good=week.good + good,
        bad=week.bad + bad,
        attainment=share,
        value=share if item.target is not None else None,
        rolled=good + bad,
    )
    if kept.height < mine.height or not _is_told_by_counts(item) or item.per is not None:
        return replace(whole, verdict=UNKNOWN)
    if item.window_s is None:
        return replace(whole, verdict=_of(item, {"good": whole.good, "bad": whole.bad}))
    groups = _windows(item.window_s, kept, start)
    if groups is None:
        return replace(whole, verdict=UNKNOWN)
    for window in windows:
        counts = groups.setdefault(window.start or "", {"good": 0, "bad": 0})
        counts["good"] += window.good
        counts["bad"] += window.bad
    return replace(whole, verdict=_overall(_of(item, counts) for counts in groups.values()))


def _is_told_by_counts(item: Objective) -> bool:
    percentile = item.percentile is not None and item.conditions[0].metric.better is Better.LOWER
    return item.target is not None or percentile


def _share(good: int, bad: int) -> float | None:
    return good / (good + bad) if good + bad else None


def _of(item: Objective, counts: Counts) -> str:
    judged = counts["good"] + counts["bad"]
    return verdict_of(item, {**counts, "n": judged, "n_figure": judged, "value": None})


def _windows(window_s: int, cells: pl.DataFrame, origin_ns: int) -> dict[str, Counts] | None:
    """Counts per start of the windows; None if an hour lies in two of them."""
    length = window_s * NS_PER_S
    first, last = ((pl.col(name) - origin_ns - back) // length for name, back in (("start_ns", 0), ("end_ns", 1)))
    if cells.select((first != last).any()).item():
        return None
    sums = cells.group_by(first.alias("window")).agg(pl.col("good").sum(), pl.col("bad").sum())
    return {to_iso(origin_ns + n * length): {"good": good, "bad": bad} for n, good, bad in sums.iter_rows()}


def _overall(verdicts: Iterable[str]) -> str:
    told = set(verdicts)
    if BREACHED in told:
        return BREACHED
    if MET in told:
        return MET
    return TOO_FEW if TOO_FEW in told else UNKNOWN
