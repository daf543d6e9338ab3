"""What one objective says of each request: good, bad, unknown or excluded.

Input: a measured frame (analysis/metrics/measure), one objective, settings. Output: one Enum column.
Source: metric definitions, sections 2 to 4: failures are bad, what policy excludes is counted apart, a clause that
cannot apply (TPOT of one token, TTFT of an unstreamed answer measured at the client) is left out of the judgement,
and a figure that is missing although it applies makes the request unknown unless another clause is broken.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.dimensions import matches
from analysis.division import divided
from analysis.metrics.latency import CALLS
from analysis.metrics.metric import Better, Kind
from analysis.metrics.outcome import FAILED
from analysis.objectives import Condition, Objective
from analysis.settings import Policy, Settings
from ingest.schema import NS_PER_S

GOOD, BAD, UNKNOWN, EXCLUDED = "good", "bad", "unknown", "excluded"
_STREAM_METRICS = ("ttft", "ttfa", "tpot", "itl_max")  # an unstreamed answer seen from the client has none of them
_VERDICT = pl.Enum([GOOD, BAD, UNKNOWN, EXCLUDED])  # codes: text on millions of rows is compared letter by letter
_FALSE = pl.lit(value=False)


def _said(verdict: str) -> pl.Expr:
    return pl.lit(verdict, _VERDICT)


def good_column(item: Objective) -> str:
    """Column of a frame with `good_verdict` that tells the verdict of one of several joint objectives."""
    return f"good_verdict of {item.id}"


def judges_requests(item: Objective) -> bool:
    """Whether it says of single requests that they are good or bad; sums, volumes and most ratios do not."""
    if item.target is not None:
        return True
    metric = item.conditions[0].metric
    if metric.per_request:
        return item.statistic not in ("sum", "rate")
    return metric.id == "availability" or (metric.kind is Kind.RATIO and metric.id.endswith("_rate"))


@dataclass(frozen=True)
class ClauseFlags:
    """Three columns of one condition: whether it applies, is kept, is broken; neither of the last two is unknown."""

    applies: pl.Expr
    kept: pl.Expr
    broken: pl.Expr


def verdict_column(
    frame: pl.DataFrame, objective: Objective, settings: Settings | None = None, *, observed_until_ns: int | None = None
) -> pl.Series:
    """good, bad, unknown or excluded for every request in the objective's `where`; null for the others.

    A percentile or a mean judges the requests with status ok by its threshold and excludes the others; shares such as
    error_rate call the requests they count bad. Objectives on other sums and ratios judge no single request
    (`judges_requests`): here all are excluded, or unknown where the figure is missing.

    Args:
        frame: measured requests.
        objective: any form.
        settings: for the status policy.
        observed_until_ns: up to when open requests are known to have run; the last instant of the frame if not given.
    """
    until = last_instant(frame) if observed_until_ns is None else observed_until_ns
    expr = verdict_expr(objective, settings or Settings(), until)
    return (
        frame.with_columns(pl.when(matches(objective.where)).then(expr).alias("_verdict"))
        .get_column("_verdict")
        .alias("verdict")
    )


def last_instant(frame: pl.DataFrame) -> int | None:
    """Latest start or end in the frame, in nanoseconds; None without clocks."""
    value = frame.select(pl.max_horizontal(pl.col("started_ns").max(), pl.col("ended_ns").max())).item()
    return None if value is None else int(value)


def verdict_expr(objective: Objective, settings: Settings, observed_until_ns: int | None) -> pl.Expr:
    """The verdict of every row, whether or not it is in the objective's `where`."""
    if objective.target is not None:
        return _judged_by_target(objective.conditions, settings.policy, observed_until_ns)
    metric = objective.conditions[0].metric
    if metric.per_request and objective.statistic not in ("sum", "rate"):
        flags = clause_flags(objective.conditions[0])
        judged = (
            pl.when(flags.kept)
            .then(_said(GOOD))
            .when(flags.broken)
            .then(_said(BAD))
            .when(flags.applies)
            .then(_said(UNKNOWN))
            .otherwise(_said(EXCLUDED))
        )
        return pl.when(pl.col("status_class") == "ok").then(judged).otherwise(_said(EXCLUDED))
    if metric.per_request:
        return pl.when(pl.col(metric.column).is_null()).then(_said(UNKNOWN)).otherwise(_said(EXCLUDED))
    if metric.id == "availability":
        return _judged_by_target((), settings.policy, observed_until_ns)
    if metric.kind is Kind.RATIO and metric.numerator is not None:
        is_share = metric.id.endswith("_rate")
        counted = pl.when(metric.numerator == 1).then(_said(BAD)).otherwise(_said(GOOD))
        known = counted if is_share else _said(EXCLUDED)
        return pl.when(metric.numerator.is_null()).then(_said(UNKNOWN)).otherwise(known)
    return _said(EXCLUDED)


