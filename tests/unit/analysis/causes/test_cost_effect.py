"""What a recommendation would have done to the spend of the incident."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.cost_effect import CostEffects
from analysis.result import CostEffect
from analysis.rules.catalog import built_in
from tests.support.service import Row, findings, in_fault, service
from tests.unit.analysis.causes.candidates.scenes import INTERVAL, scene

MONDAY = 1_772_409_600 * 10**9
EAST = {"large|east": 3.0}


def candidate(identity: str, segment: tuple[tuple[str, str], ...] = (), **facts: float) -> Candidate:
    return Candidate(identity, "load", "queue", segment, EAST, "it changed", (), facts=facts)


def hours(up_s: float = 3600.0) -> list[Row]:
    """Three replicas over two hours, 5 USD each hour that one is up."""
    return [
        {
            "replica": f"large-east-{index}", "hour_ns": MONDAY + hour * 3600 * 10**9, "upload_id": "u", "model": "large",
            "region": "east", "up_s": up_s if index == 2 else 3600.0, "busy_s": 600.0, "mean_batch_size": 4.0,
            "cost_usd": 5 * 10**12,
        }
        for index in range(3)
        for hour in range(2)
    ]  # fmt: skip


PER_REPLICA = 5 * INTERVAL.length / 3600  # 24 minutes: 2 USD


@pytest.mark.parametrize(
    ("identity", "of", "usd"),
    [
        ("scale_out", candidate("replica_missing", replicas_missing=2.0), "4.00"),
        ("scale_out", candidate("traffic_growth", arrivals_growth=1.5), "3.00"),
        ("autoscale_policy", candidate("traffic_growth", arrivals_growth=1.5), "3.00"),
        ("rightsize_replicas", candidate("cost_capacity", busy_share=0.2), "-4.00"),
        ("replica_drain", candidate("replica_slow"), "0.00"),
        ("raise_batch_limit", candidate("seats_low"), "0.00"),
    ],
)
def test_replicas_are_counted_at_the_price_of_their_hours(identity: str, of: Candidate, usd: str) -> None:
    assert PER_REPLICA == 2.0
    assert CostEffects(scene(hours=hours())).of(identity, of).change_usd == usd


def test_a_warm_pool_costs_the_time_in_which_replicas_were_down() -> None:
    """One of three was up for half of its hours: half a replica more, at 5 USD per 5/6 of an hour up."""
    found = CostEffects(scene(hours=hours(1800.0))).of("warm_pool", candidate("cold_start"))
    assert found == CostEffect("1.20", "0.5 further replicas, at the price of the replica hours.")


@pytest.mark.parametrize(
    ("missing", "words"), [(1.0, "1 further replica"), (2.0, "2 further replicas"), (1.5, "1.5 further replicas")]
)
def test_one_replica_is_no_plural_and_a_whole_number_has_no_fraction(missing: float, words: str) -> None:
    found = CostEffects(scene(hours=hours())).of("scale_out", candidate("replica_missing", replicas_missing=missing))
    assert found.says == f"{words}, at the price of the replica hours."


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        ("scale_out", "Replica hours with their cost were not loaded."),
        ("semantic_cache", "The share of repeated questions is not in the traces."),
        ("call_a_friend", "No model of this remedy's cost."),
    ],
)
def test_what_has_no_figure_says_why(identity: str, why: str) -> None:
    assert CostEffects(scene()).of(identity, candidate("traffic_growth", arrivals_growth=2.0)) == CostEffect(None, why)


def longer(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "rag":
        row["input_tokens"] *= 3


def priced(rows: list[Row]) -> list[Row]:
    """A micro-dollar per fresh token, a tenth of it per cached one, three per output token."""
    return [
        row
        | {
            "uncached_input_pico": (row["input_tokens"] - row["cached_input_tokens"]) * 1_000_000,
            "cached_input_pico": row["cached_input_tokens"] * 100_000,
            "output_pico": row["output_tokens"] * 3_000_000,
        }
        for row in rows
    ]


def uncached(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "agent":
        row["cached_input_tokens"] = 0


def within(rows: list[Row], keep: Callable[[Row], bool]) -> list[Row]:
    start = min(row["started_ns"] for row in rows)
    return [row for row in rows if keep(row) and INTERVAL.start <= (row["started_ns"] - start) / 1e9 < INTERVAL.end]


def test_shorter_prompts_save_what_they_had_grown_by() -> None:
    usual, grown = priced(service()), priced(service(longer))
    saved = sum(
        row["uncached_input_pico"] - before["uncached_input_pico"]
        for row, before in zip(
            within(grown, lambda r: r["scenario"] == "rag"),
            within(usual, lambda r: r["scenario"] == "rag"),
            strict=True,
        )
    )
    found = CostEffects(scene(rows=grown)).of("input_length_cap", candidate("input_growth", (("scenario", "rag"),)))
    assert found.change_usd is not None
    assert float(found.change_usd) == pytest.approx(-saved / 1e12, rel=0.05)


def test_a_restored_cache_saves_the_difference_of_the_two_prices() -> None:
    usual, lost = priced(service()), priced(service(uncached))
    tokens = sum(row["cached_input_tokens"] for row in within(usual, lambda r: r["scenario"] == "agent"))
    found = CostEffects(scene(rows=lost)).of("prompt_layout", candidate("cache_lost", (("scenario", "agent"),)))
    assert found.change_usd is not None
    assert float(found.change_usd) == pytest.approx(-tokens * 900_000 / 1e12, rel=0.05)
    assert float(found.says.split()[0].replace(",", "")) == pytest.approx(tokens, rel=0.05)


def test_a_limit_at_the_door_saves_what_it_refuses() -> None:
    found = CostEffects(scene()).of("rate_limit", candidate("traffic_growth", arrivals_growth=2.0))
    assert (found.change_usd or "").startswith("-")
    assert found.says == "50% of the requests are refused and not paid."


def test_every_recommendation_of_the_catalog_has_a_figure_or_a_reason() -> None:
    effects = CostEffects(scene(hours=hours()))
    told = {name: effects.of(name, candidate("traffic_growth", arrivals_growth=2.0)) for name in built_in().advice}
    assert {name for name, found in told.items() if found.says == "No model of this remedy's cost."} == {
        "no_action"
    } & set(told)
    assert [name for name, found in told.items() if not found.says] == []


def test_a_finding_carries_the_effect_of_each_of_its_recommendations() -> None:
    advice = [item for finding in findings(service(longer)) for item in finding.recommendations]
    assert advice
    assert [item.id for item in advice if item.cost is None] == []
