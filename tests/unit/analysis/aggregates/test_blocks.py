"""Block bootstrap: reproducible, as wide as rows that stand and fall together make it, and equal to scipy's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.blocks import block_column, drawn_quantiles, drawn_sums, interval_of, share_draws
from analysis.aggregates.statistics import quantile, wilson
from analysis.aggregates.weighted import Sorted
from tests.support.builders import frame, request


def test_blocks_are_ten_minutes_of_arrival() -> None:
    blocks = block_column(frame(request(i, at_s=i * 300) for i in range(60)))
    assert (blocks - blocks.min()).to_list() == [i // 2 for i in range(60)]


def test_few_blocks_or_no_clock_are_cut_into_hundredths_of_the_rows() -> None:
    rows = frame(request(i, at_s=i) for i in range(1000))
    assert block_column(rows).to_list() == [i // 10 for i in range(1000)]
    assert block_column(rows.with_columns(pl.lit(None, pl.Int64).alias("started_ns"))).n_unique() == 100
    assert block_column(rows.clear()).to_list() == []


def test_the_same_rows_give_the_same_draws_and_another_seed_others() -> None:
    sums = pl.DataFrame({"n": range(50)})
    assert drawn_sums(sums).equals(drawn_sums(sums))
    assert not drawn_sums(sums).equals(drawn_sums(sums, seed=1))
    assert drawn_sums(sums.clear()).height == 0


def test_the_spread_of_independent_rows_is_that_of_wilson() -> None:
    good = pl.Series(np.random.default_rng(2).random(20_000) < 0.95)
    interval = interval_of(share_draws(good, ~good, pl.Series([i // 20 for i in range(20_000)])))
    expected = wilson(int(good.sum()), 20_000)
    assert interval == pytest.approx(expected, abs=0.0006)


def test_rows_that_fail_together_widen_the_interval() -> None:
    blocks = pl.Series([i // 100 for i in range(10_000)])
    bad = blocks.is_in([3, 40, 41, 77, 90])
    interval = interval_of(share_draws(~bad, bad, blocks))
    plain = wilson(9500, 10_000)
    assert interval is not None
    assert plain is not None
    assert interval[1] - interval[0] > 5 * (plain[1] - plain[0])


def test_the_interval_of_a_share_agrees_with_scipy() -> None:
    draws = np.random.default_rng(8)
    sizes = draws.integers(20, 60, 200)
    kept = draws.binomial(sizes, draws.beta(30, 2, 200))
    blocks = pl.Series(np.repeat(np.arange(200), sizes))
    good = pl.Series(np.concatenate([np.arange(size) < k for size, k in zip(sizes, kept, strict=True)]))
    ours = interval_of(share_draws(good, ~good, blocks))
    theirs = stats.bootstrap(
        (kept, sizes), lambda k, n, axis=-1: k.sum(axis=axis) / n.sum(axis=axis), paired=True, method="percentile",
        n_resamples=4000, rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.002)


def test_drawn_quantiles_spread_like_a_bootstrap_of_the_values() -> None:
    values = pl.Series(np.sort(np.random.default_rng(4).exponential(1.0, 5000)))
    at = quantile(values, 0.95)
    assert at is not None
    order = pl.Series(np.random.default_rng(5).permutation(5000))
    below = (values <= at)[order].cast(pl.Int64)
    sums = pl.DataFrame({"below": below, "count": 1}).with_columns((pl.int_range(5000) // 10).alias("b"))
    drawn = drawn_sums(sums.group_by("b").sum().sort("b").drop("b"))
    ours = interval_of(drawn_quantiles(Sorted(values), Fraction("0.95"), drawn["below"], drawn["count"]))
    theirs = stats.bootstrap(
        (values.to_numpy(),), lambda x, axis=-1: np.quantile(x, 0.95, axis=axis, method="inverted_cdf"),
        method="percentile", n_resamples=1000, rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.04)


def test_intervals_of_shares_that_cluster_hold_the_truth() -> None:
    """300 weeks of 200 blocks, each block with a share of its own; plain intervals would hold it far less often."""
    draws = np.random.default_rng(12)
    held, plain = 0, 0
    for _ in range(300):
        kept = draws.binomial(20, draws.beta(19, 1, 200))
        good = pl.Series(np.concatenate([np.arange(20) < k for k in kept]))
        interval = interval_of(share_draws(good, ~good, pl.Series([i // 20 for i in range(4000)])))
        simple = wilson(int(good.sum()), 4000)
        assert interval is not None
        assert simple is not None
        held += interval[0] <= 0.95 <= interval[1]
        plain += simple[0] <= 0.95 <= simple[1]
    assert 0.92 <= held / 300 <= 0.98
    assert plain < held
