"""Places on an axis of time."""

from __future__ import annotations

from dataclasses import replace

from reports.charts.data import Tick
from reports.text import Text
from reports.view import times
from tests.support.results import at, week

UTC = Text.of("en", "UTC")


def test_a_week_has_a_tick_per_day() -> None:
    found = times.ticks([at(0), at(167)], UTC)
    assert found[0] == Tick("2026-03-02 00:00:00", "Mon 2")
    assert [tick.label for tick in found] == ["Mon 2", "Tue 3", "Wed 4", "Thu 5", "Fri 6", "Sat 7", "Sun 8"]


def test_an_hour_has_ticks_at_full_minutes() -> None:
    assert [tick.label for tick in times.ticks([at(11.03), at(11.97)], UTC)] == [
        "11:10",
        "11:20",
        "11:30",
        "11:40",
        "11:50",
    ]


def test_a_year_has_at_most_eight_ticks() -> None:
    assert [tick.label for tick in times.ticks([at(0), at(364 * 24)], UTC)] == [
        "Mon 2 March", "Fri 17 April", "Tue 2 June", "Sat 18 July", "Wed 2 September", "Sun 18 October", "Thu 3 December", "Mon 18 January",
    ]  # fmt: skip


def test_places_are_the_wall_clock_of_the_page() -> None:
    assert times.wall_clock(at(0), Text.of("en", "Asia/Shanghai")) == "2026-03-02 08:00:00"


def test_an_incident_of_four_findings_is_one_band() -> None:
    assert [(band.start, band.end, band.label) for band in times.incidents(week(), UTC)] == [
        ("2026-03-07 12:45:00", "2026-03-07 16:15:00", "incident")
    ]
    assert [band.label for band in times.incidents(week(), UTC, named=False)] == [""]


def test_a_finding_that_is_there_all_the_time_is_no_band() -> None:
    result = week()
    always = replace(result.findings[0], objective="user.cost", windows=[(at(0), at(167.5))])
    told = replace(result, findings=[*result.findings, always])
    assert times.incidents(told, UTC) == times.incidents(result, UTC)
    short = replace(always, windows=[(at(10), at(20))])
    told = replace(result, findings=[*result.findings, short])
    assert len(times.incidents(told, UTC)) == 2
    assert times.incidents(told, UTC, of=result.findings[0].objective) == times.incidents(result, UTC)


def test_no_points_have_no_ticks() -> None:
    assert times.ticks([], UTC) == ()
