"""A week of an objective out of rows that stand and counts of rows that are gone.

Input: the verdict of the rows, cells of time with the counts of both, the week. Output: the verdict of both together,
exact; or the sentence why counts cannot give it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from analysis.aggregates.attainment import BREACHED, MET, TOO_FEW, verdict_of
from analysis.aggregates.verdicts import UNKNOWN, judges_requests
from analysis.metrics.metric import Better
from analysis.metrics.votes import votes_of
from analysis.objectives import Objective
from analysis.result import WeekVerdict
from analysis.rollups.roll_up import VERDICT_DIMS
from ingest.schema import NS_PER_S

HOLE = "A dropped day was counted by another definition or without its rarer values, or lies only partly in the week."
NO_COUNTS = "Dropped days keep how many requests kept a limit; this objective needs the requests themselves."
TOO_FINE = "Its windows begin or end within {grain}, by which dropped days are kept."
NOT_KEPT = "Dropped days keep verdicts by {kept}, not by {per}."


@dataclass(frozen=True)
class _Counts:
    """Requests, then votes, of some cells."""

    good: int
    bad: int
    unknown: int
    for_it: int
    against: int
    unsaid: int


def with_rolled(week: WeekVerdict, item: Objective, cells: pl.DataFrame, span: tuple[int, int]) -> WeekVerdict:
    """The week with the counts of its cells in place of its own; its verdict is unknown if they cannot tell it.

    Args:
        week: what the rows that stand say.
        cells: of rows that stand and of those that are gone, of any range, with the value of an objective per value in
            `_of`; a cell that the week cuts, or that has no counts, cannot be added.
        span: first instant of the week and of the next one.
    """
    start, end = span
    mine = cells.filter((pl.col("start_ns") < end) & (pl.col("end_ns") > start))
    inside = (pl.col("start_ns") >= start) & (pl.col("end_ns") <= end) & pl.col("good").is_not_null()
    kept = mine.filter(inside)
    kept = kept.with_columns(votes_of(kept.get_column("sampling_rate")))
    whole = _sums(kept)
    judged = whole.for_it + whole.against
    told = replace(
        week,
        verdict=UNKNOWN,
        good=whole.good,
        bad=whole.bad,
        attainment=whole.for_it / judged if judged else None,
        value=_value(item, whole),
        rolled=whole.good + whole.bad - week.good - week.bad,
    )
    if not _is_told_by_counts(item):
        return replace(told, note=NO_COUNTS)
    if item.per is not None and item.per not in VERDICT_DIMS:
        return replace(told, value=None, note=NOT_KEPT.format(kept=", ".join(VERDICT_DIMS), per=item.per))
    if kept.height < mine.height:
        return replace(told, value=None if item.per is not None else told.value, note=HOLE)
    groups = _groups(item, kept, start)
    if groups is None:
        grain = "an hour" if item.per is None else "a day"
        return replace(told, value=None if item.per is not None else told.value, note=TOO_FINE.format(grain=grain))
    verdicts = [(_of(item, one), _value(item, one)) for one in groups]
    overall = _overall(verdict for verdict, _ in verdicts)
    if item.per is None:
        return replace(told, verdict=overall)
    return replace(told, verdict=overall, value=_worst(item, [v for name, v in verdicts if name == overall]))


def _is_share(item: Objective) -> bool:
    """Whether its figure is a share of requests that are each good or bad, such as error_rate."""
    return item.target is None and judges_requests(item) and not item.conditions[0].metric.per_request


def _is_told_by_counts(item: Objective) -> bool:
    percentile = item.percentile is not None and item.conditions[0].metric.better is Better.LOWER
    return item.target is not None or percentile or _is_share(item)


def _sums(cells: pl.DataFrame) -> _Counts:
    votes = pl.col("votes")
    names = ("good", "bad", "unknown")
    sums = cells.select(
        *(pl.col(name).sum() for name in names),
        *((pl.col(name) * votes).sum().alias(f"{name}_votes") for name in names),
    )
    return _Counts(*map(int, sums.row(0)))


def _value(item: Objective, counts: _Counts) -> float | None:
    """Attainment of a target, or a share of requests; None of a percentile."""
    judged = counts.for_it + counts.against
    if not judged:
        return None
    if item.target is not None or (_is_share(item) and item.metric == "availability"):
        return counts.for_it / judged
    # where any request says that it was so or not, those that say nothing were not
    return counts.against / (judged + counts.unsaid) if _is_share(item) else None


def _of(item: Objective, counts: _Counts) -> str:
    n = counts.good + counts.bad + (counts.unknown if _is_share(item) and counts.good + counts.bad else 0)
    row = {"good": counts.good, "bad": counts.bad, "good_votes": counts.for_it, "bad_votes": counts.against}
    return verdict_of(item, {**row, "n": n, "n_figure": n, "value": _value(item, counts)})


def _groups(item: Objective, cells: pl.DataFrame, origin_ns: int) -> list[_Counts] | None:
    """Counts per window and value; None if a cell lies in two windows."""
    keys = []
    if item.per is not None:
        cells = cells.drop_nulls("_of")
        keys.append("_of")
    if item.window_s is not None:
        length = item.window_s * NS_PER_S
        first, last = ((pl.col(name) - origin_ns - back) // length for name, back in (("start_ns", 0), ("end_ns", 1)))
        if cells.select((first != last).any()).item():
            return None
        cells = cells.with_columns(first.alias("_window"))
        keys.append("_window")
    return [_sums(part) for part in cells.partition_by(keys)] if keys else [_sums(cells)]


def _worst(item: Objective, values: list[float | None]) -> float | None:
    """The value furthest on the bad side."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    lower_is_worse = item.target is not None or item.conditions[0].metric.better is Better.HIGHER
    return min(known) if lower_is_worse else max(known)


def _overall(verdicts: Iterable[str]) -> str:
    told = set(verdicts)
    if BREACHED in told:
        return BREACHED
    if MET in told:
        return MET
    return TOO_FEW if TOO_FEW in told else UNKNOWN
