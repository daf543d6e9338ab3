"""Metered charges: one row per meter, requests counted once, nothing unpriced passed off as free."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.aggregates.metered import MeteredCharges, metered
from analysis.ledger import keep_ledger
from analysis.pricebook import Discount, PriceBook, PriceEntry
from ingest.errors import ConfigError
from tests.support.money import calls, ns, requests

USD = {"input": Decimal("0.60"), "cached_input": Decimal("0.15"), "output": Decimal("1.80")}
BOOK = PriceBook((PriceEntry("m", date(2026, 1, 1), USD),), builtin=False)


def of(*rows: dict[str, Any], book: PriceBook = BOOK, verdicts: list[str] | None = None, **more: Any) -> MeteredCharges:
    ledger = keep_ledger(requests(*rows), more.pop("inner", None), book)
    frame = ledger.requests
    if verdicts is not None:
        frame = frame.with_columns(pl.Series("good_verdict", verdicts))
    return metered(frame, ledger, **more)


def row(**more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "tenant": "acme",
        "user": "u",
        "scenario": "rag",
        "input_tokens": 100,
        "output_tokens": 10,
        **more,
    }


def test_each_meter_has_a_row_and_the_request_counts_on_one() -> None:
    found = of(row(cached_input_tokens=40), row(), verdicts=["good", "good"])
    assert found.rows.select("meter", "tokens", "pico", "requests", "good_requests", "status").rows() == [
        ("input", 160, 96_000_000, 0, 0, "good"),
        ("cached_input", 40, 6_000_000, 0, 0, "good"),
        ("output", 20, 36_000_000, 2, 2, "good"),
    ]
    assert found.ledger_pico == 138_000_000


def test_without_output_the_first_meter_that_has_tokens_bears_the_count() -> None:
    found = of(row(output_tokens=0))
    assert found.rows.select("meter", "tokens", "requests").rows() == [("input", 100, 1)]


def test_a_request_that_used_nothing_still_counts() -> None:
    found = of(row(input_tokens=None, output_tokens=None, status_class="error"), row(response_cached=True))
    assert found.rows.select("meter", "tokens", "pico", "requests", "status", "price").rows() == [
        ("output", 0, 0, 1, "failed", None),
        ("output", 0, 0, 1, "unjudged", None),
    ]


def test_status_tells_good_slow_failed_abandoned_and_retried_apart() -> None:
    inner = calls(
        {"request_key": "r-4", "model": "m", "input_tokens": 7, "output_tokens": 0, "status_class": "timeout"},
        {"request_key": "r-4", "model": "m", "input_tokens": 9, "output_tokens": 0},
    )
    found = of(
        row(output_tokens=0),
        row(output_tokens=0),
        row(output_tokens=0, status_class="timeout"),
        row(output_tokens=0, status_class="cancelled"),
        row(output_tokens=0, input_tokens=16, n_call_rows=2),
        row(output_tokens=0),
        verdicts=["good", "bad", "bad", "excluded", "good", "unknown"],
        inner=inner,
    )
    assert found.rows.select("status", "tokens", "requests").rows() == [
        ("abandoned", 100, 1),
        ("failed", 100, 1),
        ("good", 109, 2),
        ("retry", 7, 0),
        ("slow", 100, 1),
        ("unjudged", 100, 1),
    ]


def test_a_discount_shows_as_a_list_price_beside_the_one_paid() -> None:
    book = PriceBook(BOOK.entries, (Discount(date(2026, 1, 1), Decimal(50)),), builtin=False)
    found = of(row(output_tokens=0), book=book)
    assert found.rows.select("pico", "listed_pico").rows() == [(30_000_000, 60_000_000)]


def test_unpriced_and_undated_requests_have_no_row_and_are_counted() -> None:
    found = of(row(), row(model="stranger"), row(started_ns=None))
    assert (found.requests, found.unpriced_requests, found.unpriced_tokens, found.undated_requests) == (3, 1, 110, 1)
    assert found.rows["requests"].sum() == 1
    assert found.by_model == {"m": 78_000_000}


def test_rows_are_by_day_or_hour_in_utc() -> None:
    late, early = ns("2026-10-31T23:59:59Z"), ns("2026-11-01T00:00:00Z")
    days = of(row(started_ns=late, output_tokens=0), row(started_ns=early, output_tokens=0))
    assert days.rows["period_ns"].to_list() == [ns("2026-10-31T00:00:00Z"), early]
    hours = of(row(started_ns=late, output_tokens=0), grain="hour")
    assert hours.rows["period_ns"].to_list() == [ns("2026-10-31T23:00:00Z")]


def test_further_dimensions_tell_rows_apart() -> None:
    rows = [row(output_tokens=0, dimensions=f'{{"team": "{team}"}}') for team in ("a", "b")]
    found = of(*rows, further=["team", "user"])
    assert found.further == ("team",)
    assert found.rows["team"].to_list() == ["a", "b"]
    with pytest.raises(ConfigError, match='costs cannot be split by "crew"'):
        of(*rows, further=["crew"])


def test_tokens_of_a_sample_are_whole_and_add_up() -> None:
    found = of(*(row(user=f"u-{n}", input_tokens=n, output_tokens=1, sampling_rate=0.3) for n in (1, 2, 4)))
    assert found.sampled is True
    assert found.rows.filter(meter="input")["tokens"].to_list() == [3, 7, 13]  # 7 / 0.3 = 23.3; parts 3.3, 6.7, 13.3
    assert found.rows.filter(meter="output")["tokens"].sum() == 10
    assert found.rows["requests"].sum() == found.requests == 10


def test_nothing_priced_gives_no_rows() -> None:
    found = of(row(model="stranger"))
    assert found.rows.is_empty()
    assert (found.ledger_pico, found.last_ns) == (0, None)
