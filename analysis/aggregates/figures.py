"""The value of a metric over groups of requests, with the count behind it and its interval.

Input: a measured frame, or groups of it. Output: per group n (requests that have the figure), value, low, high.
Percentiles and means take the requests with status ok that have the figure; sums, ratios and volumes take all.
Sums and volumes of sampled input are divided by the sampling rate; percentiles, means and ratios do not change with it,
and where rates differ between requests, each counts by its votes (analysis/metrics/votes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.columns import narrow
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.statistics import Z, placed, quantile_ends, rank, wilson
from analysis.aggregates.weighted import Sorted, effective, mixed
from analysis.metrics.metric import Kind, Metric

OK = pl.col("status_class") == "ok"


@dataclass(frozen=True)
class Figure:
    """One value: `n` requests have the figure; the interval is None where there is none to tell."""

    n: int
    value: float | None
    interval: tuple[float, float] | None


def percentile_figures(frame: pl.DataFrame, metric: Metric, p: Fraction, keys: Sequence[str]) -> pl.DataFrame:
    """Columns keys, n, value, low, high: a percentile over ok requests with its distribution-free interval."""
    known = narrow(frame, OK, metric.column, "votes", *keys).filter(OK & pl.col(metric.column).is_not_null())
    if mixed(known):
        return _weighted_percentiles(known, metric, p, keys)
    if not keys:
        return _percentile_of_all(known.get_column(metric.column), p)
    groups = _grouped(known, keys, [pl.len().cast(pl.Int64).alias("n"), pl.col(metric.column).sort().alias("ordered")])
    counts = groups["n"].to_list()
    at = pl.Series("at", [rank(p, n) - 1 for n in counts], pl.Int64())
    ends = [quantile_ends(n, p) for n in counts]
    places = pl.DataFrame(
        {
            "low_at": [None if end is None else end.low - 1 for end in ends],
            "high_at": [None if end is None else end.high - 1 for end in ends],
            "low_step": [None if end is None else end.low_step for end in ends],
            "high_step": [None if end is None else end.high_step for end in ends],
        },
        schema={"low_at": pl.Int64(), "high_at": pl.Int64(), "low_step": pl.Float64(), "high_step": pl.Float64()},
    )

    def value_at(place: pl.Expr) -> pl.Expr:
        return pl.col("ordered").list.get(place, null_on_oob=True)

    low, inside_low = value_at(pl.col("low_at")), value_at(pl.col("low_at") + 1)
    high, inside_high = value_at(pl.col("high_at")), value_at(pl.col("high_at") - 1)
    return groups.with_columns(at, *places).select(
        *keys,
        "n",
        value_at(pl.col("at")).alias("value"),
        pl.min_horizontal(inside_low, low + (inside_low - low) * pl.col("low_step")).alias("low"),
        pl.max_horizontal(inside_high, high - (high - inside_high) * pl.col("high_step")).alias("high"),
    )


def _percentile_of_all(values: pl.Series, p: Fraction) -> pl.DataFrame:
    """percentile_figures of known values without keys: only those near the percentile are sorted."""
    floats = dict.fromkeys(("value", "low", "high"), pl.Float64())
    table = pl.DataFrame(schema={"n": pl.Int64(), **floats})
    if values.is_empty():
        return table
    n = values.len()
    ends = quantile_ends(n, p)
    at = rank(p, n) - 1
    told: dict[str, float | None] = {"low": None, "high": None}
    if ends is None:
        (value,) = placed(values, [at])
    else:
        places = [at, ends.low - 1, ends.low, ends.high - 1, ends.high - 2]
        value, low, inside_low, high, inside_high = placed(values, places)
        told["low"] = min(inside_low, low + (inside_low - low) * ends.low_step)
        told["high"] = max(inside_high, high - (high - inside_high) * ends.high_step)
    return pl.DataFrame([{"n": n, "value": value, **told}], schema=table.schema)


def _weighted_percentiles(known: pl.DataFrame, metric: Metric, p: Fraction, keys: Sequence[str]) -> pl.DataFrame:
    """percentile_figures where sampling rates differ: group by group."""
    parts = known.partition_by(list(keys), as_dict=True) if keys else {(): known}
    found: list[tuple[object, ...]] = []
    for key, part in parts.items():
        ordered = Sorted.of(part, metric.column)
        interval = ordered.interval(p) or (None, None)
        found.append((*key, ordered.n, ordered.at(p), *interval))
    floats = dict.fromkeys(("value", "low", "high"), pl.Float64())
    schema = {**{key: known.schema[key] for key in keys}, "n": pl.Int64(), **floats}
    table = pl.DataFrame(found, schema=schema, orient="row")
    return table.sort(list(keys)) if keys else table


def mean_figures(frame: pl.DataFrame, metric: Metric, keys: Sequence[str]) -> pl.DataFrame:
    """Columns keys, n, value, low, high: a mean over ok requests; the interval is that of the normal approximation."""
    known = narrow(frame, OK, metric.column, "votes", *keys).filter(OK & pl.col(metric.column).is_not_null())
    value, votes = pl.col(metric.column), pl.col("votes")
    total = votes.sum()
    groups = _grouped(
        known,
        keys,
        [
            pl.len().cast(pl.Int64).alias("n"),
            (exact_sum(value * votes) / total).alias("value"),
            (exact_sum(value * value * votes) / total).alias("square"),
            (total.cast(pl.Float64) ** 2 / (votes.cast(pl.Float64) ** 2).sum()).alias("_effective"),
        ],
    )
    n = pl.col("_effective")
    variance = ((pl.col("square") - pl.col("value") ** 2) * n / (n - 1)).clip(lower_bound=0.0)
    half = pl.when(n > 1).then(Z * (variance / n).sqrt())
    return groups.select(
        *keys, "n", "value", (pl.col("value") - half).alias("low"), (pl.col("value") + half).alias("high")
    )


def sum_figures(frame: pl.DataFrame, metric: Metric, keys: Sequence[str]) -> pl.DataFrame:
    """Columns keys, n, value, low, high: a sum over all requests that have the figure, weighted; no interval."""
    known = narrow(frame, metric.column, "weight", *keys).filter(pl.col(metric.column).is_not_null())
    return _grouped(
        known,
        keys,
        [
            pl.len().cast(pl.Int64).alias("n"),
            exact_sum(pl.col(metric.column) * pl.col("weight")).alias("value"),
            pl.lit(None, pl.Float64()).alias("low"),
            pl.lit(None, pl.Float64()).alias("high"),
        ],
    )


def ratio_figures(frame: pl.DataFrame, metric: Metric, keys: Sequence[str]) -> pl.DataFrame:
    """Columns keys, n, value, low, high: a quotient of sums over requests for which both parts are known.

    A share of requests carries Wilson's interval, another quotient none.
    """
    if metric.numerator is None or metric.denominator is None:
        raise ValueError(f"{metric.id} is no ratio")
    share = is_share(metric)
    votes = pl.col("votes")
    parts = frame.select(*keys, "votes", metric.numerator.alias("_num"), metric.denominator.alias("_den"))
    known = parts.filter(pl.col("_num").is_not_null() & pl.col("_den").is_not_null())
    groups = _grouped(
        known,
        keys,
        [
            (pl.col("_den") != 0).sum().cast(pl.Int64).alias("n") if share else pl.len().cast(pl.Int64).alias("n"),
            exact_sum(pl.col("_num") * votes).alias("num"),
            exact_sum(pl.col("_den") * votes).alias("den"),
            exact_sum(pl.col("_den") * votes**2).alias("squares"),
        ],
    )
    intervals = [
        wilson(*effective(round(num), round(den), round(squares))) if share else None
        for num, den, squares in groups.select("num", "den", "squares").iter_rows()
    ]
    return groups.select(
        *keys,
        "n",
        pl.when(pl.col("den") > 0).then(pl.col("num") / pl.col("den") * metric.scale).alias("value"),
        pl.Series("low", [None if i is None else i[0] for i in intervals], pl.Float64()),
        pl.Series("high", [None if i is None else i[1] for i in intervals], pl.Float64()),
    )


def volume_sums(frame: pl.DataFrame, metric: Metric, keys: Sequence[str]) -> pl.DataFrame:
    """Columns keys, n, value, low, high: the weighted sum that a volume divides by seconds; no interval."""
    if metric.numerator is None:
        raise ValueError(f"{metric.id} is no volume")
    known = frame.select(*keys, "votes", metric.numerator.alias("_num")).filter(pl.col("_num").is_not_null())
    return _grouped(
        known,
        keys,
        [
            pl.len().cast(pl.Int64).alias("n"),
            exact_sum(pl.col("_num")).alias("value"),
            pl.lit(None, pl.Float64()).alias("low"),
            pl.lit(None, pl.Float64()).alias("high"),
        ],
    )


def is_share(metric: Metric) -> bool:
    """Whether a ratio counts requests over requests, so that it has an interval of a share."""
    return metric.kind is Kind.RATIO and (metric.id.endswith("_rate") or metric.id == "availability")


def figure(groups: pl.DataFrame) -> Figure:
    """The one row of an ungrouped table of figures."""
    if groups.is_empty():
        return Figure(0, None, None)
    row = groups.row(0, named=True)
    low, high = row["low"], row["high"]
    return Figure(int(row["n"]), row["value"], None if low is None or high is None else (low, high))


def _grouped(frame: pl.DataFrame, keys: Sequence[str], aggregates: list[pl.Expr]) -> pl.DataFrame:
    """Aggregates per group, sorted by the keys; one row without keys, none if there is no row."""
    if keys:
        return frame.group_by(list(keys)).agg(aggregates).sort(list(keys))
    return frame.select(aggregates).head(min(frame.height, 1))
