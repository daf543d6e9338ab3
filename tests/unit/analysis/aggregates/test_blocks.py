"""Block bootstrap: reproducible, as wide as rows that stand and fall together make it, and equal to scipy's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.blocks import block_column, drawn_quantiles, drawn_sums, interval_of, share_interval_by_blocks
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
    interval = share_interval_by_blocks(good, ~good, pl.Series([i // 20 for i in range(20_000)]))
    expected = wilson(int(good.sum()), 20_000)
    assert interval == pytest.approx(expected, abs=0.0006)


def test_rows_that_fail_together_widen_the_interval() -> None:
    blocks = pl.Series([i // 100 for i in range(10_000)])
    bad = blocks.is_in([3, 40, 41, 77, 90])
    interval = share_interval_by_blocks(~bad, bad, blocks)
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
    ours = share_interval_by_blocks(good, ~good, blocks)
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


def test_blocks_that_are_all_good_or_too_few_have_the_interval_of_their_rows() -> None:
    blocks = pl.Series([i // 10 for i in range(200)])
    good = pl.Series([True] * 200)
    found = share_interval_by_blocks(good, ~good, blocks)
    assert found is not None
    assert found[1] == 1.0
    assert found[0] == pytest.approx(wilson(200, 200, 2.093024)[0])  # type: ignore[index]  # t of 19
    assert share_interval_by_blocks(good, ~good, pl.Series([0] * 200)) is None
    assert share_interval_by_blocks(good[:0], good[:0], blocks[:0]) is None


def test_votes_of_one_size_change_nothing_and_of_several_leave_fewer_rows() -> None:
    draws = np.random.default_rng(5)
    good, blocks = pl.Series(draws.random(600) < 0.9), pl.Series([i // 20 for i in range(600)])
    kept, plain = good.cast(pl.Int64), share_interval_by_blocks(good, ~good, blocks)
    assert share_interval_by_blocks(kept * 20, (1 - kept) * 20, blocks) == pytest.approx(plain)
    votes = pl.Series(draws.choice([1, 20], 600))
    mixed = share_interval_by_blocks(kept * votes, (1 - kept) * votes, blocks)
    assert plain is not None
    assert mixed is not None
    assert mixed[1] - mixed[0] > 1.2 * (plain[1] - plain[0])
