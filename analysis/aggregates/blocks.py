"""Block bootstrap: what a figure might have been, where requests of the same ten minutes stand or fall together.

Incidents cluster, so rows are no independent draws: whole blocks of ten minutes are drawn with replacement. A selection
with fewer than 20 such blocks, or without a clock, is cut into 100 blocks of consecutive requests instead.
The draws come from a counter through a mixing function (splitmix64), so the same rows give the same interval.
Quantiles are drawn on the scale of shares: the share at or below the quantile is resampled by blocks, and read back
as a quantile of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from analysis.aggregates.significance import normal_tails
from analysis.aggregates.statistics import ALPHA, Interval, Z, quantile, rank
from analysis.aggregates.weighted import Sorted

BLOCK_NS = 600_000_000_000
MIN_BLOCKS = 20
ROW_BLOCKS = 100
DRAWS = 500
SEED = 20_260_302
_GAMMA, _MIX_A, _MIX_B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # constants of splitmix64


def block_column(frame: pl.DataFrame) -> pl.Series:
    """Number of the block of each row: ten minutes of arrival, or a hundredth of the rows in order of arrival."""
    timed = frame.get_column("started_ns")
    blocks = (timed // BLOCK_NS).alias("block")
    if frame.height and timed.null_count() == 0 and blocks.n_unique() >= MIN_BLOCKS:
        return blocks
    size = max(1, -(-frame.height // ROW_BLOCKS))
    order = frame.select(
        (pl.struct("started_ns", "request_key").rank("ordinal").cast(pl.Int64) - 1).alias("block")
    ).to_series()
    return order // size


def drawn_sums(sums: pl.DataFrame, draws: int = DRAWS, seed: int = SEED) -> pl.DataFrame:
    """Sums of every column over blocks drawn with replacement: one row per draw.

    Args:
        sums: one row per block, in a fixed order; integer columns.
        draws: number of draws.
        seed: another one gives independent draws.
    """
    n = sums.height
    if n == 0:
        return sums.clear()
    position = pl.int_range(0, draws * n, dtype=pl.UInt64, eager=True)
    chosen = _mixed(position, seed) % n
    picked = sums[chosen.cast(pl.UInt32)]
    return (
        picked.with_columns((position // n).alias("draw"))
        .group_by("draw")
        .agg(pl.all().sum())
        .sort("draw")
        .drop("draw")
    )


def drawn_quantiles(ordered: Sorted, p: Fraction, below: pl.Series, count: pl.Series) -> list[float]:
    """Quantiles of the draws: the drawn share at or below the quantile, mirrored and read back from the sample.

    Args:
        ordered: sorted values, at least one.
        p: which quantile.
        below, count: per draw the votes at or below the sample's quantile, and all votes.
    """
    n = ordered.total
    middle = float(p)
    reached = ordered.within(ordered.item(rank(p, n))) / n
    values: list[float] = []
    for part, whole in zip(below.to_list(), count.to_list(), strict=True):
        if not whole:
            continue
        share = min(1.0, max(0.0, middle + (reached - part / whole)))
        values.append(ordered.item(rank(share, n)))
    return values


def interval_of(values: Sequence[float], blocks: int | None = None) -> Interval | None:
    """The middle 95 % of draws; None without any.

    Args:
        values: one per draw.
        blocks: how many blocks were drawn from, at least 2. Draws from few vary too little, so a little more of them is
            taken; None: they are many.
    """
    series = pl.Series(values, dtype=pl.Float64)
    tail = ALPHA / 2 if blocks is None else _tail(blocks)
    low, high = quantile(series, tail), quantile(series, 1 - tail)
    return None if low is None or high is None else (low, high)


def _tail(blocks: int) -> float:
    """Share of draws beyond each end: where n draws of blocks stand for a t interval of n - 1 degrees of freedom.

    Source: Hesterberg 2015, the expanded percentile interval; the t quantile by the expansion of Cornish and Fisher.
    """
    free = blocks - 1
    t = Z + (Z**3 + Z) / (4 * free) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * free**2)
    return normal_tails(t * math.sqrt(blocks / free)) / 2


def share_draws(good: pl.Series, bad: pl.Series, blocks: pl.Series) -> list[float]:
    """Attainments of the draws.

    Args:
        good, bad: one Boolean per request, or its votes and 0.
        blocks: block of each request.
    """
    sums = (
        pl.DataFrame({"block": blocks, "good": good.cast(pl.Int64), "bad": bad.cast(pl.Int64)})
        .group_by("block")
        .agg(pl.all().sum())
        .sort("block")
        .drop("block")
        .filter(pl.col("good") + pl.col("bad") > 0)
    )
    drawn = drawn_sums(sums)
    both = drawn.get_column("good") + drawn.get_column("bad") if drawn.height else pl.Series([], dtype=pl.Int64)
    return [g / n for g, n in zip(drawn.get_column("good").to_list(), both.to_list(), strict=True) if n]


def _mixed(position: pl.Series, seed: int) -> pl.Series:
    """splitmix64 of a counter: 64 well mixed bits for each position."""
    frame = pl.DataFrame({"z": position})
    z = (pl.col("z") + pl.lit(seed, pl.UInt64)) * pl.lit(_GAMMA, pl.UInt64)
    frame = frame.select(z.alias("z"))
    for shift, factor in ((30, _MIX_A), (27, _MIX_B)):
        mixed = (pl.col("z") ^ (pl.col("z") // pl.lit(2**shift, pl.UInt64))) * pl.lit(factor, pl.UInt64)
        frame = frame.select(mixed.alias("z"))
    return frame.select((pl.col("z") ^ (pl.col("z") // pl.lit(2**31, pl.UInt64))).alias("z")).to_series()
