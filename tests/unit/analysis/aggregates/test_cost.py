"""The costs of a selection: cases by hand, whole records, and the simulator's sample in plain Python."""

from __future__ import annotations

import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.aggregates.cost import costs, price_requests
from analysis.fleet import Fleet, OtherCost
from analysis.ledger import keep_ledger
from analysis.pricebook import Budget, PriceBook, PriceEntry
from analysis.prices import read_prices
from analysis.result import CostDriver, CostRow, Costs, DayCost, OtherCostLine, OtherCostPart, UnpricedLine
from ingest.errors import ConfigError
from ingest.selection import Selection
from tests.support.money import calls, ns, replica_hours, requests
from tests.support.shared import shared

USD = 10**12
TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")
ONE = {"input": Decimal(1), "output": Decimal(1)}
BOOK = PriceBook((PriceEntry("m", date(2026, 1, 1), ONE),), builtin=False, name="prices.yaml", sha256="0" * 64)


def of(rows: pl.DataFrame, book: PriceBook, by: tuple[str, ...] = ("user",), **more: object) -> Costs:
    ledger = keep_ledger(rows, None, book)
    return costs(ledger.requests, None, by, ledger=ledger, **more)  # type: ignore[arg-type]


def finance_rows() -> pl.DataFrame:
    """The five requests of the case at the month's edge."""

    def row(at: str, user: str | None, scenario: str, counts: tuple[int, int, int]) -> dict[str, object]:
        return {
            "started_ns": ns(at), "provider": "internal", "model": "harbor-9b", "user": user, "tenant": "acme",
            "scenario": scenario, **dict(zip(TOKENS, counts, strict=True)),
        }  # fmt: skip

    return requests(
        row("2026-10-31T23:59:59Z", "u-1", "rag", (10_000, 4_000, 500)),
        row("2026-11-01T00:00:00Z", "u-1", "rag", (2_000, 0, 100)),
        row("2026-11-10T09:05:00Z", "u-2", "chat", (3_000, 1_000, 200)),
        row("2026-11-10T09:40:00Z", "u-2", "chat", (5_000, 1_000, 300)),
        row("2026-11-28T23:30:00Z", None, "rag", (1_000, 0, 50)),
    )


def test_the_finance_case_adds_up_to_the_last_digit() -> None:
    found = of(finance_rows(), read_prices(shared("cases/12-finance-rows-at-the-month-edge/prices.yaml")))
    assert (found.total_usd, found.unattributed_usd) == ("0.01197", "0.00069")
    assert {row.by["user"]: row.cost_usd for row in found.rows} == {"u-1": "0.00648", "u-2": "0.0048", None: "0.00069"}
    assert found.cubes["scenario"] == [
        CostRow({"scenario": "rag"}, 3, 13_000, 4_000, 650, None, "0.00717", 0, "0"),
        CostRow({"scenario": "chat"}, 2, 8_000, 2_000, 500, None, "0.0048", 0, "0"),
    ]
    assert found.drivers == [
        CostDriver("uncached_input", 15_000, "0.009"),
        CostDriver("cached_input", 6_000, "0.0009"),
        CostDriver("cache_write", 0, "0"),
        CostDriver("output", 1_150, "0.00207"),
        CostDriver("reasoning", 0, "0"),
    ]
    assert found.days == [
        DayCost("2026-10-31", "rag", "0.0051"),
        DayCost("2026-11-01", "rag", "0.00138"),
        DayCost("2026-11-10", "chat", "0.0048"),
        DayCost("2026-11-28", "rag", "0.00069"),
    ]
    assert found.saved_usd == "0.0027"
    assert found.cost_per_1k_tokens_usd == "0.000540406321"  # 0.01197 / 22150 x 1000


def test_a_price_cut_in_the_middle_leaves_each_request_its_own_price() -> None:
    rows = pl.read_csv(shared("cases/08-price-cut-mid-month/requests.csv"))
    frame = requests(
        *(
            {
                "request_key": r["request_id"], "started_ns": ns(r["start_time"]), "model": r["model"], "user": r["user_id"],
                "input_tokens": r["input_tokens"], "cached_input_tokens": r["cached_input_tokens"],
                "output_tokens": r["output_tokens"],
            }
            for r in rows.iter_rows(named=True)
        )
    )  # fmt: skip
    found = of(frame, read_prices(shared("cases/08-price-cut-mid-month/prices.yaml")))
    assert (found.total_usd, found.unpriced_requests) == ("0.86875", 1)
    assert {row.by["user"]: row.cost_usd for row in found.rows} == {"u-ana": "0.405", "u-bo": "0.46375"}
    assert found.unpriced == [
        UnpricedLine(
            "harbor-9b", None, 1, 10_000, 1_000,
            "no price for harbor-9b on 2026-06-28; the first entry starts 2026-07-01. The cost of 1 request is left empty",
        )
    ]  # fmt: skip
    assert found.notes == ["1 of 5 requests have no cost; sums lack them"]


