"""Change points of an objective, and episodes."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analysis.causes.goal import Goal
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Episode, Interval, episodes, incident_intervals, weighted_median
from tests.unit.analysis.causes.goals import a_goal

SETTINGS = CauseSettings()
HOUR = 3600.0


def population(start: float, end: float, hours: float = 4.0) -> pl.DataFrame:
    """One request every ten seconds, bad within [start, end)."""
    at = [10.0 * index for index in range(int(hours * 360))]
    return pl.DataFrame({"at": at, "value": [1.0] * len(at), "bad": [start <= second < end for second in at]})


def test_the_interval_is_that_of_the_bad_requests_to_the_minute() -> None:
    goal = replace(a_goal(), windows=((HOUR, 2 * HOUR),))
    (found,) = incident_intervals(population(4020.0, 6480.0), goal, 4 * HOUR, SETTINGS)
    assert (found.start, found.end) == (4020.0, 6480.0)


def test_an_incident_may_reach_outside_the_judged_window() -> None:
    goal = replace(a_goal(), windows=((HOUR, 1.25 * HOUR),))
    (found,) = incident_intervals(population(2700.0, 5400.0), goal, 4 * HOUR, SETTINGS)
    assert (found.start, found.end) == (2700.0, 5400.0)


def test_two_runs_of_breached_windows_are_two_intervals_the_stronger_first() -> None:
    both = population(3600.0, 4500.0).with_columns(
        bad=pl.col("bad") | pl.col("at").is_between(9000.0, 10_800.0, closed="left")
    )
    goal = replace(a_goal(), windows=((HOUR, 1.25 * HOUR), (2.5 * HOUR, 3 * HOUR)))
    found = incident_intervals(both, goal, 4 * HOUR, SETTINGS)
    assert [(entry.start, entry.end) for entry in found] == [(9000.0, 10_800.0), (3600.0, 4500.0)]


def test_without_a_bad_request_the_judged_window_stands() -> None:
    goal = replace(a_goal(), windows=((HOUR, 2 * HOUR),))
    (found,) = incident_intervals(population(0.0, 0.0), goal, 4 * HOUR, SETTINGS)
    assert found == Interval(HOUR, 2 * HOUR, 0.0)


def test_a_judged_window_that_begins_before_the_first_request_is_cut_to_the_data() -> None:
    goal = replace(a_goal(), windows=((-34 * HOUR, 134 * HOUR),))
    (found,) = incident_intervals(population(4020.0, 6480.0), goal, 4 * HOUR, SETTINGS)
    assert (found.start, found.end) == (4020.0, 6480.0)
    lasting = replace(goal, windows=((-34 * HOUR, 134 * HOUR),))
    (whole,) = incident_intervals(population(0.0, 4 * HOUR), lasting, 4 * HOUR, SETTINGS)
    assert (whole.start, whole.end) == (0.0, 4 * HOUR)


def test_a_cost_of_capacity_has_no_start_of_its_own() -> None:
    goal = replace(a_goal(), kind="capacity")
    assert incident_intervals(population(0.0, 600.0), goal, 4 * HOUR, SETTINGS) == (Interval(0.0, 4 * HOUR, 0.0),)


def named(name: str, start: float, end: float, score: float) -> tuple[Goal, Interval]:
    return replace(a_goal(), id=name), Interval(start, end, score)


def members(found: tuple[Episode, ...]) -> list[list[str]]:
    return [[goal.id for goal, _ in episode.goals] for episode in found]


def test_objectives_that_broke_together_are_one_episode_with_the_weighted_median_as_its_time() -> None:
    found = episodes([named("a", 0, 100, 5.0), named("b", 10, 100, 1.0), named("c", 0, 110, 2.0)], SETTINGS)
    assert members(found) == [["a", "c", "b"]]
    assert (found[0].interval.start, found[0].interval.end) == (0, 100)


def test_a_short_breach_inside_a_long_one_joins_it() -> None:
    assert members(episodes([named("long", 0, 100, 5.0), named("short", 40, 60, 1.0)], SETTINGS)) == [["long", "short"]]


def test_breaches_apart_in_time_are_episodes_of_their_own() -> None:
    assert members(episodes([named("a", 0, 100, 5.0), named("b", 60, 200, 4.0)], SETTINGS)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [([(1.0, 1.0), (2.0, 1.0), (9.0, 1.0)], 2.0), ([(1.0, 1.0), (9.0, 5.0)], 9.0), ([(3.0, 2.0)], 3.0)],
)
def test_the_weighted_median_reaches_half_of_the_weight(pairs: list[tuple[float, float]], expected: float) -> None:
    assert weighted_median(pairs) == expected
