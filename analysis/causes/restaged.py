"""One window of an objective with a stage made shorter in each of its requests.

Input: the objective's requests of the window with their stage times, and a remedy. Output: Restaged: value and share
within the limit after it, and the part of the requests that are answered in full; None where stages do not tell.
Stages are measured and add up, so this rests on no model of load; what a shorter stage does to others stays out of sight.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.figures import number
from analysis.causes.goal import Goal

MIN_N = 30
LIMIT_Q = 0.99  # of the stage in the normal: a time limit above what the stage takes when it is well
WHOLE = ("e2e", "perceived", "overhead")  # figures that hold all of the filter, on input and on output
SLOW = "slow_"


@dataclass(frozen=True)
class Restaged:
    value: float
    attainment: float | None
    served: float
    says: str


def restaged(identity: str, cause: str, goal: Goal, window: pl.DataFrame, normal: pl.DataFrame) -> Restaged | None:
    """What a remedy of an outer stage leaves of a window.

    Args:
        identity: of the recommendation; async_guardrail and timeout_degrade are known.
        cause: id of the candidate, slow_<stage>.
        window: requests of the window with `value` and t_<stage>.
        normal: requests of the normal with t_<stage>.
    """
    stage = cause.removeprefix(SLOW)
    column = f"t_{stage}"
    known = column in window.columns and window[column].null_count() < window.height
    if not cause.startswith(SLOW) or window.height < MIN_N or not known:
        return None
    if identity == "async_guardrail" and stage == "guardrail" and goal.metric in WHOLE:
        beside = pl.sum_horizontal(pl.col(name).fill_null(0.0) for name in ("t_queue", "t_prefill", "t_decode"))
        return _after(goal, window, pl.min_horizontal(pl.col(column).fill_null(0.0), beside), 1.0, "")
    if identity == "timeout_degrade":
        limit = quantile(normal.filter(pl.col(column) > 0)[column], LIMIT_Q)
        if limit is None:
            return None
        over = (pl.col(column) - limit).clip(lower_bound=0.0).fill_null(0.0)
        cut = number(window.select((over > 0).mean()).item())
        says = f"Assumes a limit of {limit:.2g} s on {stage}; {cut:.0%} of the requests are then answered without it. "
        return _after(goal, window, over, 1.0 - cut, says)
    return None


def _after(goal: Goal, window: pl.DataFrame, saved: pl.Expr, served: float, says: str) -> Restaged | None:
    after = window.select(after=pl.col("value") - saved)["after"]
    if goal.statistic is not None and goal.statistic.startswith("p"):
        value = quantile(after, float(goal.statistic[1:]) / 100)
    elif goal.target is not None:
        value = quantile(after, goal.target)
    else:
        value = number(after.mean())
    if value is None:
        return None
    kept = None if goal.threshold is None else number((after <= goal.threshold).mean())
    return Restaged(value, kept, served, says)