def test_a_model_that_served_no_last_call_still_has_its_cost() -> None:
    inner = calls(
        {"request_key": "r-0", "call_index": 0, "model": "m", "input_tokens": 3, "output_tokens": 0},
        {"request_key": "r-0", "call_index": 1, "model": "n", "input_tokens": 4, "output_tokens": 0},
    )
    book = PriceBook((*BOOK.entries, PriceEntry("n", date(2026, 1, 1), ONE)), builtin=False)
    ledger = keep_ledger(requests({"model": "n", "n_call_rows": 2, "input_tokens": 7, "output_tokens": 0}), inner, book)
    found = costs(ledger.requests, None, ["model"], ledger=ledger)
    assert [(row.by["model"], row.requests, row.cost_usd) for row in found.rows] == [
        ("n", 1, "0.000004"),
        ("m", 0, "0.000003"),
    ]


def test_a_selection_without_any_price_has_no_total() -> None:
    found = of(requests({"model": "stranger", "user": "u", "input_tokens": 5, "output_tokens": 5}), BOOK)
    assert (found.total_usd, found.wasted_usd, found.unattributed_usd, found.drivers, found.days) == (
        None,
        None,
        None,
        [],
        [],
    )
    assert found.rows == [CostRow({"user": "u"}, 1, 5, None, 5, None, None, 1, None)]
    assert found.priced_share == 0.0


def test_an_empty_selection_is_a_record_too() -> None:
    found = of(requests().clear(), BOOK)
    assert (found.rows, found.total_usd, found.unpriced_requests, found.priced_share) == ([], None, 0, None)
    assert found.price_book == "prices.yaml (1 entry, sha256 000000000000)"


def test_wasted_is_the_sum_of_its_kinds() -> None:
    rows = requests(
        *({"model": "m", "user": "u", "input_tokens": 10**n, "output_tokens": 0, "status_class": status}
          for n, status in enumerate(("ok", "error", "timeout", "cancelled", "shed", "rejected")))
    )  # fmt: skip
    found = of(rows, BOOK)
    assert found.wasted == {"failed": "0.01001", "timed_out": "0.0001", "retried": "0", "abandoned": "0.001"}
    assert found.wasted_usd == "0.01111"
    assert found.rows[0].wasted_usd == "0.01111"


def test_cost_per_good_request_needs_to_know_which_are_good() -> None:
    rows = requests(*({"model": "m", "user": "u", "input_tokens": 1_000_000, "output_tokens": 0} for _ in range(4)))
    ledger = keep_ledger(rows, None, BOOK)
    judged = ledger.requests.with_columns(pl.Series("good_verdict", ["good", "good", "bad", "unknown"]))
    row = costs(judged, None, ledger=ledger).rows[0]
    assert (row.good_requests, row.cost_per_1k_good_usd) == (2, "2000")


def test_capacity_and_other_lines_stand_beside_the_total() -> None:
    rows = requests(
        {"model": "m", "user": "u", "input_tokens": 0, "output_tokens": 3_000_000},
        {"model": "m", "user": None, "input_tokens": 0, "output_tokens": 1_000_000},
    )
    hours = replica_hours(
        {"replica": "m-0", "model": "m", "hour_ns": ns("2026-11-10T09:00:00Z"), "up_s": 3600.0, "busy_s": 2700.0, "cost_usd": 8 * USD}
    )  # fmt: skip
    ledger = keep_ledger(rows, None, BOOK)
    day = Selection(ns("2026-11-10T00:00:00Z"), ns("2026-11-11T00:00:00Z"))
    fleet = Fleet(other=(OtherCost("network", Decimal(900), "output_tokens"),))
    found = costs(ledger.requests, hours, ledger=ledger, selection=day, fleet=fleet)
    assert (found.gpu_usd, found.idle_usd, found.utilization) == ("8", "2", 0.75)
    assert found.gpu_cost_per_million_output_tokens_usd == {"m": "2"}
    assert found.total_usd == "4"
    assert found.other == [
        OtherCostLine(
            "network",
            "30",
            "output_tokens",
            [OtherCostPart({"user": "u"}, "22.5"), OtherCostPart({"user": None}, "7.5")],
        )
    ]
    assert (found.forecast_month, found.forecast_month_usd) == ("2026-11", "120")


