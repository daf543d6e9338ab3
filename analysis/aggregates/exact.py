"""Sums of floats that do not depend on the order of rows or on the number of threads.

A figure is turned into an integer number of 1e-12 of its unit (picoseconds, pico-USD) and summed as a 128-bit
integer: the same rows give the same bytes, in whatever order they come.
"""

from __future__ import annotations

import polars as pl

from analysis.division import divided

SCALE = 1e12


def exact_sum(expr: pl.Expr) -> pl.Expr:
    """Sum of the known values, to 1e-12 of the unit for each; 0 without any."""
    return divided((expr.cast(pl.Float64) * SCALE).round(0).cast(pl.Int128).sum(), SCALE)


def exact_mean(expr: pl.Expr) -> pl.Expr:
    """Mean of the known values; null without any."""
    n = expr.count()
    return pl.when(n > 0).then(exact_sum(expr) / n)
