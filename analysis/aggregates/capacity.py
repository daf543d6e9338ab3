"""Replica hours as money: what capacity cost, and what of it stood idle.

Input: replica hours of the store (never sampled), the fleet file, the selection. Output: one row per replica and
hour, cut to the selection, with
    cost_pico   Int64  as loaded, else the fleet's rate x time up; null where neither is known
    idle_pico   Int64  cost x (up - busy) / up; null where the busy time is not known
so usage + idle = the bill, to the last pico-USD. Without loaded hours the fleet file alone may give them: replicas
with a `count`, or those that requests name, up for the whole selection and of unknown busy time.
"""

from __future__ import annotations

from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction

import polars as pl

from analysis.fleet import Fleet, ReplicaRate
from analysis.money import PICO
from ingest.selection import Selection

_HOUR_NS = 3_600_000_000_000
_US = 1_000_000
OF_A_REPLICA: tuple[str, ...] = ("model", "region", "replica", "deployment_version")  # filters that a replica answers

HOURS = pl.Schema(
    {
        "replica": pl.String(),
        "model": pl.String(),
        "region": pl.String(),
        "deployment_version": pl.String(),
        "hour_ns": pl.Int64(),
        "up_s": pl.Float64(),
        "busy_s": pl.Float64(),
        "mean_batch_size": pl.Float64(),
        "preemptions": pl.Float64(),
        "cost_pico": pl.Int64(),
        "idle_pico": pl.Int64(),
    }
)


def fleet_hours(
    replica_hours: pl.DataFrame | None,
    selection: Selection | None = None,
    fleet: Fleet | None = None,
    requests: pl.DataFrame | None = None,
) -> pl.DataFrame | None:
    """Replica hours of a selection with their cost, ordered by replica and hour; None if there can be none.

    A selection that is filtered by something a replica does not have (a tenant, a scenario) has no replica hours:
    they served all of them.
    """
    selection = selection or Selection()
    if any(name not in OF_A_REPLICA for name, _ in selection.where):
        return None
    if replica_hours is not None and not replica_hours.is_empty():
        return _loaded(replica_hours, selection, fleet)
    return _assumed(selection, fleet, requests) if fleet is not None and fleet.replicas else None


def _loaded(replica_hours: pl.DataFrame, selection: Selection, fleet: Fleet | None) -> pl.DataFrame:
    rows = replica_hours
    for name in OF_A_REPLICA:
        values = [value for dimension, value in selection.where if dimension == name]
        rows = rows.filter(pl.col(name).is_in(values)) if values else rows
    rows = priced_hours(rows, fleet).with_columns(_overlap(selection).alias("_overlap")).filter(pl.col("_overlap") > 0)
    share = pl.col("_overlap") / _HOUR_NS  # of times, which are floats; money is cut by integers below
    up_us = (pl.col("up_s") * _US).round().cast(pl.Int64)
    busy_us = (pl.col("busy_s") * _US).round().cast(pl.Int64)
    cut = rows.with_columns(
        _product(pl.col("cost_usd"), pl.col("_overlap"), _HOUR_NS).alias("cost_pico"),
        up_us.alias("_up"),
        pl.when(busy_us > up_us).then(up_us).otherwise(busy_us).alias("_busy"),
    )
    idle = (
        pl.when(pl.col("_up") > 0)
        .then(_product(pl.col("cost_pico"), pl.col("_up") - pl.col("_busy"), pl.col("_up")))
        .when(pl.col("_up") == 0)
        .then(pl.col("cost_pico"))
    )
    return (
        cut.with_columns(
            pl.when(pl.col("_busy").is_not_null()).then(idle).alias("idle_pico"),
            pl.col("up_s") * share, pl.col("busy_s") * share, pl.col("preemptions") * share,
        )
        .select(HOURS.names())
        .cast(HOURS)
        .sort("replica", "hour_ns")
    )  # fmt: skip


def priced_hours(replica_hours: pl.DataFrame, fleet: Fleet | None) -> pl.DataFrame:
    """Replica hours whose empty `cost_usd` is filled from the fleet file: rate x time up; order and columns kept."""
    if fleet is None:
        return replica_hours
    up_us = (pl.col("up_s") * _US).round().cast(pl.Int64)
    return (
        replica_hours.with_columns(pl.Series("_rate", _rates(replica_hours, fleet), dtype=pl.Int64))
        .with_columns(pl.coalesce("cost_usd", _product(pl.col("_rate"), up_us, 3600 * _US)).alias("cost_usd"))
        .drop("_rate")
    )


