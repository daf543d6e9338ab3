"""Goodput: requests and output tokens per second that keep every objective which applies, and where the rest is lost.

Input: a measured frame with `good_verdict` (aggregates/attainment.with_good), the objectives, the span.
Output: one Goodput record. The denominator of rates is the wall clock of the span; the ratio is good / (good + bad).
Volumes of sampled input are divided by its rate, and so are the estimates beside the counts of the waterfall; counts are
of the rows; the ratio weighs rows by their votes.
Costs are those of the requests that the objectives are about, as the good ones are: no scenario pays for another.
Source: metric definitions, section 5. Output tokens only: cached input would make the figure rise for nothing.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.capacity import OF_A_REPLICA
from analysis.aggregates.columns import narrow
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.fluidity import COLUMNS, fluidity
from analysis.aggregates.statistics import wilson
from analysis.aggregates.verdicts import BAD, EXCLUDED, GOOD, UNKNOWN, clause_flags, good_column
from analysis.aggregates.weighted import effective
from analysis.aggregates.windows import Span
from analysis.dimensions import matches
from analysis.fleet import Fleet
from analysis.metrics.metric import Metric
from analysis.money import divide, usd_text
from analysis.objectives import Objective
from analysis.result import Goodput, TimePoint, Waterfall, WaterfallStep
from ingest.schema import NS_PER_S
from ingest.selection import to_iso

PICO = 1e12
MAX_POINTS = 400  # of the series; its step is the first below that gives no more
STEPS_S = (60, 300, 600, 900, 1800, 3600, 4 * 3600, 12 * 3600, 86_400, 7 * 86_400)


def goodput(
    frame: pl.DataFrame,
    defining: tuple[Objective, ...],
    span: Span,
    hours: pl.DataFrame | None = None,
    fleet: Fleet | None = None,
) -> Goodput:
    """Goodput by the objectives that define good; by success alone where there is none.

    Args:
        frame: with `good_verdict`.
        defining: aggregates/attainment.good_objectives.
        span: whose wall clock is the denominator.
        hours: replica hours of the selection, for goodput per hour of a replica.
        fleet: devices of a replica of each model, for goodput per hour of a device.
    """
    frame = _told(frame, defining)
    verdict = pl.col("good_verdict")
    counts = frame.select(*((verdict == name).sum().cast(pl.Int64).alias(name) for name in (GOOD, BAD, UNKNOWN))).row(
        0, named=True
    )
    good, bad, unknown = counts[GOOD], counts[BAD], counts[UNKNOWN]
    votes = pl.col("votes")
    kept, judged, squares = (
        frame.filter(verdict.is_in([GOOD, BAD]))
        .select(
            votes.filter(verdict == GOOD).sum().alias("kept"),
            votes.sum().alias("judged"),
            (votes.cast(pl.Int128) ** 2).sum().alias("squares"),
        )
        .row(0)
    )
    good_requests, good_tokens, tokens_known = (
        frame.filter(verdict == GOOD)
        .select(
            exact_sum(pl.col("weight")).alias("requests"),
            exact_sum(pl.col("output_tokens") * pl.col("weight")).alias("tokens"),
            pl.col("output_tokens").count().alias("known"),
        )
        .row(0)
    )
    own = _about(frame, defining)
    cost, priced = own.select(
        exact_sum(pl.col("cost_pico").cast(pl.Float64) / PICO * pl.col("weight")).alias("cost"),
        pl.col("cost_pico").count().alias("priced"),
    ).row(0)
    seconds = span.seconds
    per_replica, per_device = _per_hour(own, hours, defining, fleet)
    return Goodput(
        objective=", ".join(item.id for item in defining) or None,
        requests_per_second=good_requests / seconds if seconds else None,
        output_tokens_per_second=good_tokens / seconds if seconds and tokens_known else None,
        ratio=kept / judged if judged else None,
        interval=wilson(*effective(int(kept), int(judged), int(squares))),
        good=good,
        valid=good + bad + unknown,
        unknown=unknown,
        cost_per_good_request_usd=_cost_per_good(own) if priced else None,
        good_output_tokens=round(good_tokens) if tokens_known else None,
        output_tokens_per_usd=good_tokens / cost if priced and cost and tokens_known else None,
        waterfall=waterfall(own, defining),
        waterfalls=_one_each(frame, defining),
        series=series(own, span),
        good_requests_per_replica_hour=per_replica,
        good_requests_per_device_hour=per_device,
        fluidity=fluidity(frame, defining),
        note=None if defining else "No objective judges single requests: good means that a request did not fail.",
    )


def _per_hour(
    own: pl.DataFrame, hours: pl.DataFrame | None, defining: tuple[Objective, ...], fleet: Fleet | None
) -> tuple[float | None, float | None]:
    """Good requests of the models that have replica hours, per hour that those replicas were up, idle or not, and per
    hour of their devices; the latter is unknown unless the fleet tells the devices of all of them.

    What others answer needs no replica of ours, and replicas of models or regions that the objectives are not about
    answer nothing of theirs. A replica that serves further requests of its model counts whole.
    """
    if hours is None:
        return None, None
    alike = [tuple((name, values) for name, values in item.where if name in OF_A_REPLICA) for item in defining]
    mine = hours.filter(pl.any_horizontal(matches(where) for where in alike)) if alike else hours
    models = own.get_column("model").unique().drop_nulls().to_list()
    mine = mine.filter(pl.col("model").is_in(models) | pl.col("model").is_null())
    of_models = mine.get_column("model")
    served = pl.lit(value=True) if of_models.null_count() else pl.col("model").is_in(of_models.unique().to_list())
    good = own.filter(pl.col("good_verdict") == GOOD, served).select(exact_sum(pl.col("weight"))).item()
    up = mine.select(exact_sum(pl.col("up_s"))).item() / 3600
    if not up:
        return None, None
    known = {name: found.devices_per_replica for name in models if fleet and (found := fleet.model(name))}
    devices = pl.col("model").replace_strict(known, default=None, return_dtype=pl.Float64)
    each = mine.filter(pl.col("up_s") > 0).select(up=pl.col("up_s"), devices=devices)
    if each["devices"].null_count():
        return good / up, None
    return good / up, good / (each.select(exact_sum(pl.col("up") * pl.col("devices"))).item() / 3600)


def _about(frame: pl.DataFrame, defining: tuple[Objective, ...]) -> pl.DataFrame:
    """The requests that an objective is about; all where there is none."""
    if not defining or any(not item.where for item in defining):
        return frame
    return frame.filter(pl.any_horizontal(matches(item.where) for item in defining))


def _one_each(frame: pl.DataFrame, defining: tuple[Objective, ...]) -> list[Waterfall]:
    """A waterfall per joint objective, each of its own requests and by its own verdict; none where one stands alone."""
    joint = [item for item in defining if item.joint]
    if len(joint) < 2:
        return []
    found: list[Waterfall] = []
    for item in joint:
        own = _about(frame, (item,)).with_columns(pl.col(good_column(item)).alias("good_verdict"))
        verdict = own.get_column("good_verdict")
        good, excluded = int((verdict == GOOD).sum()), int((verdict == EXCLUDED).sum())
        found.append(Waterfall(item.id, good, own.height - excluded, waterfall(own, (item,))))
    return found


def waterfall(frame: pl.DataFrame, defining: tuple[Objective, ...]) -> list[WaterfallStep]:
    """What is left after each step: offered, valid, ok, one per clause, good; over the requests given.

    A request is lost at the first clause it breaks; what is lost at `good` could not be said, or nothing judged it.
    A request given up after its limit had passed is valid and bad, so it is lost at `ok`.
    """
    judged = pl.col("good_verdict") != EXCLUDED
    rest = judged & OK
    masks: list[tuple[str, pl.Expr]] = [("offered", pl.lit(value=True)), ("valid", judged), ("ok", rest)]
    for metric in _metrics(defining):
        rest = rest & ~_breaks(metric, defining)
        masks.append((metric.id, rest))
    masks.append(("good", pl.col("good_verdict") == GOOD))
    sums = [mask.cast(pl.Int64).sum().alias(name) for name, mask in masks]
    weights = frame.get_column("weight")
    each = None if frame.is_empty() or weights.min() != weights.max() else float(weights.item(0))
    if each is None:
        sums += [exact_sum(pl.col("weight").filter(mask)).alias(f"{name}_estimated") for name, mask in masks]
    found = frame.lazy().select(sums).collect().row(0, named=True)  # lazy: what the masks share is worked out once
    found |= {"offered": frame.height, "offered_estimated": frame.select(exact_sum(pl.col("weight"))).item()}
    steps: list[WaterfallStep] = []
    before, stood_for = found["offered"], found["offered_estimated"]
    for name, _ in masks:
        left = int(found[name])
        estimated = found[f"{name}_estimated"] if each is None else left * each
        steps.append(WaterfallStep(name, left, before - left, estimated, stood_for - estimated))
        before, stood_for = left, estimated
    return steps


def series(frame: pl.DataFrame, span: Span) -> list[TimePoint]:
    """Offered and good requests per second over time; steps without requests are left out."""
    timed = frame.filter(pl.col("started_ns").is_not_null())
    seconds = span.seconds
    if timed.is_empty() or not seconds:
        return []
    step = next((step for step in STEPS_S if seconds / step <= MAX_POINTS), STEPS_S[-1])
    table = (
        timed.group_by((pl.col("started_ns") // (step * NS_PER_S) * (step * NS_PER_S)).alias("at_ns"))
        .agg(
            exact_sum(pl.col("weight")).alias("offered"),
            exact_sum(pl.col("weight").filter(pl.col("good_verdict") == GOOD)).alias("good"),
            pl.len().cast(pl.Int64).alias("n"),
        )
        .sort("at_ns")
    )
    points: list[TimePoint] = []
    for at, offered, good, n in table.iter_rows():
        inside = span.overlap_s(at, at + step * NS_PER_S) or step
        points.append(TimePoint(to_iso(at), offered / inside, good / inside, n))
    return points


def _told(frame: pl.DataFrame, defining: tuple[Objective, ...]) -> pl.DataFrame:
    """The columns that goodput reads."""
    reads = [*(_breaks(metric, defining) for metric in _metrics(defining)), *(matches(item.where) for item in defining)]
    each = [good_column(item) for item in defining]
    beside = (
        "good_verdict",
        "status_class",
        "started_ns",
        "weight",
        "votes",
        "model",
        "output_tokens",
        "cost_pico",
        *COLUMNS,
    )
    return narrow(frame, *beside, *each, *reads)


def _cost_per_good(frame: pl.DataFrame) -> str | None:
    """Exact cost of all requests given over the good ones, each by its votes."""
    cost, good = frame.select(
        (pl.col("cost_pico").cast(pl.Int128) * pl.col("votes")).sum().alias("cost"),
        pl.col("votes").filter(pl.col("good_verdict") == GOOD).sum().alias("good"),
    ).row(0)
    pico = divide(int(cost), int(good))
    return None if pico is None else usd_text(pico)


def _metrics(defining: tuple[Objective, ...]) -> list[Metric]:
    """Metrics of all conditions, in order of first mention."""
    return list({c.metric.id: c.metric for item in defining for c in item.conditions}.values())


def _breaks(metric: Metric, defining: tuple[Objective, ...]) -> pl.Expr:
    return pl.any_horizontal(
        matches(item.where) & clause_flags(condition).broken
        for item in defining
        for condition in item.conditions
        if condition.metric is metric
    )