def test_a_week_over_two_months_has_its_share_of_both() -> None:
    ledger = keep_ledger(requests({"model": "m", "user": "u", "input_tokens": 1, "output_tokens": 0}), None, BOOK)
    both = Selection(ns("2026-11-16T00:00:00Z"), ns("2026-12-17T12:00:00Z"))  # half of November, 16.5 days of December
    fleet = Fleet(other=(OtherCost("storage", Decimal(620), "requests"),))
    assert costs(ledger.requests, None, ledger=ledger, selection=both, fleet=fleet).other[0].cost_usd == "640"


def test_an_open_selection_is_taken_from_its_first_to_its_last_arrival() -> None:
    row = {"model": "m", "user": "u", "input_tokens": 3_000_000, "output_tokens": 0}
    rows = requests(
        {**row, "started_ns": ns("2026-11-02T00:00:00Z")}, {**row, "started_ns": ns("2026-11-05T00:00:00Z") - 1}
    )
    fleet = Fleet(other=(OtherCost("storage", Decimal(300), "requests"),))
    ledger = keep_ledger(rows, None, BOOK)
    found = costs(ledger.requests, None, ledger=ledger, fleet=fleet)
    assert (found.forecast_month, found.forecast_month_usd, found.other[0].cost_usd) == ("2026-11", "60", "30")


def test_a_budget_by_a_dimension_that_rows_do_not_show_is_kept_too() -> None:
    book = PriceBook(BOOK.entries, budgets=(Budget(Decimal(5), per="region"),), builtin=False)
    rows = requests({"model": "m", "region": "eu", "input_tokens": 6_000_000, "output_tokens": 0})
    assert [(b.of, b.spent_usd, b.verdict) for b in of(rows, book).budgets] == [({"region": "eu"}, "6", "exceeded")]


def test_what_a_source_says_it_cost_stands_beside_what_was_computed() -> None:
    rows = requests(
        {"model": "m", "input_tokens": 10, "output_tokens": 0, "source_cost_usd": 12_000_000},
        {"model": "m", "input_tokens": 10, "output_tokens": 0},
    )
    found = of(rows, BOOK)
    assert (found.source_stated_usd, found.total_usd) == ("0.000012", "0.00002")
    assert of(rows.tail(1), BOOK).source_stated_usd is None


def test_a_cached_price_that_is_missing_is_told_as_an_upper_bound_once_cached_tokens_come() -> None:
    plain = {"model": "m", "input_tokens": 10, "output_tokens": 0}
    assert of(requests(plain), BOOK).notes == []
    assert of(requests({**plain, "cached_input_tokens": 4}), BOOK).notes == [
        "m: no price for cached input; charged at the price of input (an upper bound)"
    ]


def test_a_sample_is_told_to_be_one() -> None:
    found = of(requests({"model": "m", "user": "u", "input_tokens": 9, "output_tokens": 0, "sampling_rate": 0.7}), BOOK)
    assert found.total_usd == "0.000012857143"
    assert found.notes == [
        "sampled input: requests, tokens and amounts are divided by the sampling rate, and are estimates"
    ]
    assert sum(Decimal(d.cost_usd) for d in found.drivers) == Decimal("0.000012857143")


def test_a_part_of_the_ledger_has_costs_of_its_own() -> None:
    rows = requests(*({"model": "m", "user": u, "input_tokens": 1, "output_tokens": 0} for u in ("u", "v")))
    ledger = keep_ledger(rows, None, BOOK)
    assert costs(ledger.requests.filter(pl.col("user") == "v"), None, ledger=ledger).total_usd == "0.000001"


def test_rows_can_be_by_several_dimensions_and_an_unknown_one_is_refused() -> None:
    rows = requests({"model": "m", "user": "u", "scenario": "rag", "input_tokens": 1, "output_tokens": 0})
    assert of(rows, BOOK, ("user", "scenario", "month")).rows[0].by == {
        "user": "u",
        "scenario": "rag",
        "month": "2026-11",
    }
    with pytest.raises(ConfigError, match='costs cannot be split by "usr"'):
        of(rows, BOOK, ("usr",))


