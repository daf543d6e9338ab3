"""The figure that broke over the windows of the selection: where the cause sits against the rest.

Input: all requests of a goal, the segment of a finding, the figure of its Shift. Output: SegmentSeries of the result,
at most MOST_LINES lines of at most about MOST_POINTS points; null where a point has too few requests. Where a
percentile lies among failed requests, slower than all, the longest answer stands for it, as the least that it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import polars as pl

from analysis.aggregates.weighted import Percentile, percentiles_of, weighted_mean
from analysis.causes.figures import known, steady
from analysis.causes.goal import Goal, population
from analysis.causes.rows import Rows
from analysis.causes.segment import within
from analysis.causes.shift import Figure, failed
from analysis.result import SegmentLine, SegmentSeries
from ingest.schema import NS_PER_S

MOST_POINTS = 48
FEWEST_POINTS = 12  # of judged windows; a breach that fills one of two windows is no course of time
FEWEST_EVEN = 6  # where the segment has few requests, windows are longer until so many are left
MOST_LINES = 8
STEPS_S = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800)  # even on any clock
SEGMENT, PEER, REST, ALL = "segment", "peer", "rest", "all"
READ = ("at", "votes", "ok", "pool", "replica")

Segment = Sequence[tuple[str, str]]
Roles = dict[str | None, str]  # by the name of a line; what has none is the rest


def judged_rows(rows: Rows, goal: Goal, segment: Segment) -> pl.DataFrame:
    """All requests of a goal with what a series reads."""
    names = dict.fromkeys((*READ, *(name for name, _ in segment)))
    return population(rows, goal, columns=[name for name in names if name in rows.frame.columns])


def series_of(rows: Rows, goal: Goal, segment: Segment, figure: Figure) -> SegmentSeries | None:
    """Lines of a finding: each replica where its segment names one, else the segment and the rest; None without time.

    Windows are those that the objective is judged in where there are 12 to 48, else even ones of a length at which
    the segment has enough requests in each.
    """
    frame = judged_rows(rows, goal, segment)
    length = (rows.end_ns - rows.start_ns) / NS_PER_S
    if frame.is_empty() or length <= 0:
        return None
    frame, roles = _lined(frame, [pair for pair in segment if pair[0] in frame.columns])
    step_s, origin_ns = _windows(goal, rows, length, figure.needed * length / _smallest(frame, roles))
    lead = rows.start_ns - origin_ns
    at = (pl.col("at") * NS_PER_S).round(0).cast(pl.Int64) + lead
    points = (
        frame.lazy()
        .group_by("line", (at // (step_s * NS_PER_S)).alias("point"))
        .agg(
            n=_counted(figure), value=_value(figure, percentiles_of(frame)), longest=pl.col("value").filter("ok").max()
        )
        .collect()
    )
    first, last = int(points["point"].min() or 0), int(points["point"].max() or 0)  # type: ignore[arg-type]
    size = last - first + 1
    counts = {name: [0] * size for name in roles}
    values: dict[str | None, list[float | None]] = {name: [None] * size for name in roles}
    at_least = {name: [False] * size for name in roles}
    for name, point, n, value, longest in points.iter_rows():
        counts[name][point - first] = n
        failed_there = value is not None and math.isinf(value)
        told = known(steady(known(longest if failed_there else value)))
        if n >= figure.needed and told is not None:
            values[name][point - first] = told
            at_least[name][point - first] = failed_there
    return SegmentSeries(
        figure=figure.name,
        unit=figure.unit,
        start=datetime.fromtimestamp((origin_ns + first * step_s * NS_PER_S) // NS_PER_S, UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        ),
        step_s=float(step_s),
        needed=figure.needed,
        lines=[SegmentLine(name, role, counts[name], values[name], at_least[name]) for name, role in roles.items()],
    )


def _lined(frame: pl.DataFrame, segment: Segment) -> tuple[pl.DataFrame, Roles]:
    """The frame with `line`, and the role of every line, the segment first; lines without a request are left out."""
    roles: Roles
    replica = dict(segment).get("replica")
    if replica is not None:
        mine = pl.col("replica").cast(pl.String)
        sizes = (
            frame.drop_nulls("replica")
            .group_by(mine, pl.col("pool").cast(pl.String))
            .len()
            .sort("len", "replica", descending=[True, False])
        )
        pools = {pool for name, pool, _ in sizes.iter_rows() if name == replica}
        peers = [name for name, pool, _ in sizes.iter_rows() if name != replica and pool in pools]
        others = [name for name, pool, _ in sizes.iter_rows() if name != replica and pool not in pools]
        names = list(dict.fromkeys((*peers, *others)))
        shown = names if len(names) < MOST_LINES else names[: MOST_LINES - 2]
        line = pl.when(mine.is_in([replica, *shown])).then(mine).otherwise(None)
        roles = {replica: SEGMENT, **dict.fromkeys(shown, PEER), None: REST}
    elif segment:
        name = ", ".join(value for _, value in segment)
        line = pl.when(within(segment)).then(pl.lit(name)).otherwise(None)
        roles = {name: SEGMENT, None: REST}
    else:
        line, roles = pl.lit(None, dtype=pl.String), {None: ALL}
    lined = frame.with_columns(line=line)
    there = set(lined["line"].unique().to_list())
    return lined, {name: role for name, role in roles.items() if name in there}


def _smallest(frame: pl.DataFrame, roles: Roles) -> int:
    """Requests of the segment, so that its points have enough of them; of the rest where that is all there is."""
    return max(1, int(frame["line"].eq_missing(next(iter(roles))).sum()))


def _windows(goal: Goal, rows: Rows, length: float, least: float) -> tuple[int, int]:
    """Length of a window in seconds, and an instant at which one begins."""
    starts = sorted({window.start for window in goal.judged.windows if window.start is not None})
    if FEWEST_POINTS <= len(starts) <= MOST_POINTS:
        instants = [round(datetime.fromisoformat(start).timestamp()) for start in starts]
        step = min(later - sooner for sooner, later in pairwise(instants))
        if instants[-1] - instants[0] < MOST_POINTS * step:
            return step, instants[0] * NS_PER_S
    wanted = max(length / MOST_POINTS, min(1.5 * least, length / FEWEST_EVEN))
    step = next((step for step in STEPS_S if step >= wanted), STEPS_S[-1])
    return step, rows.start_ns // (step * NS_PER_S) * step * NS_PER_S


def _counted(figure: Figure) -> pl.Expr:
    """Requests behind a point: those with the figure, and failed ones where they count."""
    if figure.is_share:
        return pl.len().cast(pl.Int64)
    has = pl.col("ok") & pl.col("value").is_not_null()
    return (has | failed()).sum().cast(pl.Int64) if figure.counts_failures else has.sum().cast(pl.Int64)


def _value(figure: Figure, percentile: Percentile) -> pl.Expr:
    """The figure of a point, each request by its votes; infinite where a percentile lies among failed requests."""
    if figure.is_share:
        return pl.col("votes").filter("bad").sum() / pl.col("votes").sum()
    of = pl.when(pl.col("ok")).then(pl.col("value"))
    if figure.q is None:
        return weighted_mean(of)
    return percentile(pl.when(failed()).then(math.inf).otherwise(of) if figure.counts_failures else of, figure.q)
