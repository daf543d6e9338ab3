"""Burn windows, factors from the period, the budget spent."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from analysis.aggregates.error_budget import (
    PeriodBudget,
    budget_spent,
    burn_rates,
    burn_windows,
    cells_within,
    hourly,
    period_budget,
)
from analysis.aggregates.windows import Span
from analysis.objectives import Objective, read_objectives
from analysis.result import BurnPoint, BurnRate
from ingest.schema import NS_PER_S
from tests.support.builders import MONDAY_NS

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


def weekly(target: str = "90%") -> Objective:
    return read_objectives(f"objectives: [{{id: x, metric: e2e, threshold: 1s, target: {target}, period: 7d}}]").items[
        0
    ]


def history(*spans: tuple[int, int, str]) -> pl.DataFrame:
    """One request a minute over (first minute, end minute, verdict)."""
    rows = [
        (MONDAY_NS + minute * 60 * NS_PER_S, verdict) for first, end, verdict in spans for minute in range(first, end)
    ]
    table = pl.DataFrame(rows, schema={"started_ns": pl.Int64, "_verdict": pl.String}, orient="row")
    return table.with_columns(votes=pl.lit(1, pl.Int64), sampling_rate=pl.lit(1.0))


def test_burn_is_told_as_of_the_last_arrival() -> None:
    rows = history((0, 1440, "good"), (1440, 1470, "bad"), (1470, 1500, "good"))
    until = MONDAY_NS + 1499 * 60 * NS_PER_S
    burns = burn_rates(rows, weekly(), Span(MONDAY_NS, MONDAY_NS + 7 * DAY * NS_PER_S), until)
    assert [(burn.window, burn.factor, burn.firing) for burn in burns] == [
        ("1h/5m", 13.44, False),
        ("6h/30m", 3.5, False),
        ("1d/2h", 1.4, False),
        ("3d/6h", 0.98, False),
    ]
    assert [burn.long for burn in burns] == pytest.approx([5.0, 30 / 36, 30 / 144, 30 / 150])
    assert [burn.short for burn in burns] == pytest.approx([0.0, 0.0, 2.5, 30 / 36])


def test_the_budget_of_a_period_counts_what_came_before_the_range() -> None:
    rows = history((0, 900, "good"), (900, 1000, "bad"), (11_000, 11_100, "good"))
    until = MONDAY_NS + 11_100 * 60 * NS_PER_S
    burns = [BurnRate("3d/6h", 0.98, 0.0, 0.0, firing=False)]
    found = period_budget(rows, weekly(), Span(None, None), until, burns)
    # the period of 10,080 minutes begins at minute 1,020: what lies before is forgotten
    days = [BurnPoint("2026-03-09T00:00:00Z", 100, 0, 100.0, 0.0)]
    assert found == PeriodBudget(100, 0, 0.0, "2026-03-09T15:20:00Z", None, 0, days)
    wider = period_budget(
        history((5000, 5900, "good"), (5900, 6000, "bad")), weekly("95%"), Span(None, None), until, burns
    )
    days = [
        BurnPoint("2026-03-05T00:00:00Z", 760, 0, 760.0, 0.0),
        BurnPoint("2026-03-06T00:00:00Z", 140, 100, 140.0, 100.0),
    ]
    assert wider == PeriodBudget(900, 100, 2.0, "2026-03-05T11:20:00Z", None, 0, days)


def cells(*rows: tuple[int, int, int | None, int | None]) -> pl.DataFrame:
    """(first minute, minutes, good, bad): time whose requests are gone; without counts it was not counted."""
    ns = 60 * NS_PER_S
    told = [
        {"start_ns": MONDAY_NS + at * ns, "end_ns": MONDAY_NS + (at + long) * ns, "good": good, "bad": bad}
        for at, long, good, bad in rows
    ]
    schema = dict.fromkeys(("start_ns", "end_ns", "good", "bad"), pl.Int64())
    return pl.DataFrame(told, schema=schema).with_columns(sampling_rate=pl.lit(1.0))


def test_requests_that_are_gone_count_where_their_whole_cell_lies_in_the_period() -> None:
    rows = history((11_000, 11_100, "good"))
    until = MONDAY_NS + 11_100 * 60 * NS_PER_S
    gone = cells((960, 60, 7, 7), (1020, 60, 30, 10), (1080, 60, 20, 0))  # the period begins 1 ns after minute 1,020
    found = period_budget(rows, weekly("90%"), Span(None, None), until, [], gone)
    assert found is not None
    assert (found.good, found.bad, found.rolled, found.start) == (120, 0, 20, "2026-03-02T18:00:00Z")
    assert found.days == [
        BurnPoint("2026-03-02T00:00:00Z", 20, 0, 20.0, 0.0),
        BurnPoint("2026-03-09T00:00:00Z", 100, 0, 100.0, 0.0),
    ]


def test_a_budget_is_not_told_across_time_that_was_not_counted() -> None:
    rows = history((11_000, 11_100, "good"))
    until = MONDAY_NS + 11_100 * 60 * NS_PER_S
    gone = cells((1200, 60, 30, 10), (1260, 60, None, None), (1320, 60, 5, 5))
    found = period_budget(rows, weekly("90%"), Span(None, None), until, [], gone)
    assert found is not None
    assert (found.good, found.bad, found.rolled, found.start) == (105, 5, 10, "2026-03-02T22:00:00Z")
    assert cells_within(gone, MONDAY_NS, MONDAY_NS + 1260 * 60 * NS_PER_S)["good"].to_list() == [30]
    burns = burn_rates(rows, weekly("90%"), Span(None, None), until, gone)
    assert burns == burn_rates(rows, weekly("90%"), Span(None, None), until)  # all of it is older than three days


def test_exhaustion_is_forecast_at_the_burn_of_the_longest_window() -> None:
    rows = history((0, 10_080, "good"), (4000, 4504, "bad"))  # half the budget of a week
    until = MONDAY_NS + 10_080 * 60 * NS_PER_S - 1
    item = weekly("90%")
    spent = 504 / (10_584 * 0.1)
    found = period_budget(rows, item, Span(None, None), until, [BurnRate("3d/6h", 0.98, 2.0, 1.0, firing=True)])
    assert found is not None
    assert found.spent == pytest.approx(spent)
    days = (1 - spent) / 2.0 * 7
    assert found.exhausted_at is not None
    assert round(days, 2) == 1.83
    assert found.exhausted_at.startswith("2026-03-10T20")
    slow = period_budget(rows, item, Span(None, None), until, [BurnRate("3d/6h", 0.98, 0.4, 0.1, firing=False)])
    assert slow is not None
    assert slow.exhausted_at is None  # not within one more period


def test_hours_without_judged_requests_are_left_out() -> None:
    rows = history((0, 30, "good"), (30, 60, "bad"), (60, 120, "unknown"), (120, 121, "good"))
    assert hourly(rows) == [
        BurnPoint("2026-03-02T00:00:00Z", 30, 30, 30.0, 30.0),
        BurnPoint("2026-03-02T02:00:00Z", 1, 0, 1.0, 0.0),
    ]


def test_monthly_shares_would_mean_other_shares_of_a_weekly_budget() -> None:
    """Section 4: factors of 30 days on a week spend 8.6, 21, 43 and 43 % of its budget, so they are never fixed."""
    shares = [pair.factor(30 * DAY) * pair.long_s / (7 * DAY) for pair in burn_windows(30 * DAY)]
    assert [round(share * 100, 1) for share in shares] == [8.6, 21.4, 42.9, 42.9]
