"""Rank test and false discoveries against scipy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.significance import benjamini_hochberg, mann_whitney, normal_tails, voted_mann_whitney


@pytest.mark.parametrize(("shift", "digits"), [(0.0, 8), (0.3, 8), (0.5, 0)])
def test_the_rank_test_agrees_with_scipy_with_and_without_ties(shift: float, digits: int) -> None:
    draws = np.random.default_rng(11)
    first, second = np.round(draws.normal(0, 1, 60), digits), np.round(draws.normal(shift, 1, 80), digits)
    theirs = stats.mannwhitneyu(first, second, alternative="two-sided", method="asymptotic", use_continuity=True)
    assert mann_whitney(pl.Series(first), pl.Series(second)) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_equal_values_and_empty_samples_say_nothing() -> None:
    same = pl.Series([1.0] * 5)
    assert mann_whitney(same, same) is None
    assert mann_whitney(pl.Series([], dtype=pl.Float64), same) is None


def sample(values: np.ndarray, votes: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"value": values, "votes": votes.astype(np.int64)})


@pytest.mark.parametrize("digits", [8, 0])
def test_under_equal_votes_the_rank_test_is_the_plain_one(digits: int) -> None:
    draws = np.random.default_rng(11)
    first, second = np.round(draws.normal(0, 1, 200), digits), np.round(draws.normal(0.2, 1, 300), digits)
    theirs = stats.mannwhitneyu(first, second, alternative="two-sided", method="asymptotic", use_continuity=False)
    ours = voted_mann_whitney(sample(first, np.full(200, 20)), sample(second, np.full(300, 3)))
    assert ours == pytest.approx(theirs.pvalue, rel=1e-2)


def test_under_mixed_votes_nothing_is_found_in_about_5_of_100_alike_samples() -> None:
    draws = np.random.default_rng(3)
    found = 0
    for _ in range(1000):
        # slow ones are kept in full, fast ones one in ten: as read, sides of other shares would differ
        sides = []
        for size in (1500, 2500):
            values = np.round(draws.exponential(1.0, size), 1)
            rate = np.where(values > 1.5, 1.0, 0.1)
            kept = draws.random(size) < rate
            sides.append(sample(values[kept], 1 / rate[kept]))
        p_value = voted_mann_whitney(*sides)
        assert p_value is not None
        found += p_value < 0.05
    assert 0.02 <= found / 1000 <= 0.08


def test_equal_values_and_empty_samples_under_votes_say_nothing() -> None:
    same = sample(np.ones(5), np.array([1, 2, 3, 1, 1]))
    assert voted_mann_whitney(same, same) is None
    assert voted_mann_whitney(same.clear(), same) is None


def test_false_discoveries_are_controlled_as_scipy_does() -> None:
    p_values = [0.001, 0.2, 0.03, 0.04, 0.9, 0.012]
    theirs = stats.false_discovery_control(p_values, method="bh") <= 0.10
    assert benjamini_hochberg(p_values) == theirs.tolist() == [True, False, True, True, False, True]
    assert benjamini_hochberg([]) == []


def test_tails_are_those_of_the_normal_distribution() -> None:
    assert normal_tails(1.959963984540054) == pytest.approx(0.05, abs=1e-12)
