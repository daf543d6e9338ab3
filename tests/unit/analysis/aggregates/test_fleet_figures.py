"""Figures of replica hours."""

from __future__ import annotations

import pytest

from analysis.aggregates.figures import Figure
from analysis.aggregates.fleet_figures import HOUR_NS, fleet_figure, replica_hours_of
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import MONDAY_NS, frame, replica_hours, request

HOURS = replica_hours(
    {
        "replica": replica, "model": model, "region": "eu", "upload_id": "u", "hour_ns": MONDAY_NS + hour * HOUR_NS,
        "up_s": 3600.0, "busy_s": busy, "cost_usd": cost,
    }
    for replica, model, hour, busy, cost in (
        ("a-1", "a", 0, 1800.0, 4 * 10**12), ("a-1", "a", 1, 900.0, 4 * 10**12), ("b-1", "b", 0, None, None),
    )
)  # fmt: skip
ROWS = measure(frame([request(1, output_tokens=500_000), request(2, output_tokens=None)]))


def test_hours_are_picked_by_filter_and_overlap() -> None:
    picked = [
        replica_hours_of(HOURS, (("model", ("a",)),), None, None),
        replica_hours_of(HOURS, (("scenario", ("chat",)),), MONDAY_NS + HOUR_NS, None),
        replica_hours_of(HOURS, (), None, MONDAY_NS + 1),
    ]
    assert [rows.get_column("replica").to_list() for rows in picked] == [["a-1", "a-1"], ["a-1"], ["a-1", "b-1"]]


def test_cost_per_token_holds_the_idle_hours() -> None:
    assert fleet_figure(BY_ID["gpu_cost_per_million_output_tokens"], ROWS, HOURS) == Figure(1, 16.0, None)


def test_use_is_busy_over_up_where_both_are_known() -> None:
    found = fleet_figure(BY_ID["gpu_utilization"], ROWS, HOURS)
    assert found.value == pytest.approx(0.375)


def test_without_hours_or_tokens_it_is_unknown() -> None:
    unit = BY_ID["gpu_cost_per_million_output_tokens"]
    assert fleet_figure(unit, ROWS, HOURS.clear()).value is None
    assert fleet_figure(unit, ROWS.clear(), HOURS).value is None
    assert fleet_figure(BY_ID["gpu_utilization"], ROWS, HOURS.clear()).value is None
    assert fleet_figure(BY_ID["mfu"], ROWS, HOURS).value is None
