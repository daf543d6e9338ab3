"""Votes: how many requests each row of a sample stands for, in whole numbers, so that weighted ranks are exact.

Input: sampling rates. Output: one Int64 per row; all are 1 where one rate holds for all rows, for then weights cancel
out of every percentile, mean and share. Rates of 1 and 0.05 give votes of 1 and 20.
Source: Horvitz and Thompson 1952: a row counts by the inverse of the chance that it was kept.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import polars as pl

MOST = 2**31  # of one row; the sum of 10^9 rows still fits an Int64


def votes_of(rates: pl.Series) -> pl.Series:
    """Column `votes`; a missing rate is 1."""
    known = rates.cast(pl.Float64).fill_null(1.0)
    distinct = known.unique().sort().to_list()
    if len(distinct) < 2:
        return pl.repeat(1, rates.len(), dtype=pl.Int64, eager=True).alias("votes")
    inverse = [1 / Fraction(Decimal(repr(rate))) for rate in distinct]
    whole = math.lcm(*(one.denominator for one in inverse))
    common = math.gcd(*(int(one * whole) for one in inverse))
    votes = [int(one * whole) // common for one in inverse]
    if max(votes) > MOST:  # rates without a small common measure: to nine digits
        votes = [max(1, round(one / max(inverse) * MOST)) for one in inverse]
    return known.replace_strict(distinct, votes, return_dtype=pl.Int64).alias("votes")
