"""The normal that an incident is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.causes.figures import number
from analysis.causes.rows import Rows, prepare
from analysis.causes.scene import Quiet, quiet_part, scene_of
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Interval
from analysis.metrics.measure import measure
from tests.support.builders import frame, request

SETTINGS = replace(CauseSettings(), min_normal_requests=50)


def steady(hours: float, per_minute: int = 6) -> Rows:
    """Even arrivals."""
    step = 60.0 / per_minute
    return prepare(
        measure(
            frame(request(n, at_s=n * step, ttft_ms=100.0, tpot_ms=10.0) for n in range(int(hours * 60 * per_minute)))
        )
    )


def test_incident_and_guard_are_taken_out() -> None:
    quiet = quiet_part(steady(3), [(3600.0, 5400.0)], [], SETTINGS)
    at = quiet.frame["at"]
    assert at.filter(at < 4000).max() == 2690.0
    assert at.filter(at > 4000).min() == 6300.0


def test_long_judged_windows_do_not_take_all_of_the_normal() -> None:
    quiet = quiet_part(steady(4), [(7200.0, 8400.0)], [(0.0, 14_400.0)], SETTINGS)
    assert quiet.holes == ((6300.0, 9300.0),)


def test_an_incident_that_lasts_nearly_always_does_not_take_the_normal_of_a_short_one() -> None:
    short, longer = (3600.0, 5400.0), (60.0, 13_000.0)
    quiet = quiet_part(steady(4), [(0.0, 14_400.0), short, longer], [], SETTINGS)
    assert quiet.holes == ((2700.0, 6300.0),)
    assert quiet.covered(*short) == 0.0
    assert quiet.covered(*longer) > 0.5


def test_the_expected_requests_are_those_of_even_arrivals() -> None:
    rows = steady(4)
    interval = Interval(3600.0, 3600.0 + 25 * 60, 1.0)
    quiet = quiet_part(rows, [(interval.start, interval.end)], [], SETTINGS)
    scene = scene_of(rows, interval, quiet, earlier=None, replica_hours=None, settings=SETTINGS)
    assert scene.basis == "selection"
    assert scene.inside.height == 150
    assert scene.expected_requests == pytest.approx(150.0, rel=0.01)


def test_a_linear_drift_of_the_load_cancels() -> None:
    at, rows = 0.0, list[dict[str, Any]]()
    while at < 4 * 3600:
        rows.append(request(len(rows), at_s=at, ttft_ms=100.0, tpot_ms=10.0))
        at += 10.0 / (1.0 + at / 14_400.0)  # arrivals double over four hours
    drifting = prepare(measure(frame(rows)))
    interval = Interval(6000.0, 8400.0, 1.0)
    quiet = quiet_part(drifting, [(interval.start, interval.end)], [], SETTINGS)
    scene = scene_of(drifting, interval, quiet, earlier=None, replica_hours=None, settings=SETTINGS)
    assert scene.expected_requests == pytest.approx(scene.inside.height, rel=0.03)


def test_without_an_unbroken_part_the_earlier_rows_are_the_normal() -> None:
    rows, interval = steady(1), Interval(0.0, 3600.0, 1.0)
    quiet = quiet_part(rows, [(0.0, 3600.0)], [], SETTINGS)
    alone = scene_of(rows, interval, quiet, earlier=None, replica_hours=None, settings=SETTINGS)
    beside = scene_of(rows, interval, quiet, earlier=steady(1), replica_hours=None, settings=SETTINGS)
    assert (alone.basis, alone.normal.height) == ("none", 0)
    assert (beside.basis, beside.normal.height) == ("earlier", 360)


def test_the_same_hours_of_other_days_are_the_normal_of_a_long_selection() -> None:
    rows = steady(24 * 4, per_minute=1)
    interval = Interval(86_400.0 + 36_000.0, 86_400.0 + 43_200.0, 1.0)
    quiet = quiet_part(rows, [(interval.start, interval.end)], [], SETTINGS)
    scene = scene_of(rows, interval, quiet, earlier=None, replica_hours=None, settings=SETTINGS)
    hours = scene.normal.filter(scene.normal["w"] > 0)["at"] % 86_400 / 3600
    assert number(hours.min()) == pytest.approx(9.0, abs=0.1)
    assert number(hours.max()) == pytest.approx(13.0, abs=0.1)


def test_the_part_of_a_time_outside_the_holes() -> None:
    quiet = Quiet(steady(1).frame, ((100.0, 200.0), (150.0, 250.0)))
    assert quiet.covered(0.0, 300.0) == pytest.approx(0.5)
    assert quiet.covered(300.0, 600.0) == 1.0
    assert quiet.covered(120.0, 180.0) == 0.0
