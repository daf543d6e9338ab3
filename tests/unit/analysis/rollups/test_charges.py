"""Money of dropped days: the same tables as before, to the last pico-USD, and a refusal where they cannot be told."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import date

import polars as pl
import pytest

from analysis.aggregates.cost import costs
from analysis.aggregates.metered import MeteredCharges, metered
from analysis.measured import measured
from analysis.reconcile import reconcile
from analysis.result import Costs, Reconciliation
from analysis.rollups.charges import rolled_charges
from ingest.bills import Bill, BillLine
from ingest.errors import ConfigError
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.builders import frame, request
from tests.support.retention import PRICES, at, drop, filled, objectives, some_rows

ALL = Selection(timezone="Europe/Berlin")
BEFORE = at("2026-03-04T23:00:00")


def told(store: Store, selection: Selection = ALL, by: tuple[str, ...] = ("user", "team")) -> Costs:
    side = measured(store, selection, objectives(), PRICES, None)
    kept = rolled_charges(store, selection, side.ledger)
    ledger = side.ledger if kept is None else kept.ledger
    return costs(side.frame, side.replica_hours, by, ledger=ledger, selection=selection, kept=kept)


def for_finance(store: Store) -> MeteredCharges:
    side = measured(store, Selection(), objectives(), PRICES, None)
    kept = rolled_charges(store, Selection(), side.ledger)
    return metered(side.frame, side.ledger if kept is None else kept.ledger, ("team",), kept=kept)


def by_price(charges: MeteredCharges) -> list[tuple[object, ...]]:
    ids = {at: price.id for at, price in enumerate(charges.prices)}
    named = pl.col("price").replace_strict(ids, default=None, return_dtype=pl.String)
    return sorted(charges.rows.with_columns(named).rows(), key=str)


@pytest.mark.parametrize("rate", [1.0, 0.37])
def test_costs_are_the_same_before_and_after_the_rows_are_gone(rate: float) -> None:
    rows = [row | {"sampling_rate": rate if number % 2 else 1.0} for number, row in enumerate(some_rows(900))]
    with Store.open() as store:
        filled(store, rows)
        before, charged = told(store), for_finance(store)
        assert drop(store, BEFORE).requests > 300
        after, again = told(store), for_finance(store)
    assert asdict(replace(after, notes=[])) == asdict(replace(before, notes=[]))
    assert len(after.notes) == len(before.notes) + 1
    assert by_price(again) == by_price(charged)
    totals = ("ledger_pico", "by_model", "by_tenant", "requests", "unpriced_requests", "unpriced_tokens", "last_ns")
    assert [getattr(again, name) for name in totals] == [getattr(charged, name) for name in totals]


def test_cost_per_good_of_an_objective_on_one_scenario_outlives_the_rows() -> None:
    chat = objectives(
        "objectives: [{id: g, where: {scenario: chat}, all_of: [{metric: ttft, threshold: 500ms}], target: 90%}]"
    )

    def scenarios(store: Store) -> dict[str | None, tuple[str | None, str | None]]:
        side = measured(store, ALL, chat, PRICES, None)
        kept = rolled_charges(store, ALL, side.ledger)
        found = costs(side.frame, None, ledger=side.ledger if kept is None else kept.ledger, selection=ALL, kept=kept)
        return {row.by["scenario"]: (row.covered_usd, row.cost_per_1k_good_usd) for row in found.cubes["scenario"]}

    with Store.open() as store:
        filled(store, some_rows(300))
        before = scenarios(store)
        assert drop(store, BEFORE, judged=chat).requests > 100
        assert scenarios(store) == before
    assert before["rag"] == (None, None)
    assert None not in before["chat"]


def test_calls_of_an_agent_are_kept_with_their_own_models() -> None:
    owner = request(1, at_s=60, model="large", user="u", n_call_rows=2, input_tokens=300, output_tokens=30)
    calls = [
        {"request_key": "r-000001", "call_index": n, "upload_id": "u-1", "model": model, "status_class": status}
        | {"input_tokens": 100 + n, "output_tokens": 10}
        for n, (model, status) in enumerate([("small", "error"), ("large", "ok")])
    ]
    with Store.open() as store:
        filled(store, [owner, request(2, at_s=9 * 86_400, model="small")])
        store.append("calls", pl.DataFrame(calls))
        before = told(store, by=("model",))
        assert drop(store, BEFORE).calls == 2
        after = told(store, by=("model",))
        assert store.read("calls").is_empty()
    assert (after.rows, after.wasted, after.total_usd) == (before.rows, before.wasted, before.total_usd)
    assert before.wasted["retried"] != "0"


def test_a_filter_by_what_a_request_has_in_common_holds() -> None:
    with Store.open() as store:
        filled(store, some_rows(400))
        selection = replace(ALL, where=(("tenant", "a"), ("scenario", "chat")))
        before = told(store, selection)
        drop(store, BEFORE)
        assert told(store, selection).rows == before.rows


def test_what_was_not_kept_apart_is_refused_with_the_reason() -> None:
    with Store.open() as store:
        filled(store, some_rows(200))
        drop(store, BEFORE)
        with pytest.raises(ConfigError, match='cannot be split by "session" before 2026-03-04T23:00:00Z'):
            told(store, by=("session",))
        with pytest.raises(ConfigError, match='cannot be filtered by "model"'):
            told(store, replace(ALL, where=(("model", "large"),)))
        with pytest.raises(ConfigError, match="the range cuts 2026-03-02T00:00:00Z to 2026-03-02T23:00:00Z"):
            told(store, ALL.within(at("2026-03-02T12:00:00"), at("2026-03-09T00:00:00")))
        with pytest.raises(ConfigError, match="midnight of America/New_York lies in it"):
            told(store, replace(ALL, timezone="America/New_York"))
        whole = told(store, ALL.within(at("2026-03-02T23:00:00"), at("2026-03-04T23:00:00")))
        assert sum(row.requests for row in whole.rows) > 0


def against_the_bill(store: Store) -> Reconciliation:
    """The bill has the ledger's cost of one model but for what failed, and a model that has no price."""
    side = measured(store, Selection(), objectives(), PRICES, None)
    kept = rolled_charges(store, Selection(), side.ledger)
    lines = [
        BillLine(date(2026, 3, 9), "Internal", model, pico, "USD", None, 12)
        for model, pico in (("large", 10**12), ("small", 10**9), ("stranger", 5 * 10**11))
    ]
    bill = Bill("bill.csv", tuple(lines), {}, ())
    return reconcile(bill, side.frame, side.ledger if kept is None else kept.ledger, None, kept)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_a_bill_is_compared_with_the_costs_of_days_whose_rows_are_gone(rate: float) -> None:
    with Store.open() as store:
        filled(store, [row | {"sampling_rate": rate} for row in some_rows(600)])
        before = against_the_bill(store)
        assert drop(store, BEFORE).requests > 200
        after = against_the_bill(store)
        drop(store, at("2026-05-01T00:00:00"))
        empty = against_the_bill(store)
    assert {"unpriced", "failed"} <= set(before.months[0].explained)
    assert after.months == empty.months == before.months
    assert after.models == empty.models == before.models
    assert after.notes == [
        *before.notes,
        "2026-03: rows of 2026-03-02T00:00:00Z to 2026-03-04T23:00:00Z were dropped by retention; their costs are added "
        "exactly, but which of their requests ended in another month is not known any more",
    ]


def test_rows_that_come_later_are_added_to_the_same_groups() -> None:
    with Store.open() as store:
        filled(store, some_rows(300))
        drop(store, BEFORE)
        store.append("requests", frame([request(9999, at_s=6 * 86_400, model="large", user="u-1", tenant="a")]))
        assert sum(row.requests for row in told(store).rows) == 301
