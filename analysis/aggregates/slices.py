"""The same work on both sides of a comparison: strata of model, scenario and lengths.

Output: slices whose distribution changed, by rank test with false discoveries controlled at 10 %; and percentiles at
the other side's mix. Without this a week with more long prompts reads as a regression.
Source: metric definitions, section 10.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import polars as pl

from analysis.aggregates.distribution import PERCENTILES
from analysis.aggregates.figures import OK
from analysis.aggregates.significance import benjamini_hochberg, mann_whitney, voted_mann_whitney
from analysis.aggregates.weighted import Sorted, mixed
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Metric
from analysis.result import SliceChange

STRATUM = "stratum"
_PARTS = ("model", "scenario", "input_bucket", "output_bucket")
MIN_REQUESTS = 30  # of a slice on each side: fewer say nothing about its distribution
MAX_SLICES = 50
SLICED = ("ttft", "tpot", "e2e")


def stratum() -> pl.Expr:
    """Name of the kind of work: model, scenario, input and output length."""
    return pl.concat_str([pl.col(name).fill_null("unknown") for name in _PARTS], separator=" / ").alias(STRATUM)


def slice_changes(current: pl.DataFrame, baseline: pl.DataFrame) -> list[SliceChange]:
    """Slices that both sides have with enough requests, the surest changes first."""
    found: list[SliceChange] = []
    for name in SLICED:
        metric = BY_ID[name]
        sides = [_values(rows, metric) for rows in (current, baseline)]
        for key in sorted(set(sides[0]) & set(sides[1])):
            found.append(_slice(metric, key, sides[0][key], sides[1][key]))
    tested = [one for one in found if one.p_value is not None]
    flags = benjamini_hochberg([one.p_value for one in tested if one.p_value is not None])
    sure = {(one.metric, one.stratum) for one, yes in zip(tested, flags, strict=True) if yes}
    marked = [replace(one, changed=(one.metric, one.stratum) in sure) for one in found]
    marked.sort(key=lambda one: (1.0 if one.p_value is None else one.p_value, one.metric, one.stratum))
    return marked[:MAX_SLICES]


def at_mix_of(rows: pl.DataFrame, other: pl.DataFrame, metric: Metric, p: Fraction) -> float | None:
    """The p-quantile of rows, each weighted so that strata have the shares of votes they have in the other frame.

    Strata that only one side has are left out on both; None if none is common.
    """
    mine, theirs = (
        side.group_by(STRATUM).agg(pl.col("votes").sum().alias(name))
        for side, name in ((rows, "n_mine"), (other, "n_theirs"))
    )
    both = mine.join(theirs, on=STRATUM)
    if both.is_empty():
        return None
    weighted = rows.join(both, on=STRATUM).select(
        pl.col(metric.column).alias("value"),
        (pl.col("votes") * pl.col("n_theirs") / pl.col("n_mine")).alias("weight"),
    )
    ordered = weighted.group_by("value").agg(pl.col("weight").sum()).sort("value")
    total = ordered.get_column("weight").sum()
    reached = ordered.with_columns((pl.col("weight").cum_sum() / total).alias("share"))
    within = reached.filter(pl.col("share") >= float(p) - 1e-12)  # weights are floats; a rank is not missed by one ulp
    return float(within.get_column("value").item(0)) if within.height else float(ordered.get_column("value").item(-1))


def _values(rows: pl.DataFrame, metric: Metric) -> dict[str, pl.DataFrame]:
    """Known values with their votes of every slice that has enough."""
    known = rows.filter(OK & pl.col(metric.column).is_not_null())
    told = known.select(STRATUM, pl.col(metric.column).alias("value"), "votes").sort(STRATUM, "value")
    parts = told.partition_by(STRATUM, include_key=False, as_dict=True)
    return {str(key[0]): part for key, part in parts.items() if part.height >= MIN_REQUESTS}


def _slice(metric: Metric, key: str, current: pl.DataFrame, baseline: pl.DataFrame) -> SliceChange:
    sides = [Sorted.of(side, "value") for side in (current, baseline)]
    (p50, p95), (p50_baseline, p95_baseline) = ([side.at(PERCENTILES[p]) for p in ("p50", "p95")] for side in sides)
    alike = not mixed(current) and not mixed(baseline)
    values = (current.get_column("value"), baseline.get_column("value"))
    return SliceChange(
        metric=metric.id,
        unit=str(metric.unit),
        stratum=key,
        n=current.height,
        n_baseline=baseline.height,
        p50=p50,
        p50_baseline=p50_baseline,
        p95=p95,
        p95_baseline=p95_baseline,
        p_value=mann_whitney(*values) if alike else voted_mann_whitney(current, baseline),
        changed=False,
    )
