"""Intervals by blocks: what a figure might have been, where requests of the same ten minutes stand or fall together.

Incidents cluster, so rows are no independent draws: whole blocks of ten minutes are drawn with replacement. A selection
with fewer than 20 such blocks, or without a clock, is cut into 100 blocks of consecutive requests instead.
The draws come from a counter through a mixing function (splitmix64), so the same rows give the same interval.
Quantiles are drawn on the scale of shares: the share at or below the quantile is resampled by blocks, and read back
as a quantile of the sample. A single attainment needs no draws: its interval follows from how the blocks differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from analysis.aggregates.statistics import ALPHA, Interval, clustered_share, quantile, rank
from analysis.aggregates.weighted import Sorted, effective

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


def interval_of(values: Sequence[float]) -> Interval | None:
    """The middle 95 % of draws; None without any."""
    series = pl.Series(values, dtype=pl.Float64)
    low, high = quantile(series, ALPHA / 2), quantile(series, 1 - ALPHA / 2)
    return None if low is None or high is None else (low, high)


def share_interval_by_blocks(good: pl.Series, bad: pl.Series, blocks: pl.Series) -> Interval | None:
    """95 % interval of attainment by blocks, which needs no draws; None where fewer than two were judged.

    Args:
        good, bad: one Boolean per request, or its votes and 0.
        blocks: block of each request.
    """
    each = pl.DataFrame({"block": blocks, "good": good.cast(pl.Int64), "bad": bad.cast(pl.Int64)})
    both = pl.col("good") + pl.col("bad")
    sums = each.group_by("block").agg(pl.col("good").sum(), both.sum().alias("judged")).sort("block")
    sums = sums.filter(pl.col("judged") > 0)
    whole, squares = each.select(both.sum().alias("whole"), (both.cast(pl.Int128) ** 2).sum().alias("squares")).row(0)
    rows = effective(int(whole), int(whole), int(squares))[1]
    return clustered_share(sums.get_column("good").to_list(), sums.get_column("judged").to_list(), rows)


def _mixed(position: pl.Series, seed: int) -> pl.Series:
    """splitmix64 of a counter: 64 well mixed bits for each position."""
    frame = pl.DataFrame({"z": position})
    z = (pl.col("z") + pl.lit(seed, pl.UInt64)) * pl.lit(_GAMMA, pl.UInt64)
    frame = frame.select(z.alias("z"))
    for shift, factor in ((30, _MIX_A), (27, _MIX_B)):
        mixed = (pl.col("z") ^ (pl.col("z") // pl.lit(2**shift, pl.UInt64))) * pl.lit(factor, pl.UInt64)
        frame = frame.select(mixed.alias("z"))
    return frame.select((pl.col("z") ^ (pl.col("z") // pl.lit(2**31, pl.UInt64))).alias("z")).to_series()
