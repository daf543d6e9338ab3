"""Burn windows, factors from the period, the budget spent."""

from __future__ import annotations

from fractions import Fraction

import pytest

from analysis.aggregates.error_budget import budget_spent, burn_windows

DAY = 86_400


@pytest.mark.parametrize(
    ("days", "factors"),
    [
        (7, [13.44, 3.5, 1.4, 0.98]),
        (28, [13.44, 5.6, 2.8, 0.9333333333333333]),
        (30, [14.4, 6.0, 3.0, 1.0]),
    ],
)
def test_factors_follow_from_the_period(days: int, factors: list[float]) -> None:
    assert [pair.factor(days * DAY) for pair in burn_windows(days * DAY)] == factors


def test_windows_longer_than_the_period_are_left_out() -> None:
    assert [pair.long for pair in burn_windows(DAY)] == ["1h", "6h", "1d"]
    assert [(pair.long, pair.short) for pair in burn_windows(30 * DAY)] == [
        ("1h", "5m"),
        ("6h", "30m"),
        ("1d", "2h"),
        ("3d", "6h"),
    ]


def test_the_budget_spent_is_exact_and_may_pass_one() -> None:
    assert budget_spent(990, 10, Fraction("0.99")) == 1.0
    assert budget_spent(900, 100, Fraction("0.99")) == 10.0
    assert [budget_spent(0, 0, Fraction("0.99")), budget_spent(5, 5, None)] == [None, None]
