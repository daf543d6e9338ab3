"""One window of an objective with a limit on the length of answers.

Input: the objective's requests of the window and of the normal. Output: Capped: value and share within the limit after it,
the limit, and the part of the answers that it cuts; None where a limit does not act on the figure by itself.
The limit is where 95 % of the answers ended in the normal. Answers then take the time per token, and all else, of the
normal: every length of the window meets every pace of the normal. Spend is read from each request's own price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.figures import number
from analysis.causes.goal import Goal
from analysis.causes.segment import within

MIN_N = 30
LIMIT_Q = 0.95
MINE = 0.5  # of the objective's requests must be of the segment
DRAWN = 300  # lengths and paces that meet each other
WHOLE = ("e2e", "perceived")
PAID = "output_pico"
PICO = 1e12


@dataclass(frozen=True)
class Capped:
    value: float
    attainment: float | None
    limit: int
    cut: float


def capped(goal: Goal, segment: Sequence[tuple[str, str]], window: pl.DataFrame, normal: pl.DataFrame) -> Capped | None:
    """The window with a limit on the answers of a segment.

    Args:
        segment: of the cause.
        window, normal: populations of the goal, with `value`, output_tokens, t_decode and the segment's dimensions.
    """
    own = [pair for pair in segment if pair[0] in window.columns]
    mine, usual = window.filter(within(own)), normal.filter(within(own) & (pl.col("output_tokens") > 0))
    if window.height < MIN_N or usual.height < MIN_N or mine.height < MINE * window.height:
        return None
    limit = quantile(usual["output_tokens"].cast(pl.Float64), LIMIT_Q)
    if limit is None or limit < 1:
        return None
    after = _spend(window, own, limit) if goal.kind == "cost" else _time(goal, mine, usual, limit)
    if after is None or after.is_empty():
        return None
    value = _figure(goal, after)
    kept = None if goal.threshold is None or goal.kind == "cost" else number((after <= goal.threshold).mean())
    cut = number((mine["output_tokens"] > limit).mean())
    return None if value is None else Capped(value, kept, round(limit), cut)


def _spend(window: pl.DataFrame, own: Sequence[tuple[str, str]], limit: float) -> pl.Series | None:
    if PAID not in window.columns:
        return None
    spared = 1 - pl.min_horizontal(pl.lit(1.0), limit / pl.col("output_tokens"))
    saved = pl.when(within(own) & (pl.col("output_tokens") > limit)).then(pl.col(PAID).cast(pl.Float64) * spared)
    return window.select(after=pl.col("value") - saved.fill_null(0.0) / PICO)["after"].drop_nulls()


def _time(goal: Goal, mine: pl.DataFrame, usual: pl.DataFrame, limit: float) -> pl.Series | None:
    if goal.metric not in WHOLE or usual["t_decode"].null_count():
        return None
    lengths = _drawn(
        mine.select(made=pl.min_horizontal(pl.col("output_tokens").cast(pl.Float64), pl.lit(limit))), "made"
    )
    paces = usual.select(
        rest=pl.col("value") - pl.col("t_decode"), pace=pl.col("t_decode") / pl.col("output_tokens")
    ).drop_nulls()
    both = lengths.join(_drawn(paces, "pace"), how="cross")
    return both.select(after=pl.col("rest") + pl.col("pace") * pl.col("made"))["after"].drop_nulls()


def _drawn(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """At most some hundred rows, evenly over the order of a column."""
    return frame.sort(by).gather_every(max(1, -(-frame.height // DRAWN)))


def _figure(goal: Goal, after: pl.Series) -> float | None:
    if goal.statistic is not None and goal.statistic.startswith("p"):
        return quantile(after, float(goal.statistic[1:]) / 100)
    if goal.target is not None and goal.kind != "cost":
        return quantile(after, goal.target)
    return number(after.mean())
