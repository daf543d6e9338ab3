"""Two weeks, or two files, against each other: each change with its interval, and whether it is more than noise.

Input: two measured frames with their ranges, and the objectives. Output: one Comparison; `change` is this side minus
the baseline. Intervals come from a block bootstrap of both sides; a change is `better` or `worse` only if it is found
with false discoveries controlled at 10 % over all changes, else `unchanged`: within noise. Attainments are split into
mix and within; percentiles are also told at the baseline's mix of work.
Source: metric definitions, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import polars as pl

from analysis.aggregates.blocks import SEED, block_column, drawn_quantiles, drawn_sums, interval_of
from analysis.aggregates.columns import narrow
from analysis.aggregates.distribution import PERCENTILES
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.mix import Counts, split_change
from analysis.aggregates.significance import benjamini_hochberg, normal_tails
from analysis.aggregates.slices import STRATUM, at_mix_of, slice_changes, stratum
from analysis.aggregates.statistics import Interval, Z
from analysis.aggregates.verdicts import BAD, GOOD, verdict_expr
from analysis.aggregates.weighted import Sorted, mixed
from analysis.aggregates.windows import Span
from analysis.dimensions import matches
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Metric
from analysis.objectives import Objective, Objectives
from analysis.result import Change, Comparison

PERCENTILES_OF = ("ttft", "tpot", "e2e")
SHARES = ("availability", "error_rate", "timeout_rate", "cancel_rate", "degraded_rate", "cold_start_rate")
RATIOS = ("cache_hit_ratio", "cost_per_1k_tokens", "cost_per_million_output_tokens")
VOLUMES = ("requests_per_second", "tokens_per_second", "goodput", "goodput_tokens_per_second")
_BESIDE = ("status_class", "started_ns", "request_key", "weight", "votes", "ttft", "tpot", "e2e", "cost")
MICRO = 1e6  # sums of blocks are integers of a millionth, so that their order does not matter
FEWEST = 30  # requests of a side; the draws of fewer differ too little to show their noise
OTHER_SEED = SEED + 2**40  # the two sides are drawn independently


@dataclass(frozen=True)
class Side:
    """One side: its rows with `block` and `stratum`, its range, the last instant seen."""

    rows: pl.DataFrame
    span: Span
    until: int | None
    seed: int


@dataclass(frozen=True)
class _Drawn:
    """A value with its draws; `floor` is a standard deviation below which its noise cannot be."""

    value: float | None
    draws: list[float]
    n: int
    floor: float = 0.0


def compare(
    current: tuple[pl.DataFrame, Span, int | None],
    baseline: tuple[pl.DataFrame, Span, int | None],
    objectives: Objectives,
    title: str,
) -> Comparison:
    """All changes from the baseline to the current side.

    Args:
        current, baseline: measured frame with `is_good` and `good_verdict`, range, last instant.
        objectives: whose attainment is compared.
        title: of the baseline.
    """
    sides = (_side(current, objectives, SEED), _side(baseline, objectives, OTHER_SEED))
    changes = [change for name in PERCENTILES_OF for change in _percentiles(BY_ID[name], sides)]
    for name in (*SHARES, *RATIOS):
        changes.append(_figure_change(BY_ID[name], "ratio", [_quotient(BY_ID[name], side) for side in sides]))
    changes.append(_figure_change(BY_ID["cost"], "mean", [_mean(BY_ID["cost"], side) for side in sides]))
    for name in VOLUMES:
        changes.append(_figure_change(BY_ID[name], "rate", [_volume(BY_ID[name], side) for side in sides]))
    changes += [_attainment(item, objectives, sides) for item in objectives.items if item.target is not None]
    present = [change for change in changes if change.value is not None or change.baseline is not None]
    strata = [set(side.rows.get_column(STRATUM).unique()) for side in sides]
    return Comparison(
        title=title,
        changes=_with_verdicts(present),
        new_strata=sorted(strata[0] - strata[1]),
        vanished_strata=sorted(strata[1] - strata[0]),
        note=_note(sides),
        slices=slice_changes(sides[0].rows, sides[1].rows),
    )


def _side(given: tuple[pl.DataFrame, Span, int | None], objectives: Objectives, seed: int) -> Side:
    frame, span, until = given
    figures = [BY_ID[name] for name in (*SHARES, *RATIOS, *VOLUMES)]
    parts = [part for metric in figures for part in (metric.numerator, metric.denominator) if part is not None]
    verdicts = [
        expr
        for item in objectives.items
        for expr in (matches(item.where), verdict_expr(item, objectives.settings, until))
    ]
    told = narrow(frame, *_BESIDE, stratum(), *parts, *verdicts)
    return Side(told.with_columns(block_column(frame).alias("block"), stratum()), span, until, seed)


def _percentiles(metric: Metric, sides: tuple[Side, Side]) -> list[Change]:
    known = [side.rows.filter(OK & pl.col(metric.column).is_not_null()) for side in sides]
    ordered = [Sorted.of(rows.select(metric.column, "votes"), metric.column) for rows in known]
    changes: list[Change] = []
    for name, p in PERCENTILES.items():
        drawn: list[_Drawn] = []
        for rows, values, side in zip(known, ordered, sides, strict=True):
            at = values.at(p)
            if at is None:
                drawn.append(_Drawn(None, [], 0))
                continue
            votes = pl.col("votes")
            sums = _sums(rows, {"below": (pl.col(metric.column) <= at) * votes, "count": votes}, side.seed)
            drawn.append(_Drawn(at, drawn_quantiles(values, p, sums["below"], sums["count"]), values.n))
        changes.append(_figure_change(metric, name, drawn))
        if all(one.value is not None for one in drawn):
            value = at_mix_of(known[0], known[1], metric, p)
            changes.append(
                replace(changes[-1], statistic=f"{name}_same_mix", value=value, interval=None, p_value=None, verdict="unknown",
                        change=None if value is None else value - (drawn[1].value or 0.0))
            )  # fmt: skip
    return changes


def _quotient(metric: Metric, side: Side) -> _Drawn:
    if metric.numerator is None or metric.denominator is None:
        raise ValueError(f"{metric.id} is no ratio")
    known = side.rows.with_columns(metric.numerator.alias("_num"), metric.denominator.alias("_den")).filter(
        pl.col("_num").is_not_null() & pl.col("_den").is_not_null()
    )
    return _ratio_of(known, _micro("_num"), _micro("_den"), side.seed, metric.scale)


def _mean(metric: Metric, side: Side) -> _Drawn:
    known = side.rows.filter(OK & pl.col(metric.column).is_not_null())
    return _ratio_of(
        known, (pl.col(metric.column) * 1e12).round(0).cast(pl.Int64), pl.lit(10**6, pl.Int64), side.seed, 1e-6
    )


def _ratio_of(rows: pl.DataFrame, numerator: pl.Expr, denominator: pl.Expr, seed: int, scale: float) -> _Drawn:
    votes = pl.col("votes").cast(pl.Int128()) if mixed(rows) else pl.col("votes")  # picos times votes pass 64 bits
    numerator, denominator = numerator * votes, denominator * votes
    total = rows.select(
        numerator.cast(pl.Int128).sum().alias("num"), denominator.cast(pl.Int128).sum().alias("den")
    ).row(0)
    sums = _sums(rows, {"num": numerator, "den": denominator}, seed)
    draws = [a / b * scale for a, b in zip(sums["num"].to_list(), sums["den"].to_list(), strict=True) if b]
    return _Drawn(int(total[0]) / int(total[1]) * scale if total[1] else None, draws, rows.height)


def _volume(metric: Metric, side: Side) -> _Drawn:
    seconds = side.span.seconds
    if metric.numerator is None or not seconds:
        return _Drawn(None, [], 0)
    known = side.rows.with_columns(metric.numerator.alias("_num")).filter(pl.col("_num").is_not_null())
    sums = _sums(known, {"num": _micro("_num")}, side.seed)
    total = int(known.select(_micro("_num").sum()).item() or 0)
    draws = [num / MICRO / seconds for num in sums["num"].to_list()]
    squares = known.select(exact_sum(pl.col("_num") ** 2)).item()  # of a Poisson stream: arrivals are no fixed number
    return _Drawn(total / MICRO / seconds, draws, known.height, math.sqrt(squares) / seconds)


def _attainment(item: Objective, objectives: Objectives, sides: tuple[Side, Side]) -> Change:
    drawn: list[_Drawn] = []
    counts: list[Counts] = []
    for side in sides:
        verdict = verdict_expr(item, objectives.settings, side.until)
        judged = (
            side.rows.filter(matches(item.where))
            .with_columns(verdict.alias("_verdict"))
            .filter(pl.col("_verdict").is_in([GOOD, BAD]))
            .with_columns((pl.col("_verdict") == GOOD).cast(pl.Int64).alias("_good"))
        )
        drawn.append(_ratio_of(judged, pl.col("_good"), pl.lit(1, pl.Int64), side.seed, 1.0))
        votes = pl.col("votes")
        table = judged.group_by(STRATUM).agg((pl.col("_good") * votes).sum(), votes.sum().alias("n"))
        counts.append({name: (good, n) for name, good, n in table.iter_rows()})
    change = _change(item.id, "attainment", "ratio", drawn)
    split = split_change(counts[1], counts[0])
    if split is None:
        return change
    return replace(change, mix=split.mix, within=split.within, unmatched=split.unmatched)


def _sums(rows: pl.DataFrame, parts: dict[str, pl.Expr], seed: int) -> dict[str, pl.Series]:
    """Sums per draw of integer expressions."""
    blocks = (
        rows.with_columns(expr.alias(f"_{name}_part") for name, expr in parts.items())
        .group_by("block")
        .agg(pl.col(f"_{name}_part").sum().alias(name) for name in parts)
        .sort("block")
        .drop("block")
    )
    drawn = drawn_sums(blocks, seed=seed)
    return {name: drawn.get_column(name) for name in parts}


def _micro(column: str) -> pl.Expr:
    return (pl.col(column).cast(pl.Float64) * MICRO).round(0).cast(pl.Int64)


def _figure_change(metric: Metric, statistic: str, drawn: list[_Drawn]) -> Change:
    return _change(metric.id, statistic, str(metric.unit), drawn)


def _change(metric: str, statistic: str, unit: str, drawn: list[_Drawn]) -> Change:
    current, baseline = drawn
    change = current.value - baseline.value if current.value is not None and baseline.value is not None else None
    interval, p_value = (None, None) if change is None else _noise(change, current, baseline)
    return Change(
        metric=metric,
        statistic=statistic,
        unit=unit,
        value=current.value,
        baseline=baseline.value,
        change=change,
        interval=interval,
        verdict="unknown",
        mix=None,
        within=None,
        n=current.n,
        n_baseline=baseline.n,
        p_value=p_value,
    )


def _noise(change: float, current: _Drawn, baseline: _Drawn) -> tuple[Interval | None, float | None]:
    """Interval and two-sided p-value of a change: tails of the normal distribution with the spread of the draws."""
    if min(current.n, baseline.n) < FEWEST:
        return None, None
    draws = [a - b for a, b in zip(current.draws, baseline.draws, strict=False)]
    if not draws:
        return None, None
    mean = math.fsum(draws) / len(draws)
    spread = math.sqrt(math.fsum((draw - mean) ** 2 for draw in draws) / len(draws))
    floor = math.hypot(current.floor, baseline.floor)
    interval = interval_of(draws)
    if floor > spread:
        spread, interval = floor, (change - Z * floor, change + Z * floor)
    if change == 0:
        return interval, 1.0
    return interval, (normal_tails(change / spread) if spread > 0 else 0.0)


def _with_verdicts(changes: list[Change]) -> list[Change]:
    tested = [change for change in changes if change.p_value is not None]
    found = benjamini_hochberg([change.p_value for change in tested if change.p_value is not None])
    sure = {id(change) for change, yes in zip(tested, found, strict=True) if yes}
    return [
        change if change.p_value is None else replace(change, verdict=_verdict(change, found=id(change) in sure))
        for change in changes
    ]


def _verdict(change: Change, *, found: bool) -> str:
    """better or worse if the change is found and its interval does not hold 0, else unchanged: within noise."""
    interval = change.interval
    if not found or change.change is None or (interval is not None and interval[0] <= 0 <= interval[1]):
        return "unchanged"
    lower_is_better = change.metric in BY_ID and BY_ID[change.metric].better is Better.LOWER
    return "better" if (change.change < 0) == lower_is_better else "worse"


def _note(sides: tuple[Side, Side]) -> str | None:
    small = [side for side in sides if side.rows.get_column("block").n_unique() < 5]
    if small:
        return "A side has fewer than five blocks of requests; the intervals are too narrow."
    return None
