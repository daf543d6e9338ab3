"""Concurrency: where no engine measured the inside of a call, whether its time moves with the requests in flight.

Input: Scene, a stage, the requests that an objective judges. Output: candidate concurrency, or none.
Source: rank correlation of the stage's time with the number of requests in flight at arrival. It says that load is at
work, not what raised the load, and it refuses to name queue or prefill, which nobody measured.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import number
from analysis.causes.goal import Goal
from analysis.causes.scene import Scene
from analysis.result import Evidence

UNSPLIT = ("before_first_token", "after_first_token", "model")
MOVES = 0.5  # rank correlation, as for queue and arrivals in KB-01
MIN_REQUESTS = 100


def moves_with_concurrency(scene: Scene, goal: Goal, stage: str, judged: pl.DataFrame) -> Candidate | None:
    """The candidate for one unsplit stage, or None where its time does not follow the requests in flight."""
    if stage not in UNSPLIT or "m_e2e" not in judged.columns or judged.height < MIN_REQUESTS:
        return None
    figure = "value" if goal.metric == "tpot" else f"t_{stage}"
    rows = judged.select("at", taken=pl.col(figure)).drop_nulls()
    rows = rows.with_columns(running=_in_flight(scene.rows.frame, rows["at"]))
    if rows.height < MIN_REQUESTS or rows["running"].n_unique() < 3:
        return None
    moves = number(rows.select(pl.corr("running", "taken", method="spearman")).item())
    if moves < MOVES:
        return None
    middle = number(quantile(rows["running"], 0.5))
    calm, busy = rows.filter(pl.col("running") <= middle), rows.filter(pl.col("running") > middle)
    low, high = number(quantile(calm["taken"], 0.5)), number(quantile(busy["taken"], 0.5))
    return Candidate(
        id="concurrency",
        cause="load",
        stage=stage,
        segment=(),
        reach={},
        says=f"the time rises with the requests in flight: {high:.3g} s at the median above {middle:.0f} of them,"
        f" {low:.3g} s below",
        evidence=(
            Evidence("rank correlation with the requests in flight at arrival", moves, None, "ratio", rows.height),
            Evidence(f"median time above {middle:.0f} requests in flight", high, None, "s", busy.height),
            Evidence(f"median time up to {middle:.0f} requests in flight", low, None, "s", calm.height),
        ),
        facts={"load_correlation": moves},
    )


def _in_flight(frame: pl.DataFrame, at: pl.Series) -> pl.Series:
    """Requests of the whole selection that had arrived and not ended, at each instant."""
    known = frame.select("at", end=pl.col("at") + pl.col("m_e2e")).drop_nulls()
    arrived = known["at"].sort().search_sorted(at, side="right").cast(pl.Int64)
    ended = known["end"].sort().search_sorted(at, side="right").cast(pl.Int64)
    return (arrived - ended).alias("running")
