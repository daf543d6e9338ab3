"""A breached or endangered objective as the method needs it.

Input: ObjectiveResult records. Output: Goal (what counts as bad, over which requests, which stages its metric is made
of) and the population of a goal as a frame with the columns `value` and `bad`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import polars as pl

from analysis.causes.rows import OUTER, Rows
from analysis.division import divided
from analysis.metrics.catalog import BY_ID
from analysis.result import ObjectiveResult
from ingest.schema import NS_PER_S, STAGES

Kind = Literal["latency", "failure", "cancel", "degraded", "cold", "cost", "capacity"]

BEFORE_FIRST = (
    "gateway",
    "network",
    "guardrail",
    "retrieval",
    "rerank",
    "queue",
    "prefill",
    "before_first_token",
    "unattributed",
)
PARTS: dict[str, tuple[str, ...]] = {
    "ttft": BEFORE_FIRST,
    "ttfa": (*BEFORE_FIRST, "decode", "after_first_token"),
    "tpot": ("decode", "after_first_token"),
    "itl_max": ("decode", "after_first_token"),
    "overhead": tuple(stage for stage in OUTER if stage != "tool"),
    "e2e": STAGES,
    "perceived": STAGES,
}
KINDS: dict[str, Kind] = {
    "error_rate": "failure",
    "availability": "failure",
    "timeout_rate": "failure",
    "cancel_rate": "cancel",
    "degraded_rate": "degraded",
    "cold_start_rate": "cold",
    "cost": "cost",
    "cost_per_1k_tokens": "cost",
    "cost_per_million_output_tokens": "cost",
    "gpu_cost_per_million_output_tokens": "capacity",
    "output_tokens_per_usd": "capacity",
    "gpu_utilization": "capacity",
    "mfu": "capacity",
}


@dataclass(frozen=True)
class Goal:
    """One objective with its breached windows, in seconds from the first request."""

    id: str
    metric: str
    kind: Kind
    where: tuple[tuple[str, tuple[str, ...]], ...]
    statistic: str | None
    target: float | None
    threshold: float | None  # seconds, ratio or USD; None where it depends on the length
    per: str | None
    parts: tuple[str, ...]
    windows: tuple[tuple[float, float], ...]
    judged: ObjectiveResult

    @property
    def flag(self) -> str:
        """Column of the verdict, for objectives whose threshold is no number."""
        return f"bad:{self.id}"

    @property
    def tolerated(self) -> float | None:
        """Share of bad requests (for a mean cost: the mean) that the objective still accepts."""
        if self.target is not None:
            return 1.0 - self.target
        if self.statistic is not None and self.statistic.startswith("p"):
            return 1.0 - float(self.statistic[1:]) / 100
        return self.threshold if self.kind in ("failure", "cancel", "degraded", "cold", "cost") else None

    @property
    def member(self) -> str:
        """Column that says who is in the objective's `where`, if the caller has told it."""
        return f"in:{self.id}"

    def value(self, rows: Rows) -> pl.Expr:
        if self.metric in ("cost", "cost_per_1k_tokens", "cost_per_million_output_tokens"):
            return divided(pl.col("cost_pico"), 1e12)
        metric = BY_ID.get(self.metric)
        for name in (f"m_{metric.column if metric is not None else self.metric}", f"t_{self.metric}"):
            if name in rows.frame.columns:
                return pl.col(name)
        return pl.lit(None, dtype=pl.Float64)

    def bad(self, rows: Rows) -> pl.Expr:
        if self.flag in rows.frame.columns:
            return pl.col(self.flag)
        if self.kind == "failure":
            return pl.col("status_class") == "timeout" if self.metric == "timeout_rate" else pl.col("failed")
        if self.kind == "cancel":
            return pl.col("cancelled")
        if self.kind == "degraded":
            return pl.col("degraded").fill_null(value=False)
        if self.kind == "cold":
            return pl.col("cold_start") == "true"
        return self.value(rows) > (self.threshold if self.threshold is not None else float("inf"))


def goals_of(judged: Sequence[ObjectiveResult], start_ns: int, end_s: float) -> tuple[Goal, ...]:
    """Goals of all breached and endangered objectives that rest on requests, in the order given."""
    broken = [result for result in judged if result.verdict in ("breached", "endangered")]
    return tuple(goal_of(result, start_ns, end_s) for result in broken)


def goal_of(result: ObjectiveResult, start_ns: int, end_s: float) -> Goal:
    """The goal of one objective, kept or not."""
    metric, threshold = leading_limit(result)
    return Goal(
        id=result.id,
        metric=metric,
        kind=KINDS.get(metric, "latency"),
        where=tuple(sorted((name, tuple(values)) for name, values in result.where.items())),
        statistic=result.statistic,
        target=result.target,
        threshold=threshold if isinstance(threshold, (int, float)) else None,
        per=result.per,
        parts=PARTS.get(metric, (metric,) if metric in STAGES else STAGES),
        windows=_windows(result, start_ns, end_s),
        judged=result,
    )


def leading_limit(result: ObjectiveResult) -> tuple[str, float | str | None]:
    """Metric and limit of an objective; of a joint one, those of the clause which most requests break."""
    if not result.clauses:
        return result.metric, result.threshold
    leading = max(result.clauses, key=lambda clause: (clause.applicable - clause.kept, clause.metric))
    return leading.metric, leading.threshold


def _windows(result: ObjectiveResult, start_ns: int, end_s: float) -> tuple[tuple[float, float], ...]:
    """Breached windows; the whole selection where the objective has none, or is only endangered."""
    found = set()
    for window in result.windows:
        if window.verdict == "breached" and window.start is not None and window.end is not None:
            start, end = (_ns(text) for text in (window.start, window.end))
            found.add(((start - start_ns) / NS_PER_S, min((end - start_ns) / NS_PER_S, end_s)))
    return tuple(sorted(found)) or ((0.0, end_s),)


def _ns(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) * NS_PER_S


def members(rows: Rows, goal: Goal) -> pl.Expr:
    """Requests in the objective's `where`."""
    if goal.member in rows.frame.columns:
        return pl.col(goal.member)
    chosen = pl.lit(value=True)
    for name, values in goal.where:
        if name in rows.frame.columns:
            chosen &= pl.col(name).is_in(list(values))
    return chosen


def population(
    rows: Rows, goal: Goal, frame: pl.DataFrame | None = None, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Requests that the objective judges, with `value` and `bad`; failures only where it counts them.

    Args:
        frame: a part of the rows; all of them if not given.
        columns: what is needed beside value and bad; all if not given.
    """
    chosen = (rows.frame if frame is None else frame).lazy().filter(members(rows, goal))
    chosen = chosen.with_columns(value=goal.value(rows), bad=goal.bad(rows))
    if goal.flag in rows.frame.columns:
        chosen = chosen.filter(pl.col("bad").is_not_null())
    elif goal.kind in ("failure", "cancel", "degraded", "cold"):
        chosen = chosen.filter(pl.col("status_class") != "rejected")
    else:
        chosen = chosen.filter(pl.col("ok") & pl.col("value").is_not_null())
    return (chosen if columns is None else chosen.select("value", "bad", *columns)).collect()