def _simulated(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "requests.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_simulators_cost_per_request_is_reproduced() -> None:
    folder = shared("incidents/sample/healthy")
    rows = _simulated(folder)
    models = json.loads((folder / "prices.json").read_text(encoding="utf-8"))["models"]
    rates = {
        name: {meter: Decimal(str(p[meter])) for meter in ("input", "cached_input", "output")}
        for name, p in models.items()
    }
    book = PriceBook(tuple(PriceEntry(name, date(2026, 1, 1), usd) for name, usd in rates.items()), builtin=False)
    status = {200: "ok", 499: "cancelled", 429: "shed", 503: "shed", 504: "timeout", 500: "error"}
    frame = requests(
        *(
            {
                "request_key": r["request_id"], "model": r["model"], "scenario": r["scenario"], "user": r["user_id"],
                "started_ns": ns(str(r["start_time"])), "status_class": status[r["status_code"]],
                "llm_calls": r["llm_calls"], "input_tokens": r["input_tokens"],
                "cached_input_tokens": r["cached_input_tokens"], "output_tokens": r["output_tokens"],
            }
            for r in rows
        )
    )  # fmt: skip
    plain: dict[str, list[Decimal]] = {}
    for r in rows:
        usd = rates[str(r["model"])]
        fresh = int(r["input_tokens"]) - int(r["cached_input_tokens"])
        cost = (
            fresh * usd["input"]
            + int(r["cached_input_tokens"]) * usd["cached_input"]
            + int(r["output_tokens"]) * usd["output"]
        )
        if r["status_code"] == 200:
            plain.setdefault(str(r["scenario"]), []).append(cost / 1_000_000)
    priced = price_requests(frame, None, book).filter(pl.col("status_class") == "ok")
    mine = {
        scenario: (int(total), n)
        for scenario, total, n in priced.group_by("scenario").agg(pl.col("cost_pico").sum(), pl.len()).iter_rows()
    }
    assert {s: (int(sum(values) * USD), len(values)) for s, values in plain.items()} == mine
    assert sorted(mine) == ["agent", "chat", "code", "rag", "summarise"]


def test_the_end_of_a_long_table_is_one_row_and_nobodys_row_stays() -> None:
    rows = requests(
        *({"model": "m", "user": user, "input_tokens": count, "output_tokens": 0}
          for user, count in (("a", 5_000_000), ("b", 4_000_000), ("c", 2_000_000), ("d", 1_000_000), (None, 10)))
    )  # fmt: skip
    ledger = keep_ledger(rows, None, BOOK)
    found = costs(ledger.requests, None, ledger=ledger, most_rows=3)
    assert [(row.by["user"], row.cost_usd, row.requests, row.others) for row in found.rows] == [
        ("a", "5", 1, 0), ("b", "4", 1, 0), (None, "0.00001", 1, 0), ("other", "3", 2, 2),
    ]  # fmt: skip
    assert found.cubes["tenant"] == costs(ledger.requests, None, ledger=ledger).cubes["tenant"]


def test_replica_shares_of_a_long_table_are_added_up_too() -> None:
    rows = requests(*({"model": "m", "user": f"u-{n}", "input_tokens": 100, "output_tokens": 0} for n in range(4)))
    hour = {
        "replica": "m-0",
        "model": "m",
        "hour_ns": ns("2026-11-10T09:00:00Z"),
        "up_s": 3600.0,
        "busy_s": 1800.0,
        "cost_usd": 8 * USD,
    }
    ledger = keep_ledger(rows, None, BOOK)
    found = costs(ledger.requests, replica_hours(hour), ledger=ledger, most_rows=2)
    assert [(row.by["user"], row.gpu_usd, row.gpu_used_usd) for row in found.rows] == [
        ("u-0", "2", "1"),
        ("other", "6", "3"),
    ]


def test_cost_per_good_of_a_group_is_of_what_the_objective_covers() -> None:
    million = {"model": "m", "input_tokens": 1_000_000, "output_tokens": 0}  # 1 USD each
    chat = [{**million, "user": "u", "scenario": "chat"} for _ in range(3)]
    batch = [{**million, "user": user, "scenario": "batch"} for user in ("u", "u", "w")]
    ledger = keep_ledger(requests(*chat, *batch), None, BOOK)
    judged = ledger.requests.with_columns(
        pl.Series("good_verdict", ["good", "good", "excluded", "excluded", "excluded", "excluded"]),
        pl.Series("is_covered", [True, True, True, False, False, False]),
    )
    found = costs(judged, None, ("user",), ledger=ledger)
    told = {row.by["user"]: (row.cost_usd, row.covered_usd, row.cost_per_1k_good_usd) for row in found.rows}
    assert told == {"u": ("5", "3", "1500"), "w": ("1", None, None)}  # 3 USD of chat over 2 good, not 5 over 2
    scenarios = {row.by["scenario"]: row.cost_per_1k_good_usd for row in found.cubes["scenario"]}
    assert scenarios == {"chat": "1500", "batch": None}
    assert found.cubes["model"][0].cost_per_1k_good_usd == "1500"
