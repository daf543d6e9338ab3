"""Replica hours as money: cut to the selection, idle apart, from loaded rows or from the fleet file."""

from __future__ import annotations

from decimal import Decimal

import pytest

from analysis.aggregates.capacity import fleet_hours, gpu_per_million_output_tokens, priced_hours, split
from analysis.fleet import Fleet, ReplicaRate
from ingest.selection import Selection
from tests.support.money import ns, replica_hours, requests

USD = 10**12
START = ns("2026-03-02T11:00:00Z")
HOUR = 3_600_000_000_000


def hour(replica: str = "a-0", model: str = "a", **more: object) -> dict[str, object]:
    return {
        "replica": replica,
        "model": model,
        "hour_ns": START,
        "up_s": 3600.0,
        "busy_s": 900.0,
        "cost_usd": 5 * USD,
        **more,
    }


def test_idle_is_the_part_of_the_cost_that_was_not_busy() -> None:
    found = fleet_hours(
        replica_hours(hour(), hour("a-1", busy_s=3600.0), hour("a-2", busy_s=0.0, up_s=0.0, cost_usd=USD))
    )
    assert found is not None
    assert found["idle_pico"].to_list() == [3_750_000_000_000, 0, USD]
    assert found["cost_pico"].to_list() == [5 * USD, 5 * USD, USD]


def test_idle_is_unknown_where_the_busy_time_is() -> None:
    found = fleet_hours(replica_hours(hour(busy_s=None)))
    assert found is not None
    assert found["idle_pico"].to_list() == [None]


def test_busy_longer_than_up_is_no_negative_idle() -> None:
    found = fleet_hours(replica_hours(hour(busy_s=3600.5)))
    assert found is not None
    assert found["idle_pico"].to_list() == [0]


def test_an_hour_at_the_edge_of_the_selection_is_cut() -> None:
    quarter = Selection(START - HOUR, START + HOUR // 4)
    found = fleet_hours(replica_hours(hour(), hour(hour_ns=START + HOUR)), quarter)
    assert found is not None
    assert found.select("cost_pico", "idle_pico", "up_s", "busy_s").rows() == [
        (1_250_000_000_000, 937_500_000_000, 900.0, 225.0)
    ]


def test_a_filter_on_what_a_replica_has_picks_its_hours() -> None:
    rows = replica_hours(hour(), hour("b-0", "b"))
    found = fleet_hours(rows, Selection(where=(("model", "b"),)))
    assert found is not None
    assert found["replica"].to_list() == ["b-0"]


def test_a_part_of_the_traffic_has_no_replica_hours() -> None:
    assert fleet_hours(replica_hours(hour()), Selection(where=(("tenant", "acme"),))) is None


def test_the_fleet_file_prices_hours_that_have_no_cost() -> None:
    fleet = Fleet(replicas=(ReplicaRate("a-*", "a", Decimal("7.80"), None),))
    rows = replica_hours(hour(cost_usd=None, up_s=1800.0), hour("b-0", "b", cost_usd=None), hour("a-9"))
    assert priced_hours(rows, fleet)["cost_usd"].to_list() == [3_900_000_000_000, None, 5 * USD]
    assert priced_hours(rows, None)["cost_usd"].to_list() == [None, None, 5 * USD]


def test_without_loaded_hours_the_replicas_that_requests_name_are_taken_as_up() -> None:
    fleet = Fleet(replicas=(ReplicaRate("a-*", "a", Decimal("7.80"), None), ReplicaRate("b-*", "b", Decimal(1), 2)))
    rows = requests({"replica": "a-1"}, {"replica": "a-0"}, {"replica": "c-0"}, {"replica": None})
    found = fleet_hours(None, Selection(START, START + 2 * HOUR), fleet, rows)
    assert found is not None
    assert found.select("replica", "up_s", "cost_pico", "idle_pico").rows() == [
        ("a-0", 7200.0, 15_600_000_000_000, None),
        ("a-1", 7200.0, 15_600_000_000_000, None),
        ("b-0", 7200.0, 2 * USD, None),
        ("b-1", 7200.0, 2 * USD, None),
    ]


def test_capacity_without_hours_file_or_range_is_unknown() -> None:
    fleet = Fleet(replicas=(ReplicaRate("a-*", "a", Decimal("7.80"), None),))
    assert fleet_hours(None) is None
    assert fleet_hours(replica_hours(hour()).clear(), Selection(), fleet, requests({"replica": "a-1"})) is None


def test_cost_per_million_output_tokens_takes_all_hours_of_the_model() -> None:
    hours = fleet_hours(replica_hours(hour(), hour("a-1"), hour("b-0", "b", cost_usd=None), hour("c-0", "c")))
    assert gpu_per_million_output_tokens(hours, {"a": 500_000, "b": 10, "c": 0}) == {"a": 20 * USD}
    assert gpu_per_million_output_tokens(None, {"a": 1}) == {}


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ({("a",): 1, ("b",): 2}, {("a",): 33, ("b",): 67}),
        ({("a",): 0, ("b",): 0}, {("a",): 50, ("b",): 50}),
        ({}, {}),
    ],
)
def test_an_amount_is_split_by_weight(
    weights: dict[tuple[str | None, ...], int], parts: dict[tuple[str | None, ...], int]
) -> None:
    assert split(100, weights) == parts