def clause_flags(condition: Condition) -> ClauseFlags:
    """Whether a condition applies to a request, is kept, is broken; over rows of any status."""
    metric = condition.metric
    value, limit = pl.col(metric.column), condition.threshold.limit()
    within = value <= limit if metric.better is Better.LOWER else value >= limit
    applies = condition.threshold.has_limit().fill_null(value=True)
    missing = value.is_null()
    if metric.id in _STREAM_METRICS:
        applies = applies & ~(missing & (~pl.col("streaming")).fill_null(value=False))
    if metric.id == "tpot":
        one_token = (pl.col("output_tokens") <= CALLS).fill_null(value=False)
        applies = applies & ~(missing & one_token)
    return ClauseFlags(applies, applies & within.fill_null(value=False), applies & (~within).fill_null(value=False))


def _judged_by_target(conditions: tuple[Condition, ...], policy: Policy, observed_until_ns: int | None) -> pl.Expr:
    status = pl.col("status_class")
    failed = [name for name in FAILED if not _excluded_by_policy(name, policy)]
    expr: pl.Expr = (
        pl.when(status.is_in(failed))
        .then(_said(BAD))
        .when(status.is_in([name for name in FAILED if name not in failed]))
        .then(_said(EXCLUDED))
        .when(status == "rejected")
        .then(_said(BAD if policy.on_caller_fault == "bad" else EXCLUDED))
        .when(status == "cancelled")
        .then(_censored(policy.on_client_cancel, conditions, observed_until_ns))
        .when(status == "open")
        .then(_censored(policy.on_open, conditions, observed_until_ns))
        .when(_FALSE if policy.on_degraded == "judged" else pl.col("degraded").fill_null(value=False))
        .then(_said(BAD))
        .when(_FALSE if policy.on_response_cached == "judged" else pl.col("response_cached").fill_null(value=False))
        .then(_said(EXCLUDED))
        .otherwise(_judged_by_clauses(conditions))
    )
    return expr


def _excluded_by_policy(name: str, policy: Policy) -> bool:
    choice = {"shed": policy.on_shed, "truncated": policy.on_truncated}.get(name, "bad")
    return choice == "excluded"


def _judged_by_clauses(conditions: tuple[Condition, ...]) -> pl.Expr:
    if not conditions:
        return _said(GOOD)
    flags = [clause_flags(condition) for condition in conditions]
    return (
        pl.when(pl.any_horizontal(flag.broken for flag in flags))
        .then(_said(BAD))
        .when(pl.any_horizontal(flag.applies & ~flag.kept for flag in flags))
        .then(_said(UNKNOWN))
        .when(pl.any_horizontal(flag.kept for flag in flags))
        .then(_said(GOOD))
        .otherwise(_said(EXCLUDED))  # no clause applies: nothing was promised to it
    )


def _censored(choice: str, conditions: tuple[Condition, ...], observed_until_ns: int | None) -> pl.Expr:
    """Verdict of a request that did not run to its end: bad if a limit had already passed, else excluded."""
    if choice == "bad":
        return _said(BAD)
    if choice == "excluded" or not conditions:
        return _said(EXCLUDED)
    late = pl.any_horizontal(_late(condition, observed_until_ns) for condition in conditions)
    return pl.when(late).then(_said(BAD)).otherwise(_said(EXCLUDED))


def _late(condition: Condition, observed_until_ns: int | None) -> pl.Expr:
    flags = clause_flags(condition)
    metric = condition.metric
    if not metric.elapsed:
        return flags.broken
    running = pl.lit(observed_until_ns, pl.Int64()) - pl.col("started_ns")
    age = pl.when(pl.col("status_class") == "open").then(running).otherwise(pl.col("e2e_ns"))
    elapsed = divided(pl.coalesce(pl.col("e2e_ns"), age), NS_PER_S)
    waiting = pl.col(metric.column).is_null()
    if metric.id != "e2e":  # no first token yet, as far as one can tell
        waiting = waiting & (pl.col("output_tokens").fill_null(0) == 0)
    if metric.id == "perceived":
        waiting = waiting & pl.col("streaming").is_not_null()
    passed = flags.applies & waiting & (elapsed > condition.threshold.limit()).fill_null(value=False)
    return flags.broken | passed
