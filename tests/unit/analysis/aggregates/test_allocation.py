"""The replicas' bill split over those who used them, by measured seconds per token."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.aggregates.allocation import GpuShare, GpuShares
from analysis.aggregates.capacity import fleet_hours, split
from analysis.aggregates.charges import condensed_lines
from analysis.ledger import keep_ledger
from analysis.pricebook import PriceBook, PriceEntry
from tests.support.money import ns, replica_hours, requests

USD = 10**12
BOOK = PriceBook((PriceEntry("m", date(2026, 1, 1), {"input": Decimal(1), "output": Decimal(1)}),), builtin=False)


def hour(model: str = "m", **more: Any) -> dict[str, Any]:
    fixed = {"replica": f"{model}-0", "model": model, "hour_ns": ns("2026-11-10T09:00:00Z"), "up_s": 3600.0}
    return {**fixed, "busy_s": 2700.0, "cost_usd": 8 * USD, **more}


def shares(rows: pl.DataFrame, *hours: dict[str, Any]) -> GpuShares:
    ledger = keep_ledger(rows, None, BOOK)
    lines = condensed_lines(ledger.requests, ledger, ["user", "scenario", "model"])
    return GpuShares(fleet_hours(replica_hours(*hours)) if hours else None, lines, ledger.requests)


def row(user: str | None, fresh: int, made: int, **more: Any) -> dict[str, Any]:
    return {"model": "m", "user": user, "scenario": "rag", "input_tokens": fresh, "output_tokens": made, **more}


def test_a_bill_is_split_by_measured_seconds_per_token() -> None:
    # prefill 1 ms per token, decode 10 ms per token: u weighs 900 + 10 x 10 = 1000, v 100 + 10 x 290 = 3000
    timed = {"prefill_ns": 900_000_000, "decode_ns": 100_000_000}
    rows = requests(row("u", 900, 10, **timed), row("v", 100, 290, prefill_ns=100_000_000, decode_ns=2_900_000_000))
    found = shares(rows, hour())
    assert found.by(["user"]) == {
        ("u",): GpuShare(used=1_500_000_000_000, whole=2 * USD),
        ("v",): GpuShare(used=4_500_000_000_000, whole=6 * USD),
    }
    assert found.notes == []


def test_cached_input_used_nothing() -> None:
    rows = requests(row("u", 1_000, 0, cached_input_tokens=900), row("v", 300, 0))
    assert {key[0]: share.whole for key, share in shares(rows, hour()).by(["user"]).items()} == {
        "u": 2 * USD,
        "v": 6 * USD,
    }


def test_without_stage_times_output_weighs_two_and_a_half_times_and_a_note_says_so() -> None:
    found = shares(requests(row("u", 250, 0), row("v", 0, 100)), hour())
    assert {key: share.whole for key, share in found.by(["user", "model"]).items()} == {
        ("u", "m"): 4 * USD,
        ("v", "m"): 4 * USD,
    }
    assert found.notes == ["m: stages were not measured, so replica cost is split with output at 2.5 times input"]


def test_idle_of_unknown_size_leaves_the_used_part_unknown() -> None:
    assert shares(requests(row("u", 1, 0)), hour(busy_s=None)).by(["user"]) == {("u",): GpuShare(None, 8 * USD)}


def test_hours_that_nobody_used_stay_unallocated() -> None:
    found = shares(requests(row("u", 1, 0)), hour(), hour("spare", cost_usd=3 * USD))
    assert (found.unallocated, found.by(["scenario"])) == (3 * USD, {("rag",): GpuShare(6 * USD, 8 * USD)})


def test_a_model_with_an_hour_of_unknown_cost_has_no_bill() -> None:
    found = shares(requests(row("u", 1, 0)), hour(cost_usd=None))
    assert (found.unallocated, found.by(["user"])) == (0, {})


def test_without_hours_there_are_no_shares() -> None:
    assert shares(requests(row("u", 1, 0))).by(["user"]) == {}


@given(
    st.integers(0, 10**18), st.dictionaries(st.integers(0, 30).map(lambda n: (str(n),)), st.integers(0, 10**9), min_size=1)
)  # fmt: skip
@settings(deadline=None)
def test_split_parts_add_up_and_miss_their_share_by_less_than_one(
    total: int, weights: dict[tuple[str | None, ...], int]
) -> None:
    parts = split(total, weights)
    assert sum(parts.values()) == total
    whole = sum(weights.values())
    if whole:
        assert all(abs(parts[key] * whole - total * weight) < whole for key, weight in weights.items())
