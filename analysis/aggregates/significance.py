"""Whether a difference is more than noise: rank test, normal tail, false discoveries.

Source: Mann and Whitney 1947, with the correction for ties; Benjamini and Hochberg 1995.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

FALSE_DISCOVERY_RATE = 0.10  # metric definitions, section 10


def normal_tails(z: float) -> float:
    """Probability of a standard normal value at least as far from 0, on both sides."""
    return math.erfc(abs(z) / math.sqrt(2))


def mann_whitney(first: pl.Series, second: pl.Series) -> float | None:
    """Two-sided p-value that two samples come from one distribution; None if one is empty or all values are equal.

    Normal approximation with corrections for ties and continuity: for samples of 20 and more.
    """
    n, m = first.len(), second.len()
    if n == 0 or m == 0:
        return None
    pooled = pl.concat([first.cast(pl.Float64), second.cast(pl.Float64)])
    ranks = (pooled.rank("average") * 2).round(0).cast(pl.Int64)  # halves become whole, so sums are exact
    u = int(ranks.head(n).sum()) / 2 - n * (n + 1) / 2
    sizes = pooled.value_counts().get_column("count").cast(pl.Int128)
    ties = int((sizes**3 - sizes).sum())
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return None
    distance = abs(u - n * m / 2) - 0.5
    return min(1.0, normal_tails(max(0.0, distance) / math.sqrt(variance)))


def voted_mann_whitney(first: pl.DataFrame, second: pl.DataFrame) -> float | None:
    """The same for samples whose rows stand for different numbers of requests; None if all values are equal.

    The chance that a request of one side is above one of the other, with the variance that the effective numbers of
    rows give it; ties count half.

    Args:
        first, second: columns `value` and `votes`, no nulls.
    """
    sizes = [_effective_rows(side.get_column("votes")) for side in (first, second)]
    if 0 in sizes:
        return None
    whole = [int(side.get_column("votes").sum()) for side in (first, second)]
    sums = [
        side.group_by("value").agg(pl.col("votes").sum().cast(pl.Int128).alias(name))
        for side, name in ((first, "a"), (second, "b"))
    ]
    table = sums[0].join(sums[1], on="value", how="full", coalesce=True).fill_null(0).sort("value")
    a, b = pl.col("a"), pl.col("b")
    wins, cubes = table.select(
        (a * (2 * (b.cum_sum() - b) + b)).sum().alias("wins"),
        (((a + b).cast(pl.Float64) / sum(whole)) ** 3).sum().alias("cubes"),
    ).row(0)
    above = int(wins) / (2 * whole[0] * whole[1])
    n, m = sizes
    variance = (n + m + 1) / (12 * n * m) * (1 - float(cubes))
    return min(1.0, normal_tails((above - 0.5) / math.sqrt(variance))) if variance > 0 else None


def _effective_rows(votes: pl.Series) -> float:
    squares = int(votes.to_frame("votes").select((pl.col("votes").cast(pl.Int128) ** 2).sum()).item())
    return int(votes.sum()) ** 2 / squares if squares else 0.0


def benjamini_hochberg(p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE) -> list[bool]:
    """Which of several differences are found, so that at most `rate` of the found ones are expected to be false."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    last = 0
    for position, index in enumerate(order, 1):
        if p_values[index] <= rate * position / len(p_values):
            last = position
    found = [False] * len(p_values)
    for index in order[:last]:
        found[index] = True
    return found
