"""Charge lines: a request counts once, waste has its kind, parts of a sample add up."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest

from analysis.aggregates import charges as module
from analysis.aggregates.charges import MEASURES, charge_lines, condensed_lines, cube, fraction_of, total
from analysis.ledger import keep_ledger
from analysis.pricebook import PriceBook, PriceEntry
from ingest.errors import ConfigError
from tests.support.money import calls, ns, requests

ONE = {"input": Decimal(1), "output": Decimal(1)}  # a token costs a million pico-USD
BOOK = PriceBook((PriceEntry("m", date(2026, 1, 1), ONE), PriceEntry("n", date(2026, 1, 1), ONE)), builtin=False)


def tokens(count: int, **more: object) -> dict[str, object]:
    return {"model": "m", "input_tokens": count, "output_tokens": 0, **more}


def lines_of(*rows: dict[str, object], by: tuple[str, ...] = (), inner: pl.DataFrame | None = None) -> pl.DataFrame:
    ledger = keep_ledger(requests(*rows), inner, BOOK)
    return charge_lines(ledger.requests, ledger, by)


def test_a_request_of_several_calls_counts_once_at_its_last_call_and_pays_at_each() -> None:
    inner = calls(
        {"request_key": "r-0", "call_index": 0, "model": "m", "input_tokens": 10, "output_tokens": 0},
        {"request_key": "r-0", "call_index": 1, "model": "n", "input_tokens": 5, "output_tokens": 0},
    )
    lines = lines_of(
        tokens(15, model="n", n_call_rows=2, user="u"), tokens(7, user="v"), by=("model", "user"), inner=inner
    )
    found = cube(lines, ["model", "user"], {name: MEASURES[name] for name in ("requests", "cost", "input_tokens")})
    assert found == {
        ("m", "u"): {"requests": 0, "cost": 10_000_000, "input_tokens": 10},
        ("m", "v"): {"requests": 1, "cost": 7_000_000, "input_tokens": 7},
        ("n", "u"): {"requests": 1, "cost": 5_000_000, "input_tokens": 5},
    }


@pytest.mark.parametrize("count", [7, 2**62])
def test_lines_are_added_up_exactly_beyond_64_bits_too(count: int) -> None:
    ledger = keep_ledger(requests(tokens(count, user="u"), tokens(count, user="u"), tokens(1, user="v")), None, BOOK)
    lines = condensed_lines(ledger.requests, ledger, ("user",))
    found = cube(lines, ["user"], {"input_tokens": MEASURES["input_tokens"]})
    assert found == {("u",): {"input_tokens": 2 * count}, ("v",): {"input_tokens": 1}}


def test_lines_that_are_condensed_some_at_a_time_add_up_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = calls(
        {"request_key": "r-1", "model": "m", "input_tokens": 16, "output_tokens": 0},
        {"request_key": "r-1", "model": "n", "input_tokens": 32, "output_tokens": 0},
    )
    rows = requests(tokens(1, user="u"), tokens(48, user="v", n_call_rows=2), tokens(2, user="u"), tokens(4, user="w"))
    ledger = keep_ledger(rows, inner, BOOK)
    at_once = cube(condensed_lines(ledger.requests, ledger, ("user", "model")), ["user", "model"], MEASURES)
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    parts = condensed_lines(ledger.requests, ledger, ("user", "model"))
    assert parts.height == 5
    assert cube(parts, ["user", "model"], MEASURES) == at_once


def test_every_kind_of_waste_is_told_apart() -> None:
    inner = calls(
        {"request_key": "r-4", "model": "m", "input_tokens": 16, "output_tokens": 0, "status_class": "error"},
        {"request_key": "r-4", "model": "m", "input_tokens": 32, "output_tokens": 0},
        {"request_key": "r-5", "model": "m", "input_tokens": 64, "output_tokens": 0, "status_class": "error"},
    )
    lines = lines_of(
        tokens(1),
        tokens(2, status_class="truncated"),
        tokens(4, status_class="timeout"),
        tokens(8, status_class="cancelled"),
        tokens(48, n_call_rows=2),
        tokens(64, n_call_rows=1, status_class="timeout"),
        inner=inner,
    )
    wasted = cube(lines.with_columns(pl.col("waste").alias("by_waste")), ["waste"], {"cost": MEASURES["cost"]})
    assert {key[0]: values["cost"] // 1_000_000 for key, values in wasted.items()} == {
        "abandoned": 8, "failed": 2, "retried": 16, "timed_out": 4 + 64, None: 1 + 32,
    }  # fmt: skip
    assert total(lines, {"wasted": MEASURES["wasted"]}) == {"wasted": 94_000_000}


def test_calls_of_an_unpriced_request_pay_nothing() -> None:
    inner = calls(
        {"request_key": "r-0", "model": "m", "input_tokens": 10, "output_tokens": 0},
        {"request_key": "r-0", "model": "stranger", "input_tokens": 10, "output_tokens": 0},
    )
    lines = lines_of(tokens(20, n_call_rows=2), inner=inner)
    assert lines["cost_pico"].to_list() == [None, None]
    assert total(lines, {name: MEASURES[name] for name in ("requests", "priced", "unpriced_requests", "input_tokens")}) == {
        "requests": 1, "priced": 0, "unpriced_requests": 1, "input_tokens": 20,
    }  # fmt: skip


def test_sampled_sums_are_divided_exactly_and_their_parts_add_up() -> None:
    rows = [tokens(count, user=user, scenario=scenario, sampling_rate=0.0815) for count, user, scenario in (
        (3, "u", "rag"), (5, "v", "rag"), (7, "w", "chat"), (11, None, "chat"), (13, "u", "chat"),
    )]  # fmt: skip
    lines = lines_of(*rows, by=("user", "scenario"))
    whole = round(Fraction(39_000_000 * 2000, 163))
    measures = {name: MEASURES[name] for name in ("requests", "cost", "input_tokens")}
    assert total(lines, measures) == {"requests": 61, "cost": whole, "input_tokens": 479}
    for by in (["user"], ["scenario"], ["user", "scenario"]):
        parts = cube(lines, by, measures).values()
        assert sum(part["cost"] for part in parts) == whole
        assert sum(part["requests"] for part in parts) == 61


def test_rows_of_different_sampling_rates_are_divided_each_by_its_own() -> None:
    lines = lines_of(tokens(1), tokens(1, sampling_rate=0.5), tokens(1, sampling_rate=0.25))
    assert total(lines, {"cost": MEASURES["cost"], "requests": MEASURES["requests"]}) == {
        "cost": 7_000_000,
        "requests": 7,
    }


def test_a_sampling_rate_is_what_its_decimal_text_says() -> None:
    assert fraction_of(0.0815) == Fraction(163, 2000)
    with pytest.raises(ValueError, match=r"a sampling rate of 0\.0 cannot be divided by"):
        fraction_of(0.0)


def test_rates_without_a_small_common_denominator_are_divided_exactly_too() -> None:
    rates = [0.123456789012345, 0.987654321098765, 0.555555555555551]
    rows = [tokens(7_000_001 + n, user=f"u-{n}", sampling_rate=rate) for n, rate in enumerate(rates)]
    lines = lines_of(*rows, by=("user",))
    exact = sum(Fraction((7_000_001 + n) * 10**6) / fraction_of(rate) for n, rate in enumerate(rates))
    found = cube(lines, ["user"], {"cost": MEASURES["cost"]})
    assert sum(values["cost"] for values in found.values()) == round(exact)
    assert all(
        abs(found[(f"u-{n}",)]["cost"] - Fraction((7_000_001 + n) * 10**6) / fraction_of(rate)) < 1
        for n, rate in enumerate(rates)
    )


def test_sums_beyond_63_bits_stay_exact() -> None:
    dear = PriceBook(
        (PriceEntry("m", date(2026, 1, 1), {"input": Decimal(10_000), "output": Decimal(0)}),), builtin=False
    )
    ledger = keep_ledger(requests(*[tokens(100_000_000)] * 20), None, dear)
    lines = charge_lines(ledger.requests, ledger, [])
    assert total(lines, {"cost": MEASURES["cost"]}) == {"cost": 20_000_000_000_000_000_000}


def test_days_and_months_are_those_of_the_zone() -> None:
    ledger = keep_ledger(
        requests(tokens(1, started_ns=ns("2026-10-31T23:30:00Z")), tokens(1, started_ns=None)), None, BOOK
    )
    lines = charge_lines(ledger.requests, ledger, ["day", "month"], "Europe/Berlin")
    assert lines.select("by_day", "by_month").rows() == [("2026-11-01", "2026-11"), (None, None)]


def test_a_promoted_dimension_is_read_from_the_mapped_attributes() -> None:
    lines = lines_of(tokens(1, dimensions='{"team": "search"}'), tokens(1), by=("team",))
    assert lines["by_team"].to_list() == ["search", None]


def test_a_dimension_that_nobody_has_is_refused() -> None:
    with pytest.raises(
        ConfigError, match='costs cannot be split by "teem": no request of the selection has that dimension'
    ):
        lines_of(tokens(1, dimensions='{"team": "search"}'), by=("teem",))
