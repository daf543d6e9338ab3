"""Sums that do not depend on the order of rows."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.aggregates.exact import exact_mean, exact_sum


def test_the_order_of_rows_changes_no_digit() -> None:
    values = [0.1, 1e6, 0.2, 3.3e-7, 0.3] * 999
    sums = {
        pl.DataFrame({"x": order}).select(exact_sum(pl.col("x"))).item()
        for order in (values, sorted(values), values[::-1])
    }
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(999_000_599.40032967, rel=1e-15)


def test_nothing_sums_to_zero_and_has_no_mean() -> None:
    empty = pl.DataFrame({"x": [None]}, schema={"x": pl.Float64})
    assert empty.select(exact_sum(pl.col("x")).alias("s"), exact_mean(pl.col("x")).alias("m")).row(0) == (0.0, None)


def test_the_mean_ignores_nulls() -> None:
    frame = pl.DataFrame({"g": [1, 1, 2], "x": [1.0, None, 4.0]})
    assert frame.group_by("g").agg(exact_mean(pl.col("x"))).sort("g").rows() == [(1, 1.0), (2, 4.0)]
