"""From normal to incident: the figure that broke, on both sides, and what each stage or error adds to the change.

Input: the population of a goal inside the incident and in the normal. Output: Shift of the result, whose steps sum to
the change to the last unit: whole billionths of the figure's unit, which are nanoseconds where it is a time.

    percentile (also a target: "95 % within L" is a P95)  the stages of the requests around its rank, scaled to it;
                 of a target a failed request is slower than all, and what that adds to the percentile is the step error
    mean         means of the stages, or of the parts of the price
    bad share    counts of what made requests bad; also where so many fail that the percentile has no value

A figure is that of all traffic: where sampling rates differ, each request counts by its votes, and `n` counts rows. The
normal is not weighed by its distance. What no part explains is the step rest.
Source: inverse empirical distribution as in aggregates/statistics; shares are rounded by the largest remainder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import polars as pl

from analysis.aggregates.statistics import exact, rank
from analysis.aggregates.weighted import Sorted
from analysis.causes.goal import Goal
from analysis.causes.rows import DRIVERS, Rows
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Unit
from analysis.result import Shift, ShiftStep
from ingest.schema import STAGES

NANO = 10**9
PICO_OF_NANO = 1000
LEAST = 10  # requests on a side; fewer are no figure
AROUND = Fraction(1, 40)  # of the ranks on either side of a percentile, at most half of those above it
MOST_ERRORS = 6  # kinds told by name
ERROR, OVER_LIMIT, REST = "error", "over_limit", "rest"
STEP_OF_KIND = {"cancel": "client", "degraded": "degraded", "cold": "cold_start"}
TOKEN_TIMES = ("tpot", "itl_max")  # times between tokens: decoding is all of them

Step = tuple[str, str | None]  # stage, and the kind of error where it is one


@dataclass(frozen=True)
class Figure:
    """What an objective is about, as one number: a percentile, a mean or a share of bad requests."""

    q: Fraction | None  # of a percentile
    is_share: bool
    counts_failures: bool  # a failed request is slower than all
    unit: str
    needed: int  # requests below which it is not told

    @property
    def name(self) -> str:
        """p95, mean or bad_share."""
        if self.is_share:
            return "bad_share"
        return "mean" if self.q is None else f"p{float(self.q * 100):g}"


@dataclass(frozen=True)
class Level:
    """The figure of one side in billionths, and its parts, which sum to it."""

    total: int
    parts: Mapping[Step, int]


def figure_of(goal: Goal) -> Figure | None:
    """The figure of a goal; None for sums over the selection, which have no normal to come from."""
    metric = BY_ID.get(goal.metric)
    if goal.kind == "capacity" or goal.per is not None or (goal.kind == "cost" and goal.metric != "cost"):
        return None
    target = None if goal.target is None else exact(goal.target)
    if goal.kind not in ("latency", "cost") or len(goal.judged.clauses) > 1 or goal.threshold is None:
        return _share(target)
    if metric is None or not metric.per_request or goal.statistic in ("sum", "rate"):
        return None
    unit = str(metric.unit)
    if goal.statistic is not None and goal.statistic.startswith("p"):
        q = Fraction(goal.statistic[1:]) / 100
        return Figure(q, is_share=False, counts_failures=False, unit=unit, needed=_needed(q))
    if target is not None and metric.better is Better.LOWER:
        return Figure(target, is_share=False, counts_failures=True, unit=unit, needed=_needed(target))
    if target is not None:
        return _share(target)
    return Figure(None, is_share=False, counts_failures=False, unit=unit, needed=LEAST)


def _share(target: Fraction | None) -> Figure:
    needed = LEAST if target is None else _needed(target)
    return Figure(None, is_share=True, counts_failures=False, unit=str(Unit.RATIO), needed=needed)


def _needed(q: Fraction) -> int:
    """Requests of which one may lie beyond the percentile."""
    return max(LEAST, -(-q.denominator // max(q.denominator - q.numerator, 1)))


def columns_of(goal: Goal, rows: Rows) -> tuple[str, ...]:
    """Columns of a population that a shift reads."""
    drivers = tuple(name for name in DRIVERS if name in rows.frame.columns) if goal.kind == "cost" else ()
    stages = tuple(f"t_{stage}" for stage in goal.parts) if goal.kind == "latency" else ()
    return ("at", "votes", "ok", "status_class", "error_type", "cost_pico", *drivers, *stages)


def shift_of(goal: Goal, inside: pl.DataFrame, normal: pl.DataFrame) -> Shift:
    """The shift of one goal; without steps, and with the reason in `says`, where a side has no such figure.

    Args:
        goal: whose figure it is.
        inside, normal: its populations, with the columns of `columns_of`.
    """
    figure = figure_of(goal)
    if figure is None:
        says = "This figure is a sum or a quotient over the whole selection: it has no normal and no stages."
        return Shift(goal.metric, "", None, None, None, normal.height, inside.height, [], says)
    if any(_is_beyond(frame, figure) for frame in (normal, inside)):
        figure = _share(figure.q)  # so many failed that the percentile lies among them
    before, now = (_level(frame, figure, goal) for frame in (normal, inside))
    found = Shift(
        figure=figure.name,
        unit=figure.unit,
        baseline_nano=None if before is None else before.total,
        value_nano=None if now is None else now.total,
        change_nano=None,
        n_baseline=normal.height,
        n=inside.height,
        steps=[],
        says="There is no normal to compare with." if normal.is_empty() else "Too few requests for this figure.",
    )
    if before is None or now is None:
        return found
    return replace(found, change_nano=now.total - before.total, steps=_steps(before, now), says=_says(figure))


def figure_in(shift: Shift, goal: Goal) -> Figure | None:
    """The figure that a shift tells, which is the bad share where a percentile has no value."""
    figure = figure_of(goal)
    return _share(figure.q) if figure is not None and shift.figure == "bad_share" else figure


def _says(figure: Figure) -> str:
    if figure.is_share:
        return "The share of bad requests, by what made them bad."
    if figure.q is None:
        return "The mean of requests with status ok, and the means of its parts."
    if figure.counts_failures:
        return "The percentile at the target, a failed request slower than all; its parts are those of the requests around it."
    return "The percentile of requests with status ok; its parts are those of the requests around it."


def _steps(before: Level, now: Level) -> list[ShiftStep]:
    """Steps in the order of time, errors after them, the rest last; beyond the largest kinds of errors all others as one."""
    keys = sorted({*before.parts, *now.parts}, key=_place)
    both = {key: (before.parts.get(key, 0), now.parts.get(key, 0)) for key in keys}
    kinds = sorted(
        (key for key in keys if key[1] is not None), key=lambda key: (-abs(both[key][1] - both[key][0]), key)
    )
    for key in kinds[MOST_ERRORS:]:
        left, right = both.pop(key)
        others = both.get((key[0], None), (0, 0))
        both[key[0], None] = (others[0] + left, others[1] + right)
    return [
        ShiftStep(step=step, of=of, baseline_nano=left, value_nano=right, change_nano=right - left)
        for (step, of), (left, right) in sorted(both.items(), key=lambda item: _place(item[0]))
        if left or right
    ]


def _place(key: Step) -> tuple[int, str, bool, str]:
    step, of = key
    order = STAGES.index(step) if step in STAGES else len(STAGES) + (step == REST)
    return order, step, of is None, of or ""


def failed() -> pl.Expr:
    """Requests that count as slower than all: bad, and without a figure of a request that went well."""
    return (pl.col("bad") & ~_has_value()).fill_null(value=False)


def _has_value() -> pl.Expr:
    return pl.col("ok") & pl.col("value").is_not_null()


def _failures(frame: pl.DataFrame, figure: Figure) -> int:
    """Votes of the requests that count as slower than all."""
    return int(frame.filter(failed())["votes"].sum()) if figure.counts_failures else 0


def _is_beyond(frame: pl.DataFrame, figure: Figure) -> bool:
    """Whether the percentile lies among failed requests, so that it has no value."""
    if figure.q is None or not figure.counts_failures or frame.height < figure.needed:
        return False
    n = int(frame.filter(_has_value())["votes"].sum())
    return rank(figure.q, n + _failures(frame, figure)) > n


def _level(frame: pl.DataFrame, figure: Figure, goal: Goal) -> Level | None:
    """The figure of one side with its parts; None with too few requests."""
    if frame.height < figure.needed:
        return None
    if figure.is_share:
        return _share_level(frame, goal)
    timed = frame.filter(_has_value()) if figure.counts_failures else frame  # a statistic has no others
    if timed.is_empty():
        return None
    if figure.q is None:
        sums = _sums(timed, goal)
        votes = int(timed["votes"].sum())
        scale = Fraction(1, votes * (PICO_OF_NANO if goal.kind == "cost" else 1))
        return _apportioned(round(sums["value"] * scale), sums, scale)
    ordered = Sorted.of(timed, "value")
    n = ordered.total
    reach = min(AROUND, (1 - figure.q) / 2)
    around = (max(figure.q - reach, Fraction(0)), figure.q + reach)
    low, high = (ordered.item(rank(q, n)) for q in around)
    at = round(ordered.item(rank(figure.q, n)) * NANO)
    total = round(ordered.item(rank(figure.q, n + _failures(frame, figure))) * NANO)
    sums = _sums(timed.filter(pl.col("value").is_between(low, high)), goal)
    found = _apportioned(at, sums, Fraction(at, sums["value"]) if sums["value"] else Fraction(0))
    return Level(total, {**found.parts, (ERROR, None): total - at})


def _parts(frame: pl.DataFrame, goal: Goal) -> dict[str, pl.Expr]:
    """What the figure of a request is made of, by step, in its own unit: nanoseconds, or pico-USD."""
    if goal.kind == "cost":
        return {name.removesuffix("_pico"): pl.col(name).cast(pl.Int128) for name in DRIVERS if name in frame.columns}
    known = [stage for stage in goal.parts if frame[f"t_{stage}"].null_count() < frame.height]
    if goal.metric in TOKEN_TIMES:
        return {stage: _whole(pl.col("value")) for stage in known[:1]}
    metric = BY_ID.get(goal.metric)
    in_seconds = metric is not None and metric.unit is Unit.SECOND
    return {stage: _whole(pl.col(f"t_{stage}")) for stage in known} if in_seconds else {}


def _whole(expr: pl.Expr) -> pl.Expr:
    """Billionths: whole, so that sums do not depend on the order of rows."""
    return (expr * NANO).round(0).cast(pl.Int128)


def _sums(frame: pl.DataFrame, goal: Goal) -> dict[str, int]:
    """Exact sums of the value and of its parts over some requests, each by its votes."""
    votes = pl.col("votes")
    value = pl.col("cost_pico").cast(pl.Int128) if goal.kind == "cost" else _whole(pl.col("value"))
    parts = {name: (expr * votes).sum().alias(name) for name, expr in _parts(frame, goal).items()}
    found = frame.select((value * votes).sum().alias("value"), *parts.values()).row(0, named=True)
    return {name: int(amount or 0) for name, amount in found.items()}


def _apportioned(total: int, sums: Mapping[str, int], scale: Fraction) -> Level:
    """Parts of a total, each to its nearest whole number such that they add up; what is left of it is the rest."""
    parts = {name: value * scale for name, value in sums.items() if name != "value"}
    parts[REST] = sums["value"] * scale - sum(parts.values(), Fraction(0))
    return Level(total, {(name, None): value for name, value in _rounded(total, parts).items()})


def _rounded(total: int, parts: Mapping[str, Fraction]) -> dict[str, int]:
    """Whole numbers that sum to the total: those with the largest remainders are rounded up, the first of equals."""
    whole = {name: math.floor(value) for name, value in parts.items()}
    missing = total - sum(whole.values())
    for name in sorted(parts, key=lambda name: (whole[name] - parts[name], name))[:missing]:
        whole[name] += 1
    return whole


def _share_level(frame: pl.DataFrame, goal: Goal) -> Level:
    """Bad requests over all, by what made them bad."""
    step = STEP_OF_KIND.get(goal.kind)
    kind = pl.coalesce(pl.col("error_type").cast(pl.String), pl.col("status_class").cast(pl.String))
    if step is None:
        over = pl.col("ok") if goal.kind in ("latency", "cost") else pl.lit(value=False)
        named = pl.when(over).then(pl.lit(OVER_LIMIT)).otherwise(pl.lit(ERROR))
        keys = (named.alias("step"), pl.when(over).then(None).otherwise(kind).alias("of"))
    else:
        keys = (pl.lit(step).alias("step"), pl.lit(None, dtype=pl.String).alias("of"))
    counts = frame.lazy().filter(pl.col("bad")).group_by(*keys).agg(pl.col("votes").sum()).collect()
    whole = int(frame["votes"].sum())
    shares = {(str(step), of): Fraction(n * NANO, whole) for step, of, n in counts.iter_rows()}
    total = round(sum(shares.values(), Fraction(0)))
    names = {f"{step}\0{of or ''}": (step, of) for step, of in shares}
    rounded = _rounded(total, {name: shares[key] for name, key in names.items()})
    return Level(total, {names[name]: value for name, value in rounded.items()})
