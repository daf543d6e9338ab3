"""A week of an objective out of rows that stand and counts of rows that are gone.

Input: the verdict of the rows, cells of time with the counts and sums of both, the week. Output: the verdict of both together,
exact; or the sentence why counts cannot give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.aggregates.attainment import BREACHED, MET, TOO_FEW, verdict_of
from analysis.aggregates.verdicts import UNKNOWN, judges_requests
from analysis.aggregates.windows import Span, window_bounds
from analysis.metrics.metric import Better
from analysis.metrics.votes import votes_of
from analysis.objectives import Objective
from analysis.result import WeekVerdict
from analysis.rollups.roll_up import HOUR_NS, VERDICT_DIMS
from analysis.rollups.sums import SUMS, Summed, parts_of, value_of
from ingest.schema import NS_PER_S

HOLE = "A dropped day was counted by another definition or without its rarer values, or lies only partly in the week."
NO_COUNTS = "Dropped days keep how many requests kept a limit; this objective needs the requests themselves."
NO_SUMS = "A dropped day was rolled up before sums were kept, and this objective adds up figures of requests."
TOO_FINE = "Its windows begin or end within {grain}, by which dropped days are kept."
NOT_KEPT = "Dropped days keep verdicts by {kept}, not by {per}."


@dataclass(frozen=True)
class _Counts:
    """Requests, then votes, of some cells; `excluded`: of a sum those that have the figure; and their sums by rate."""

    good: int
    bad: int
    unknown: int
    excluded: int
    for_it: int
    against: int
    unsaid: int
    sums: tuple[Summed, ...]

    @property
    def figures(self) -> int:
        return sum(one.figures for one in self.sums)


@dataclass(frozen=True)
class _Group:
    """The cells of one window and value, and how long the window lasts within the week."""

    counts: _Counts
    seconds: float | None


def with_rolled(week: WeekVerdict, item: Objective, cells: pl.DataFrame, span: Span) -> WeekVerdict:
    """The week with the counts and sums of its cells in place of its own; its verdict is unknown if they cannot tell it.

    Args:
        week: what the rows that stand say.
        cells: of rows that stand and of those that are gone (`is_gone`), of any range, with the value of an objective
            per value in `_of`; a cell that the week cuts, or that has no counts, cannot be added.
        span: the week.
    """
    start, end = span.start_ns or 0, span.end_ns or 0
    mine = cells.filter((pl.col("start_ns") < end) & (pl.col("end_ns") > start))
    inside = (pl.col("start_ns") >= start) & (pl.col("end_ns") <= end) & pl.col("good").is_not_null()
    kept = mine.filter(inside)
    kept = kept.with_columns(votes_of(kept.get_column("sampling_rate")))
    whole = _sums(kept)
    judged = whole.for_it + whole.against
    adds_up = parts_of(item) is not None
    lacks_sums = adds_up and kept.get_column("figures").has_nulls()
    gone = _sums(kept.filter("is_gone"))
    told = replace(
        week,
        verdict=UNKNOWN,
        good=whole.good,
        bad=whole.bad,
        attainment=whole.for_it / judged if judged else None,
        value=None if lacks_sums else _value(item, whole, span.seconds),
        rolled=gone.good + gone.bad if judges_requests(item) else gone.figures,
    )
    if lacks_sums:
        return replace(told, note=NO_SUMS)
    if not adds_up and not _is_told_by_counts(item):
        return replace(told, note=NO_COUNTS)
    if item.per is not None and item.per not in VERDICT_DIMS:
        return replace(told, value=None, note=NOT_KEPT.format(kept=", ".join(VERDICT_DIMS), per=item.per))
    if kept.height < mine.height:
        return replace(told, value=None if item.per is not None else told.value, note=HOLE)
    groups = _groups(item, kept, span)
    if groups is None:
        by_hour = (kept.get_column("end_ns") - kept.get_column("start_ns")).max() == HOUR_NS
        grain = "an hour" if item.per is None and by_hour else "a day"
        return replace(told, value=None if item.per is not None else told.value, note=TOO_FINE.format(grain=grain))
    verdicts = [(_of(item, one), _value(item, one.counts, one.seconds)) for one in groups]
    overall = _overall([verdict for verdict, _ in verdicts], n_figure=_counted(item, whole, told.value)[1])
    if not judges_requests(item):
        good, bad = _judged_together(verdicts, groups)
        told = replace(told, good=good, bad=bad)
    if item.per is None:
        return replace(told, verdict=overall)
    judged_values = [value for name, value in verdicts if name == overall and name in (MET, BREACHED)]
    return replace(told, verdict=overall, value=_worst(item, judged_values))


def _judged_together(verdicts: Sequence[tuple[str, float | None]], groups: Sequence[_Group]) -> tuple[int, int]:
    """Good and bad requests of a sum: those that have the figure are good where what they add up to keeps the limit."""
    told = [(verdict, one.counts.excluded) for (verdict, _), one in zip(verdicts, groups, strict=True)]
    return sum(n for verdict, n in told if verdict == MET), sum(n for verdict, n in told if verdict == BREACHED)


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
        *(pl.col(name).sum() for name in (*names, "excluded")),
        *((pl.col(name) * votes).sum().alias(f"{name}_votes") for name in names),
    )
    by_rate = cells.group_by("sampling_rate", "votes").agg(pl.col(name).sum() for name in SUMS).sort("sampling_rate")
    told = by_rate.select(*SUMS, "sampling_rate", "votes").iter_rows()
    good, bad, unknown, excluded, for_it, against, unsaid = map(int, sums.row(0))
    return _Counts(good, bad, unknown, excluded, for_it, against, unsaid, tuple(Summed(*row) for row in told))


def _value(item: Objective, counts: _Counts, seconds: float | None) -> float | None:
    """Attainment of a target, a share of requests, or what figures add up to; None of a percentile."""
    if parts_of(item) is not None:
        return value_of(item, counts.sums, seconds)
    judged = counts.for_it + counts.against
    if not judged:
        return None
    if item.target is not None or (_is_share(item) and item.metric == "availability"):
        return counts.for_it / judged
    # where any request says that it was so or not, those that say nothing were not
    return counts.against / (judged + counts.unsaid) if _is_share(item) else None


def _of(item: Objective, group: _Group) -> str:
    counts, value = group.counts, _value(item, group.counts, group.seconds)
    n, with_figure = _counted(item, counts, value)
    row = {"good": counts.good, "bad": counts.bad, "good_votes": counts.for_it, "bad_votes": counts.against}
    return verdict_of(item, {**row, "n": n, "n_figure": with_figure, "value": value})


def _counted(item: Objective, counts: _Counts, value: float | None) -> tuple[int, int]:
    """Requests that are judged, and those that have the figure."""
    if parts_of(item) is not None:
        return counts.figures, counts.figures if value is not None else 0
    n = counts.good + counts.bad + (counts.unknown if _is_share(item) and counts.good + counts.bad else 0)
    return n, n


def _groups(item: Objective, cells: pl.DataFrame, span: Span) -> list[_Group] | None:
    """Counts per window and value; None if a cell lies in two windows."""
    keys = []
    if item.per is not None:
        cells = cells.drop_nulls("_of")
        keys.append("_of")
    if item.window_s is None:
        return [_Group(_sums(part), span.seconds) for part in (cells.partition_by(keys) if keys else [cells])]
    length, origin = item.window_s * NS_PER_S, span.start_ns or 0
    first, last = ((pl.col(name) - origin - back) // length for name, back in (("start_ns", 0), ("end_ns", 1)))
    if cells.select((first != last).any()).item():
        return None
    parts = cells.with_columns(first.alias("_window")).partition_by([*keys, "_window"])
    windows = (window_bounds(part.item(0, "_window"), item.window_s, origin) for part in parts)
    return [_Group(_sums(part), span.overlap_s(*window)) for part, window in zip(parts, windows, strict=True)]


def _worst(item: Objective, values: list[float | None]) -> float | None:
    """The value furthest on the bad side."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    lower_is_worse = item.target is not None or item.conditions[0].metric.better is Better.HIGHER
    return min(known) if lower_is_worse else max(known)


def _overall(verdicts: Sequence[str], *, n_figure: int) -> str:
    if not n_figure:
        return UNKNOWN
    return BREACHED if BREACHED in verdicts else MET if MET in verdicts else TOO_FEW
