"""Least squares and rank correlation against numpy and scipy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.growth import correlation, growth, least_squares
from analysis.metrics.measure import measure
from analysis.settings import Settings
from tests.support.builders import frame, request


def test_a_straight_line_is_found_exactly() -> None:
    rows = [request(i, ttft_ms=500 + 2 * n, e2e_ms=9000, input_tokens=n) for i, n in enumerate((100, 600, 3000, 9000))]
    line = growth(measure(frame(rows)), Settings())[0]
    assert (line.metric, line.by, line.n) == ("ttft", "input_tokens", 4)
    assert (line.slope, line.intercept, line.r_squared, line.spearman) == pytest.approx(
        (0.002, 0.5, 1.0, 1.0), rel=1e-9
    )
    assert [(b.bucket, b.n, b.p50) for b in line.buckets] == [
        ("<512", 1, 0.7), ("512-2k", 1, 1.7), ("2k-8k", 1, 6.5), ("8k-32k", 1, 18.5),
    ]  # fmt: skip


def test_figures_agree_with_scipy() -> None:
    draws = np.random.default_rng(3)
    x = draws.integers(1, 50_000, 500)
    y = x * 1e-4 + draws.exponential(1.0, 500)
    slope, intercept, r_squared = least_squares(pl.Series(x), pl.Series(y))
    theirs = stats.linregress(x, y)
    assert (slope, intercept, r_squared) == pytest.approx((theirs.slope, theirs.intercept, theirs.rvalue**2), rel=1e-9)
    ranks = [pl.Series(values).rank("average") for values in (x, y)]
    assert correlation(*ranks) == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-9)


def test_what_does_not_vary_has_no_line() -> None:
    same = pl.Series([5, 5, 5, 5])
    assert least_squares(same, pl.Series([1.0, 2.0, 3.0, 4.0])) == (None, None, None)
    assert least_squares(pl.Series([1, 2]), pl.Series([1.0, 2.0])) == (None, None, None)
    assert correlation(same, same) is None
