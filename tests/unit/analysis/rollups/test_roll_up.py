"""Raw rows to roll-ups: by hand, part by part, and with too many values."""

from __future__ import annotations

import json

import pytest
from polars.testing import assert_frame_equal

from analysis.pricebook import Price
from analysis.rollups import roll_up as rolling
from analysis.rollups.roll_up import counted, fingerprint, price_key, roll_up
from ingest.retire import Piece
from ingest.schema_rolled import OTHER, ROLLED
from ingest.store.database import Store
from tests.support.builders import MONDAY_NS, request
from tests.support.retention import DAY_NS, NOW_NS, PRICES, filled, objectives, some_rows

DAY = Piece(MONDAY_NS, MONDAY_NS + DAY_NS)
ONE = "objectives:\n  - {id: t, metric: ttft, threshold: 500ms, target: 95%}\n"


def test_three_requests_by_hand() -> None:
    rows = [
        request(1, at_s=10, ttft_ms=400, tpot_ms=20, output_tokens=11, input_tokens=100, model="large", user="u-1"),
        request(2, at_s=20, ttft_ms=600, tpot_ms=20, output_tokens=11, input_tokens=100, model="large", user="u-1"),
        request(3, at_s=3700, status="error", input_tokens=0, output_tokens=0, model="large", user="u-2"),
    ]
    with Store.open() as store:
        found = roll_up(filled(store, rows), DAY, objectives(ONE), PRICES, until_ns=NOW_NS)
    assert set(found) | {"rolled_traces"} == set(ROLLED)
    verdicts = found["rolled_verdicts"]
    by_hour = verdicts.filter(verdicts["hour_ns"].is_not_null()).select("hour_ns", "good", "bad").sort("hour_ns")
    assert by_hour.rows() == [(MONDAY_NS, 1, 1), (MONDAY_NS + 3600 * 10**9, 0, 1)]
    whole = verdicts.filter(verdicts["hour_ns"].is_null()).select("clause", "model", "good", "bad").sort("clause")
    assert whole.rows() == [(None, "large", 1, 2), (0, "large", 1, 2)]
    assert found["rolled_status"].select("status_class", "requests").rows() == [("error", 1), ("ok", 2)]
    columns = ("user", "verdict", "requests", "input_meter", "output_meter", "cost_pico")
    charges = found["rolled_charges"].select(columns).sort("user", "verdict")
    cost = 100 * 2_500_001 + 11 * 9_999_999  # pico-USD: 2.500001 and 9.999999 USD per million tokens
    assert charges.rows() == [
        ("u-1", "bad", 1, 100, 11, cost),
        ("u-1", "good", 1, 100, 11, cost),
        ("u-2", "bad", 1, 0, 0, 0),
    ]
    ttft = found["rolled_latency"].filter(found["rolled_latency"]["metric"] == "ttft")
    assert ttft.select("n").sum().item() == 2
    day = found["rolled_days"].row(0, named=True)
    assert json.loads(day["objectives"]) == {"t": fingerprint(objectives(ONE).items[0], objectives(ONE))}


def test_roll_ups_of_parts_are_those_of_the_whole() -> None:
    with Store.open() as store:
        filled(store, some_rows(500, days=1))
        whole = roll_up(store, DAY, objectives(), PRICES, until_ns=NOW_NS)
        parts = roll_up(store, DAY, objectives(), PRICES, until_ns=NOW_NS, most=60)
    for table, rows in whole.items():
        assert_frame_equal(rows, parts[table])


def test_rarer_values_are_kept_together_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "MOST_VALUES", 2)
    monkeypatch.setattr(rolling, "MOST_DIMENSIONS", 1)
    rows = [
        request(n, ttft_ms=100, tenant=tenant, user=f"u-{n}", model="large", dimensions=f'{{"team":"{n}"}}')
        for n, tenant in enumerate(["a", "a", "a", "b", "b", "c", "d", None])
    ]
    with Store.open() as store:
        found = roll_up(filled(store, rows), DAY, objectives(ONE), PRICES, until_ns=NOW_NS)
    assert sorted(found["rolled_status"].select("tenant", "requests").rows(), key=str) == [
        *((OTHER, 2), ("a", 3), ("b", 2), (None, 1)),
    ]
    assert found["rolled_charges"]["dimensions"].null_count() == found["rolled_charges"].height
    assert (found["rolled_charges"]["user"].n_unique(), found["rolled_charges"]["tenant"].n_unique()) == (8, 5)


def test_only_objectives_that_judge_single_requests_are_counted() -> None:
    assert [item.id for item in counted(objectives())] == ["ttft", "chat", "good", "up", "cost", "errors"]


def test_a_fingerprint_changes_with_the_verdict_and_not_with_the_target() -> None:
    def of(text: str) -> str:
        read = objectives(f"objectives:\n  - {{id: t, metric: ttft, {text}}}\n")
        return fingerprint(read.items[0], read)

    plain = of("threshold: 500ms, target: 95%")
    assert plain == of("threshold: 500ms, target: 99%, period: 28d, title: x")
    assert plain != of("threshold: 501ms, target: 95%")
    assert plain != of("threshold: 500ms, target: 95%, where: {scenario: chat}")
    assert plain != of("threshold: 500ms, statistic: p95")
    policy = objectives(f"policy: {{on_shed: excluded}}\n{ONE}")
    assert plain != fingerprint(policy.items[0], policy)


def test_a_price_is_named_by_all_that_it_says() -> None:
    price = Price("p", "b", "m", None, {"input": 1}, {"input": 1})
    assert price_key(price) == price_key(Price("p", "b", "m", None, {"input": 1}, {"input": 1}))
    assert price_key(price) != price_key(Price("p", "b", "m", None, {"input": 1}, {"input": 2}))
