"""A week of an objective out of rows that stand and counts of rows that are gone.

Input: the verdict of the rows, cells of time with the counts of both, the week. Output: the verdict of both together, exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from analysis.aggregates.attainment import BREACHED, MET, TOO_FEW, verdict_of
from analysis.aggregates.verdicts import UNKNOWN
from analysis.metrics.metric import Better
from analysis.metrics.votes import votes_of
from analysis.objectives import Objective
from analysis.result import WeekVerdict
from ingest.schema import NS_PER_S

Counts = tuple[int, int, int, int]  # good and bad: requests, then votes


def with_rolled(week: WeekVerdict, item: Objective, cells: pl.DataFrame, span: tuple[int, int]) -> WeekVerdict:
    """The week with the counts of its cells in place of its own; its verdict is unknown if they cannot tell it.

    Args:
        week: what the rows that stand say.
        cells: of rows that stand and of those that are gone, of any range; a cell that the week cuts, or that has no
            counts, cannot be added.
        span: first instant of the week and of the next one.
    """
    start, end = span
    mine = cells.filter((pl.col("start_ns") < end) & (pl.col("end_ns") > start))
    inside = (pl.col("start_ns") >= start) & (pl.col("end_ns") <= end) & pl.col("good").is_not_null()
    kept = mine.filter(inside)
    kept = kept.with_columns(votes_of(kept.get_column("sampling_rate")))
    good, bad, for_it, against = _sums(kept)
    share = for_it / (for_it + against) if for_it + against else None
    whole = replace(
        week,
        good=good,
        bad=bad,
        attainment=share,
        value=share if item.target is not None else None,
        rolled=good + bad - week.good - week.bad,
    )
    if kept.height < mine.height or not _is_told_by_counts(item) or item.per is not None:
        return replace(whole, verdict=UNKNOWN)
    if item.window_s is None:
        return replace(whole, verdict=_of(item, (good, bad, for_it, against)))
    windows = _windows(item.window_s, kept, start)
    return replace(whole, verdict=UNKNOWN if windows is None else _overall(_of(item, one) for one in windows))


def _is_told_by_counts(item: Objective) -> bool:
    percentile = item.percentile is not None and item.conditions[0].metric.better is Better.LOWER
    return item.target is not None or percentile


def _sums(cells: pl.DataFrame) -> Counts:
    votes = pl.col("votes")
    good, bad = pl.col("good"), pl.col("bad")
    return cells.select(
        good.sum(), bad.sum(), (good * votes).sum().alias("for"), (bad * votes).sum().alias("against")
    ).row(0)


def _of(item: Objective, counts: Counts) -> str:
    good, bad, for_it, against = counts
    row = {"good": good, "bad": bad, "good_votes": for_it, "bad_votes": against, "n": good + bad}
    return verdict_of(item, {**row, "n_figure": good + bad, "value": None})


def _windows(window_s: int, cells: pl.DataFrame, origin_ns: int) -> list[Counts] | None:
    """Counts per window; None if an hour lies in two of them."""
    length = window_s * NS_PER_S
    first, last = ((pl.col(name) - origin_ns - back) // length for name, back in (("start_ns", 0), ("end_ns", 1)))
    if cells.select((first != last).any()).item():
        return None
    return [_sums(part) for part in cells.with_columns(first.alias("_window")).partition_by("_window")]


def _overall(verdicts: Iterable[str]) -> str:
    told = set(verdicts)
    if BREACHED in told:
        return BREACHED
    if MET in told:
        return MET
    return TOO_FEW if TOO_FEW in told else UNKNOWN
