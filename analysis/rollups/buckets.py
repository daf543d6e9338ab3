"""Logarithmic buckets: percentiles of values that are gone, within a known error.

Input: figures of requests. Output: whole bucket numbers that rise with the value, so that counts per bucket can be
added, and the value that stands for a bucket. Bucket k > 0 holds the values in (g^(k-1-OFFSET), g^(k-OFFSET)], bucket 0
holds 0, a negative bucket the mirror image. The value in the middle of a bucket misses each of its values by at most
ERROR of that value; since the order of values is the order of buckets, the same holds for every percentile by rank.
Source: Masson, Rim and Lee, DDSketch, 2019; without its collapsing of buckets, which would lose the bound.
"""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl

from analysis.aggregates.statistics import rank

ERROR = 0.01  # of the value; what a reader is told
_ALPHA = 0.0099  # what the buckets are made for: room for the rounding of logarithms at the edges
_GROWTH = (1 + _ALPHA) / (1 - _ALPHA)
_LOG = math.log(_GROWTH)
OFFSET = 50_000  # above the number of buckets below 1: the smallest float lies 37,600 below
EXACT = "exact"
WITHIN = "within 1 %"


def bucket_of(value: pl.Expr) -> pl.Expr:
    """Number of the bucket of each value; null where it is null or no number."""
    finite = pl.when(value.is_finite()).then(value.cast(pl.Float64))
    size = (finite.abs().log() / _LOG).ceil().cast(pl.Int64) + OFFSET
    return pl.when(finite == 0).then(pl.lit(0, pl.Int64)).when(finite > 0).then(size).otherwise(-size)


def value_of(bucket: int) -> float:
    """The value that stands for a bucket."""
    if bucket == 0:
        return 0.0
    edge = math.exp((abs(bucket) - OFFSET) * _LOG)
    return math.copysign(2 * edge / (1 + _GROWTH), bucket)


def percentile(counts: pl.DataFrame, p: Fraction) -> float | None:
    """The p-quantile by rank of values told by their buckets, within ERROR of it; None without any.

    Args:
        counts: columns bucket and n; a bucket may stand in several rows.
    """
    summed = counts.group_by("bucket").agg(pl.col("n").sum()).sort("bucket")
    reached = summed.get_column("n").cum_sum()
    if summed.is_empty() or reached.item(-1) == 0:
        return None
    at = int((reached < rank(p, int(reached.item(-1)))).sum())
    return value_of(int(summed.get_column("bucket").item(at)))
