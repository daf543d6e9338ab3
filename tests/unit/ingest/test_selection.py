"""Weeks, instants and zones of a selection."""

from __future__ import annotations

import pytest

from ingest.errors import ConfigError
from ingest.schema import NS_PER_S
from ingest.selection import Selection, parse_instant, to_iso, week_selection

HOUR = 3600 * NS_PER_S


def test_a_week_is_half_open_from_monday_to_monday_in_the_zone() -> None:
    week = week_selection("2026-W37", "Asia/Kolkata")
    assert (to_iso(week.start_ns or 0), to_iso(week.end_ns or 0)) == ("2026-09-06T18:30:00Z", "2026-09-13T18:30:00Z")


@pytest.mark.parametrize(("week", "hours"), [("2026-W13", 167), ("2026-W43", 169), ("2026-W48", 168)])
def test_a_week_with_a_clock_change_has_167_or_169_hours(week: str, hours: int) -> None:
    selection = week_selection(week, "Europe/Berlin")
    assert (selection.end_ns or 0) - (selection.start_ns or 0) == hours * HOUR


@pytest.mark.parametrize("week", ["2026-48", "2026-W54", "W48", "2025-W53"])
def test_a_week_that_is_none_is_refused_with_its_name(week: str) -> None:
    with pytest.raises(ConfigError, match=week):
        week_selection(week, "UTC")


def test_an_unknown_zone_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r'time zone "Berlin" is not known. Write an IANA name'):
        week_selection("2026-W48", "Berlin")


@pytest.mark.parametrize(
    ("text", "zone", "iso"),
    [
        ("2026-03-02", "Europe/Berlin", "2026-03-01T23:00:00Z"),
        ("2026-03-02T10:45:00Z", "Europe/Berlin", "2026-03-02T10:45:00Z"),
        ("2026-03-02T10:45:00.250001+05:30", "UTC", "2026-03-02T05:15:00.250001Z"),
    ],
)
def test_an_instant_without_offset_is_local(text: str, zone: str, iso: str) -> None:
    assert to_iso(parse_instant(text, zone)) == iso


def test_an_instant_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match='time "yesterday" is not ISO 8601'):
        parse_instant("yesterday", "UTC")


def test_within_keeps_the_filters() -> None:
    selection = Selection(where=(("model", "m"),), timezone="UTC")
    assert selection.within(1, 2) == Selection(1, 2, (("model", "m"),), "UTC")
