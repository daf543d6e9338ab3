"""Figures that need replica hours: cost of capacity per token, busy share.

Input: replica hours, as the store gives them or with the cost that the fleet file gives (never sampled), and the output tokens of the requests beside them (sampled input divided by its
rate). Output: Figure. Source: metric definitions, section 6.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.device_limits import mfu
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import Figure
from analysis.dimensions import Where
from analysis.fleet import Fleet
from analysis.metrics.metric import Metric

HOUR_NS = 3_600_000_000_000
PICO = 1e12
_DIMENSIONS = ("model", "region", "replica", "deployment_version")


def replica_hours_of(
    replica_hours: pl.DataFrame, where: Where, start_ns: int | None, end_ns: int | None
) -> pl.DataFrame:
    """Replica hours that overlap a range and match the filters on model, region, replica and version."""
    rows = replica_hours
    for name, values in where:
        if name in _DIMENSIONS:
            rows = rows.filter(pl.col(name).is_in(list(values)))
    if start_ns is not None:
        rows = rows.filter(pl.col("hour_ns") + HOUR_NS > start_ns)
    if end_ns is not None:
        rows = rows.filter(pl.col("hour_ns") < end_ns)
    return rows


def fleet_figure(metric: Metric, requests: pl.DataFrame, hours: pl.DataFrame, fleet: Fleet | None = None) -> Figure:
    """Value of a fleet metric over requests and the replica hours beside them; n counts requests with tokens.

    `mfu` needs the fleet file and is unknown without it.
    """
    if metric.id == "mfu":
        return Figure(requests.height, mfu(requests, hours, fleet), None)
    if metric.id == "gpu_utilization":
        busy, up = hours.select(
            exact_sum(pl.col("busy_s").filter(pl.col("up_s").is_not_null())).alias("busy"),
            exact_sum(pl.col("up_s").filter(pl.col("busy_s").is_not_null())).alias("up"),
        ).row(0)
        return Figure(requests.height, busy / up if up else None, None)
    cost = hours["cost_pico" if "cost_pico" in hours.columns else "cost_usd"].drop_nulls()
    known = requests.filter(pl.col("output_tokens").is_not_null())
    tokens = known.select(exact_sum(pl.col("output_tokens") * pl.col("weight"))).item()
    if cost.is_empty() or not tokens:
        return Figure(0, None, None)
    spent = int(cost.cast(pl.Int128).sum()) / PICO
    return Figure(known.height, spent / tokens * 1e6, None)