def _rates(rows: pl.DataFrame, fleet: Fleet) -> list[int | None]:
    """Pico-USD per hour of each row's replica by the fleet file."""
    known: dict[tuple[str, str | None], int | None] = {}
    for replica, model in rows.select("replica", "model").unique().iter_rows():
        rate = fleet.rate(replica, model)
        known[replica, model] = None if rate is None else _whole(rate * PICO)
    return [known.get(pair) for pair in rows.select("replica", "model").iter_rows()]


def _overlap(selection: Selection) -> pl.Expr:
    """Nanoseconds of the hour that lie in the selection."""
    start: pl.Expr = pl.col("hour_ns")
    end: pl.Expr = pl.col("hour_ns") + _HOUR_NS
    if selection.start_ns is not None:
        start = pl.max_horizontal(start, pl.lit(selection.start_ns, pl.Int64))
    if selection.end_ns is not None:
        end = pl.min_horizontal(end, pl.lit(selection.end_ns, pl.Int64))
    return end - start


def _product(amount: pl.Expr, by: pl.Expr, over: pl.Expr | int) -> pl.Expr:
    """amount x by / over, to the nearest integer."""
    divisor = pl.lit(over, pl.Int128) if isinstance(over, int) else over.cast(pl.Int128)
    doubled = 2 * amount.cast(pl.Int128) * by.cast(pl.Int128)
    return ((doubled + divisor) // (2 * divisor)).cast(pl.Int64)


def _assumed(selection: Selection, fleet: Fleet | None, requests: pl.DataFrame | None) -> pl.DataFrame | None:
    """One row per replica of the fleet file, up for the whole selection."""
    if fleet is None or selection.start_ns is None or selection.end_ns is None:
        return None
    seen: set[str] = set()
    if requests is not None:
        seen = {name for name in requests.get_column("replica").unique() if name is not None}
    length_ns = selection.end_ns - selection.start_ns
    rows: list[dict[str, object]] = []
    for name, line in _replicas(fleet, seen):
        rate = fleet.rate(name, line.model)
        cost = None if rate is None else _whole(rate * PICO * length_ns / _HOUR_NS)
        rows.append(
            {
                "replica": name,
                "model": line.model,
                "hour_ns": selection.start_ns,
                "up_s": length_ns / 1e9,
                "cost_pico": cost,
            }
        )
    if not rows:
        return None
    frame = pl.DataFrame([{**dict.fromkeys(HOURS.names()), **row} for row in rows], schema=HOURS)
    for dimension, value in selection.where:
        frame = frame.filter(pl.col(dimension).is_null() | (pl.col(dimension) == value))
    return frame.sort("replica", "hour_ns")


def _replicas(fleet: Fleet, seen: set[str]) -> list[tuple[str, ReplicaRate]]:
    found: dict[str, ReplicaRate] = {}
    for line in fleet.replicas:
        names = sorted(name for name in seen if fnmatchcase(name, line.pattern))
        if line.count is not None:
            names = [line.pattern.replace("*", str(number)) for number in range(line.count)]
        elif "*" not in line.pattern and line.pattern not in names:
            names.append(line.pattern)
        for name in names:
            found.setdefault(name, line)
    return list(found.items())


def _whole(amount: Decimal) -> int:
    return int(amount.to_integral_value())


def gpu_per_million_output_tokens(hours: pl.DataFrame | None, output_tokens: dict[str | None, int]) -> dict[str, int]:
    """Pico-USD of a model's replica hours, idle ones included, per million output tokens that it produced.

    Args:
        hours: as fleet_hours gives them; a model with an hour of unknown cost is left out.
        output_tokens: per model, sampled sums divided by their rate.
    """
    if hours is None:
        return {}
    sums = hours.group_by("model").agg(
        pl.col("cost_pico").cast(pl.Int128).sum(), pl.col("cost_pico").is_null().any().alias("unknown")
    )
    found: dict[str, int] = {}
    for model, cost, unknown in sums.sort("model", nulls_last=True).iter_rows():
        tokens = output_tokens.get(model, 0)
        if model is not None and not unknown and tokens > 0:
            found[model] = round(Fraction(int(cost) * 1_000_000, tokens))
    return found


def split(total: int, weights: dict[tuple[str | None, ...], int]) -> dict[tuple[str | None, ...], int]:
    """The total in parts that are in proportion to the weights and add up to it; equal parts if all weigh 0.

    Largest remainder, ties to the earlier key; whole numbers all the way, for there may be many keys.
    """
    if not weights:
        return {}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    whole = sum(weights.values())
    parts = {key: divmod(total * weight, whole) for key, weight in weights.items()}
    left = total - sum(part for part, _ in parts.values())
    luckier = set(sorted(parts, key=lambda key: -parts[key][1])[:left])
    return {key: part + (key in luckier) for key, (part, _) in parts.items()}
