"""What a request costs, rule by rule, with figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis.ledger import (
    CALL_UNPRICED,
    COST_COLUMNS,
    NO_TOKENS,
    PART_ABOVE_WHOLE,
    TOO_MANY,
    Ledger,
    keep_ledger,
)
from analysis.pricebook import PriceBook, PriceEntry
from tests.support.money import calls, ns, requests


def book(model: str = "m", provider: str | None = None, start: str = "2026-01-01", **usd: str) -> PriceBook:
    entry = PriceEntry(model, date.fromisoformat(start), {k: Decimal(v) for k, v in usd.items()}, provider=provider)
    return PriceBook((entry,), builtin=False)


PLAIN = book(input="0.60", cached_input="0.15", output="1.80")


def only(ledger: Ledger) -> dict[str, object]:
    return ledger.requests.select(*COST_COLUMNS, "unpriced").row(0, named=True)


def test_every_bucket_has_its_own_price() -> None:
    usd = {
        "input": "1", "cached_input": "0.1", "cache_write_5m": "1.25", "cache_write_1h": "2", "audio_input": "10",
        "image_input": "3", "output": "5", "reasoning": "4", "audio_output": "20",
    }  # fmt: skip
    row = {
        "model": "m", "input_tokens": 10_000, "cached_input_tokens": 4_000, "cache_write_tokens": 1_500,
        "cache_write_1h_tokens": 500, "audio_input_tokens": 200, "image_input_tokens": 100,
        "output_tokens": 900, "reasoning_tokens": 300, "audio_output_tokens": 100,
    }  # fmt: skip
    found = only(keep_ledger(requests(row), None, book(**usd)))
    # 4200 x 1 + 200 x 10 + 100 x 3; 4000 x 0.1; 1000 x 1.25 + 500 x 2; 500 x 5 + 100 x 20; 300 x 4, in millionths
    assert found == {
        "cost_pico": 14_850_000_000,
        "uncached_input_pico": 6_500_000_000,
        "cached_input_pico": 400_000_000,
        "cache_write_pico": 2_250_000_000,
        "output_pico": 4_500_000_000,
        "reasoning_pico": 1_200_000_000,
        "saved_pico": 3_600_000_000,
        "unpriced": None,
    }


def test_reasoning_is_billed_as_output_where_it_has_no_price() -> None:
    row = {"model": "m", "input_tokens": 0, "output_tokens": 1_000, "reasoning_tokens": 600}
    found = only(keep_ledger(requests(row), None, PLAIN))
    assert (found["cost_pico"], found["output_pico"], found["reasoning_pico"]) == (
        1_800_000_000,
        720_000_000,
        1_080_000_000,
    )


def test_the_same_cached_call_told_by_three_conventions_costs_the_same() -> None:
    quartz = book("quartz-3", input="3.00", cached_input="0.30", cache_write_5m="3.75", output="15.00")
    row = {
        "model": "quartz-3", "input_tokens": 18_400, "cached_input_tokens": 16_000, "cache_write_tokens": 2_000,
        "output_tokens": 350,
    }  # fmt: skip
    ledger = keep_ledger(requests(row, {**row, "provider": "anthropic"}, row), None, quartz)
    assert ledger.requests["cost_pico"].to_list() == [18_750_000_000] * 3
    assert ledger.requests["cost_pico"].sum() == 56_250_000_000


def test_an_agents_calls_are_priced_once_each_and_a_total_only_where_no_call_has_tokens() -> None:
    harbor = book("harbor-9b", input="0.50", cached_input="0.10", output="2.00")
    agent = {
        "model": "harbor-9b",
        "n_call_rows": 2,
        "input_tokens": 2_708,
        "cached_input_tokens": 800,
        "output_tokens": 247,
    }
    total_only = {"model": "harbor-9b", "n_call_rows": 1, "input_tokens": 905, "output_tokens": 60}
    inner = calls(
        {"request_key": "r-0", "model": "harbor-9b", "input_tokens": 1_210, "cached_input_tokens": 0, "output_tokens": 96},
        {"request_key": "r-0", "model": "harbor-9b", "input_tokens": 1_498, "cached_input_tokens": 800, "output_tokens": 151},
        {"request_key": "r-1", "model": "harbor-9b"},
    )  # fmt: skip
    ledger = keep_ledger(requests(agent, total_only), inner, harbor)
    assert ledger.requests["cost_pico"].to_list() == [1_528_000_000, 572_500_000]
    assert ledger.requests["priced_by_call"].to_list() == [True, False]
    assert ledger.calls["request_key"].to_list() == ["r-0", "r-0"]


def test_gateway_rows_cost_what_the_case_says() -> None:
    harbor = book("harbor-9b", input="1.00", output="4.00")

    def row(inp: int, out: int, **more: object) -> dict[str, object]:
        return {"model": "harbor-9b", "input_tokens": inp, "output_tokens": out, **more}

    ledger = keep_ledger(
        requests(
            row(900, 81), row(1_200, 300), row(640, 51), row(900, 81, response_cached=True), row(0, 0, status_class="error")
        ),
        None,
        harbor,
    )  # fmt: skip
    assert ledger.requests["cost_pico"].to_list() == [1_224_000_000, 2_400_000_000, 844_000_000, 0, 0]


def test_a_request_has_the_price_of_the_day_it_started_in_utc() -> None:
    halved = PriceBook(
        (
            PriceEntry("harbor-9b", date(2026, 7, 1), {"input": Decimal("2.50"), "cached_input": Decimal("0.25"), "output": Decimal(10)}),
            PriceEntry("harbor-9b", date(2026, 7, 30), {"input": Decimal("1.25"), "cached_input": Decimal("0.125"), "output": Decimal(5)}),
        ),
        builtin=False,
    )  # fmt: skip

    def row(at: str, inp: int, cached: int, out: int) -> dict[str, object]:
        return {
            "model": "harbor-9b",
            "started_ns": ns(at),
            "input_tokens": inp,
            "cached_input_tokens": cached,
            "output_tokens": out,
        }

    ledger = keep_ledger(
        requests(
            row("2026-06-28T09:00:00Z", 10_000, 0, 1_000),
            row("2026-07-10T09:00:00Z", 120_000, 20_000, 4_000),
            row("2026-07-29T23:59:59.999999Z", 80_000, 0, 2_000),
            row("2026-07-30T00:00:00Z", 80_000, 0, 2_000),
            row("2026-07-30T01:59:59+02:00", 80_000, 0, 2_000),
        ),
        None,
        halved,
    )  # fmt: skip
    assert ledger.requests["cost_pico"].to_list() == [
        None, 295_000_000_000, 220_000_000_000, 110_000_000_000, 220_000_000_000,
    ]  # fmt: skip
    assert ledger.requests["unpriced"][0] == "no price for harbor-9b on 2026-06-28; the first entry starts 2026-07-01"


def test_the_day_of_a_call_is_the_day_of_its_request() -> None:
    two = replace(
        PLAIN, entries=(*PLAIN.entries, PriceEntry("m", date(2026, 11, 2), {"input": Decimal(9), "output": Decimal(9)}))
    )
    request = {
        "model": "m",
        "n_call_rows": 1,
        "started_ns": ns("2026-11-01T23:59:59Z"),
        "input_tokens": 10,
        "output_tokens": 0,
    }
    call = {
        "request_key": "r-0",
        "model": "m",
        "started_ns": ns("2026-11-02T00:00:01Z"),
        "input_tokens": 10,
        "output_tokens": 0,
    }
    assert only(keep_ledger(requests(request), calls(call), two))["cost_pico"] == 6_000_000


@pytest.mark.parametrize(
    ("row", "cost", "unpriced"),
    [
        ({"status_class": "ok"}, None, NO_TOKENS),
        ({"status_class": "cancelled"}, None, NO_TOKENS),
        ({"status_class": "error"}, 0, None),
        ({"status_class": "shed"}, 0, None),
        ({"status_class": "ok", "llm_calls": 0}, 0, None),
        ({"status_class": "ok", "response_cached": True}, 0, None),
        ({"input_tokens": 0, "output_tokens": 0}, 0, None),
        ({"status_class": "timeout", "input_tokens": 1_000, "output_tokens": 0}, 600_000_000, None),
        ({"input_tokens": 1_000}, 600_000_000, None),
        ({"input_tokens": 10, "cached_input_tokens": 11, "output_tokens": 1}, None, PART_ABOVE_WHOLE),
        ({"input_tokens": 10, "output_tokens": 5, "reasoning_tokens": 6}, None, PART_ABOVE_WHOLE),
        ({"input_tokens": 10, "cache_write_tokens": 2, "cache_write_1h_tokens": 3, "output_tokens": 5}, 16_200_000 - 1_200_000, None),
        ({"input_tokens": 100_000_001, "output_tokens": 5}, None, TOO_MANY),
    ],
)  # fmt: skip
def test_tokens_decide_whether_there_is_a_cost(row: dict[str, object], cost: int | None, unpriced: str | None) -> None:
    found = only(keep_ledger(requests({"model": "m", **row}), None, PLAIN))
    assert (found["cost_pico"], found["unpriced"]) == (cost, unpriced)


def test_tokens_at_a_meter_without_price_leave_the_cost_empty() -> None:
    embed = book("embed", input="0.02")
    rows = requests(
        {"model": "embed", "input_tokens": 100, "output_tokens": 0},
        {"model": "embed", "input_tokens": 100, "output_tokens": 1},
    )
    ledger = keep_ledger(rows, None, embed)
    assert ledger.requests["cost_pico"].to_list() == [2_000_000, None]
    assert ledger.requests["unpriced"].to_list() == [None, "no price for output of embed"]


def test_a_request_is_unpriced_if_one_of_its_calls_is() -> None:
    request = {"model": "m", "n_call_rows": 2, "input_tokens": 20, "output_tokens": 2}
    inner = calls(
        {"request_key": "r-0", "model": "m", "input_tokens": 10, "output_tokens": 1},
        {"request_key": "r-0", "model": "other", "input_tokens": 10, "output_tokens": 1},
    )
    ledger = keep_ledger(requests(request), inner, PLAIN)
    assert only(ledger) == {**dict.fromkeys(COST_COLUMNS), "unpriced": CALL_UNPRICED}
    assert ledger.calls["unpriced"].to_list() == [
        None,
        "no price for other in the price file; add an entry to prices.yaml",
    ]


def test_calls_are_priced_at_their_own_model_and_the_tier_of_their_request() -> None:
    two = PriceBook(
        (
            PriceEntry("small", date(2026, 1, 1), {"input": Decimal(1), "output": Decimal(1)}),
            PriceEntry("large", date(2026, 1, 1), {"input": Decimal(10), "output": Decimal(10)}),
            PriceEntry("large", date(2026, 1, 1), {"input": Decimal(5), "output": Decimal(5)}, tier="batch"),
        ),
        builtin=False,
    )
    request = {"model": "large", "n_call_rows": 2, "service_tier": "batch", "input_tokens": 200, "output_tokens": 0}
    inner = calls(
        {"request_key": "r-0", "model": "small", "input_tokens": 100, "output_tokens": 0},
        {"request_key": "r-0", "model": "large", "input_tokens": 100, "output_tokens": 0},
    )
    assert keep_ledger(requests(request), inner, two).calls["cost_pico"].to_list() == [100_000_000, 500_000_000]


def test_long_prompts_have_the_built_in_price_of_their_length() -> None:
    row = {"model": "claude-sonnet-4-5", "provider": "anthropic", "output_tokens": 0}
    rows = requests(
        {**row, "input_tokens": 200_000},
        {**row, "input_tokens": 200_001},
        {**row, "input_tokens": 300_000, "llm_calls": 3},
    )
    assert keep_ledger(rows, None, PriceBook()).requests["cost_pico"].to_list() == [
        600_000_000_000,
        1_200_006_000_000,
        900_000_000_000,  # three calls known by their sum alone: about 100,000 tokens each
    ]


def test_without_a_model_the_one_asked_for_is_priced() -> None:
    assert only(keep_ledger(requests({"requested_model": "m", "input_tokens": 10, "output_tokens": 0}), None, PLAIN)) == {
        **dict.fromkeys(COST_COLUMNS, 0), "cost_pico": 6_000_000, "uncached_input_pico": 6_000_000, "unpriced": None,
    }  # fmt: skip


def test_rows_keep_their_order_and_columns() -> None:
    rows = requests(
        {"model": "m", "input_tokens": 5, "output_tokens": 0, "n_call_rows": 1},
        {"model": "x", "input_tokens": 5, "output_tokens": 0},
        {"model": "m", "input_tokens": 7, "output_tokens": 0},
    )
    inner = calls({"request_key": "r-0", "model": "m", "input_tokens": 5, "output_tokens": 0})
    ledger = keep_ledger(rows, inner, PLAIN)
    assert_frame_equal(rows, ledger.requests.select(rows.columns))
    assert ledger.requests.columns == [*rows.columns, *COST_COLUMNS, "unpriced", "price_index", "priced_by_call"]
    assert ledger.requests["price_index"].to_list() == [None, None, 0]


def test_an_empty_selection_has_an_empty_ledger() -> None:
    ledger = keep_ledger(requests().clear(), calls().clear(), PLAIN)
    assert ledger.requests.height == 0
    assert ledger.calls.height == 0


def test_a_frame_without_the_rarer_columns_is_priced_too() -> None:
    wanted = ["request_key", "model", "provider", "started_ns", "status_class", "input_tokens", "cached_input_tokens", "output_tokens", "n_call_rows"]  # fmt: skip
    rows = requests({"model": "m", "input_tokens": 10, "output_tokens": 0}).select(wanted)
    assert keep_ledger(rows, None, PLAIN).requests["cost_pico"].to_list() == [6_000_000]
    assert rows.select(pl.len()).item() == 1
