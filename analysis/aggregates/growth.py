"""How TTFT grows with the input and E2E with the output: least squares, rank correlation, and per bucket.

Input: a measured frame. Output: Growth records over requests with status ok. Sums are exact integers, so the figures
do not depend on the order of rows. Where sampling rates differ, each request counts by its votes: figures are what they
would be if it stood there as often; `n` counts rows. Source: prefill works on the input, decode on the output.
"""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl

from analysis.aggregates.exact import SCALE
from analysis.aggregates.figures import OK
from analysis.aggregates.weighted import mixed, percentiles_of
from analysis.result import Growth, GrowthBucket
from analysis.settings import Settings, bucket_labels

MIN_POINTS = 3  # fewer points than that fit any line


def growth(frame: pl.DataFrame, settings: Settings) -> list[Growth]:
    """TTFT by input tokens, E2E by output tokens."""
    return [
        _growth(frame, "ttft", "input_tokens", "input_bucket", bucket_labels(settings.buckets.input)),
        _growth(frame, "e2e", "output_tokens", "output_bucket", bucket_labels(settings.buckets.output)),
    ]


def _growth(frame: pl.DataFrame, metric: str, by: str, bucket: str, labels: tuple[str, ...]) -> Growth:
    known = frame.select("status_class", "votes", metric, by, bucket).filter(
        OK & pl.col(metric).is_not_null() & pl.col(by).is_not_null()
    )
    votes, percentile = known.get_column("votes"), percentiles_of(known)
    slope, intercept, r_squared = least_squares(known.get_column(by), known.get_column(metric), votes)
    table = known.group_by(bucket).agg(
        pl.len().cast(pl.Int64).alias("n"),
        percentile(metric, 0.5).alias("p50"),
        percentile(metric, 0.95).alias("p95"),
    )
    rows = {row[bucket]: row for row in table.to_dicts()}
    return Growth(
        metric=metric,
        by=by,
        n=known.height,
        slope=slope,
        intercept=intercept,
        r_squared=r_squared,
        spearman=correlation(_ranks(known, by), _ranks(known, metric), votes),
        buckets=[
            GrowthBucket(label, rows[label]["n"], rows[label]["p50"], rows[label]["p95"])
            for label in labels
            if label in rows
        ],
    )


def least_squares(
    x: pl.Series, y: pl.Series, votes: pl.Series | None = None
) -> tuple[float | None, float | None, float | None]:
    """Slope, intercept and share of variance explained; None where x does not vary or there are too few points.

    Args:
        x, y: one entry per request.
        votes: how many each stands for; one each without it.
    """
    _, xx, yy, xy, mean_x, mean_y = _moments(x, y, votes)
    if x.len() < MIN_POINTS or xx == 0:
        return None, None, None
    slope = xy / xx
    explained = None if yy == 0 else float(xy * xy / (xx * yy))
    return float(slope), float(mean_y - slope * mean_x), explained


def correlation(x: pl.Series, y: pl.Series, votes: pl.Series | None = None) -> float | None:
    """Pearson's correlation; None where one side does not vary or there are too few points."""
    _, xx, yy, xy, _, _ = _moments(x, y, votes)
    if x.len() < MIN_POINTS or xx == 0 or yy == 0:
        return None
    return float(xy) / math.sqrt(float(xx)) / math.sqrt(float(yy))


def _ranks(known: pl.DataFrame, name: str) -> pl.Series:
    """Mean rank of each value among all votes, ties at their middle."""
    if not mixed(known):
        return known.get_column(name).rank("average")
    sizes = known.group_by(name).agg(pl.col("votes").sum()).sort(name)
    middle = pl.col("votes").cum_sum() - (pl.col("votes") - 1) / 2
    places = sizes.select(name, middle.alias("rank"))
    return known.select(name).join(places, on=name, how="left", maintain_order="left").get_column("rank")


def _moments(
    x: pl.Series, y: pl.Series, votes: pl.Series | None
) -> tuple[int, Fraction, Fraction, Fraction, Fraction, Fraction]:
    """Votes, centered sums of squares and products, means; exact up to 1e-12 of each product."""
    each = pl.repeat(1, x.len(), dtype=pl.Int64, eager=True) if votes is None else votes
    n = int(each.sum())
    if n == 0:
        return 0, Fraction(0), Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    pair = pl.DataFrame({"x": x.cast(pl.Float64), "y": y.cast(pl.Float64), "votes": each})
    a, b = pl.col("x"), pl.col("y")
    sums = pair.select(
        _scaled(a).alias("x"), _scaled(b).alias("y"),
        _scaled(a * a).alias("xx"), _scaled(b * b).alias("yy"), _scaled(a * b).alias("xy"),
    ).row(0, named=True)  # fmt: skip
    s = {name: Fraction(int(value), int(SCALE)) for name, value in sums.items()}
    return (
        n,
        max(Fraction(0), s["xx"] - s["x"] ** 2 / n),
        max(Fraction(0), s["yy"] - s["y"] ** 2 / n),
        s["xy"] - s["x"] * s["y"] / n,
        s["x"] / n,
        s["y"] / n,
    )


def _scaled(expr: pl.Expr) -> pl.Expr:
    return ((expr * SCALE).round(0).cast(pl.Int128) * pl.col("votes")).sum()
