"""A bill against the ledger: equal, explained, or named as what nobody can explain."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.ledger import keep_ledger
from analysis.pricebook import CurrencyRate, PriceBook, PriceEntry
from analysis.reconcile import months_within, reconcile
from analysis.result import BilledModel, ReconciledMonth, Reconciliation
from ingest.bills import Bill, BillLine, RefusedRow
from ingest.errors import ConfigError
from ingest.selection import Selection
from tests.support.money import ns, requests

USD = 10**12
ONE = {"input": Decimal(1), "output": Decimal(1)}
BOOK = PriceBook(
    tuple(PriceEntry(model, date(2026, 1, 1), ONE) for model in ("gpt-x", "gpt-y")),
    rates=(CurrencyRate("EUR", date(2026, 1, 1), Decimal("1.25")),),
    builtin=False,
)


def spent(usd: int, model: str = "gpt-x", **more: Any) -> dict[str, Any]:
    return {"model": model, "provider": "openai", "input_tokens": usd * 1_000_000, "output_tokens": 0, **more}


def charged(usd: str, model: str | None = "gpt-x", **more: Any) -> BillLine:
    fixed = {
        "day": date(2026, 11, 3),
        "provider": "OpenAI",
        "model": model,
        "currency": "USD",
        "tokens": None,
        "decimals": 12,
    }
    return BillLine(**{**fixed, "pico": int(Decimal(usd) * USD), **more})


def judged(bill: list[BillLine], *rows: dict[str, Any], period: str | None = None) -> Reconciliation:
    ledger = keep_ledger(requests(*rows), None, BOOK)
    return reconcile(Bill("bill.csv", tuple(bill), {}, ()), ledger.requests, ledger, period)


def only(found: Reconciliation) -> tuple[dict[str, str], str, str]:
    (month,) = found.months
    total = Decimal(month.ledger_usd) + sum(map(Decimal, month.explained.values())) + Decimal(month.unexplained_usd)
    assert total == Decimal(month.bill_usd)
    return month.explained, month.unexplained_usd, month.verdict


SMALL = "the unexplained part is at most 0.5 % of the bill"


def test_a_bill_that_equals_the_ledger_passes() -> None:
    found = judged([charged("60"), charged("40", "gpt-y")], spent(60), spent(40, "gpt-y"))
    assert found == Reconciliation(
        bill="bill.csv",
        verdict="pass",
        months=[ReconciledMonth("2026-11", "openai", "100", "100", {}, "0", 0.0, "pass", SMALL)],
        models=[
            BilledModel("2026-11", "openai", "gpt-x", "60", "60", 0),
            BilledModel("2026-11", "openai", "gpt-y", "40", "40", 0),
        ],
        rejected=[],
        n_rejected=0,
        n_lines=2,
        notes=[],
    )


@pytest.mark.parametrize(
    ("billed", "verdict", "says"),
    [
        ("1005", "pass", "at most 0.5 % of the bill"),
        ("1019", "warn", "at most 2 % of the bill"),
        ("1100", "fail", "above 2 % of the bill and above 1 USD"),
        ("980.1", "fail", "above 2 % of the bill and above 1 USD"),
    ],
)
def test_the_unexplained_share_decides(billed: str, verdict: str, says: str) -> None:
    month = judged([charged(billed)], *[spent(100)] * 10).months[0]
    assert (month.verdict, month.says) == (verdict, f"the unexplained part is {says}")


def test_less_than_a_dollar_passes_whatever_the_share() -> None:
    month = judged([charged("2")], spent(1)).months[0]
    assert (month.verdict, month.says) == ("pass", "the unexplained part is at most 1 USD, whatever its share")


def test_a_model_without_price_explains_its_own_bill() -> None:
    found = judged([charged("10"), charged("90", "gpt-z")], spent(10), spent(1, "gpt-z"))
    assert only(found) == ({"unpriced": "90"}, "0", "pass")
    assert found.models[1] == BilledModel("2026-11", "openai", "gpt-z", "90", None, 1)


def test_a_model_that_the_ledger_never_saw_explains_nothing_and_is_named() -> None:
    found = judged([charged("10"), charged("90", "gpt-q")], spent(10))
    assert only(found) == ({}, "90", "fail")
    assert found.notes == ["2026-11, openai: the ledger has no request of gpt-q"]


def test_a_model_that_the_bill_does_not_have_is_named() -> None:
    found = judged([charged("10")], spent(10), spent(5, "gpt-y"))
    assert only(found) == ({}, "-5", "fail")
    assert found.notes == ["2026-11, openai: the bill has no line of gpt-y"]


def test_requests_without_token_counts_explain_what_is_missing_of_their_model() -> None:
    uncounted = spent(0, input_tokens=None, output_tokens=None)
    assert only(judged([charged("70")], spent(50), uncounted)) == ({"missing_usage": "20"}, "0", "pass")


def test_a_request_over_the_end_of_the_month_is_billed_in_the_next() -> None:
    late: dict[str, Any] = {"started_ns": ns("2026-10-31T23:59:59Z"), "ended_ns": ns("2026-11-01T00:00:05Z")}
    bill = [charged("60", day=date(2026, 10, 31)), charged("50")]
    found = judged(bill, spent(60, started_ns=ns("2026-10-10T00:00:00Z")), spent(20, **late), spent(30))
    assert [(m.month, m.explained, m.unexplained_usd) for m in found.months] == [
        ("2026-10", {"straddlers": "-20"}, "0"),
        ("2026-11", {"straddlers": "20"}, "0"),
    ]


def test_a_bill_that_counts_by_start_needs_no_straddlers() -> None:
    late: dict[str, Any] = {"started_ns": ns("2026-11-30T23:59:59Z"), "ended_ns": ns("2026-12-01T00:00:05Z")}
    assert only(judged([charged("50")], spent(20, **late), spent(30))) == ({}, "0", "pass")
    assert only(judged([charged("45")], spent(20, **late), spent(30))) == ({"straddlers": "-5"}, "0", "pass")


def test_failed_requests_explain_at_most_their_cost() -> None:
    rows = (spent(100), spent(7, status_class="error"))
    assert only(judged([charged("100")], *rows)) == ({"failed": "-7"}, "0", "pass")
    assert only(judged([charged("90")], *rows)) == ({"failed": "-7"}, "-10", "fail")
    assert only(judged([charged("107")], *rows)) == ({}, "0", "pass")


def test_a_stand_in_for_the_cached_price_explains_at_most_what_it_cost() -> None:
    row = spent(100, cached_input_tokens=40_000_000)
    assert only(judged([charged("70")], row)) == ({"cache_price": "-30"}, "0", "pass")


def test_rounding_explains_half_a_unit_of_the_last_decimal_per_line() -> None:
    bill = [charged("10.01", decimals=2)] * 100
    assert only(judged(bill, *[spent(100)] * 10)) == ({"rounding": "0.5"}, "0.5", "pass")


def test_amounts_in_another_currency_are_turned_into_dollars_or_refused() -> None:
    assert only(judged([charged("8", currency="EUR")], spent(10))) == ({}, "0", "pass")
    with pytest.raises(
        ConfigError, match=r"amounts in CHF on 2026-11-03, and no rate is known\. Add one to prices\.yaml"
    ):
        judged([charged("8", currency="CHF")], spent(10))


def test_only_the_period_that_is_asked_for_is_compared() -> None:
    bill = [charged("10"), charged("5", day=date(2026, 12, 1))]
    assert [m.month for m in judged(bill, spent(10), period="2026-11").months] == ["2026-11"]
    nothing = judged(bill, spent(10), period="2025-01")
    assert (nothing.verdict, nothing.months, nothing.notes) == ("", [], ["the bill has no line in the period"])


def test_lines_of_other_months_than_the_selections_are_left_out() -> None:
    lines = tuple(charged("1", day=date(2026, month, 15)) for month in (9, 10, 11, 12))
    bill = Bill("bill.csv", lines, {}, ())
    start, end = (int(datetime(2026, 11, day, tzinfo=UTC).timestamp()) * 10**9 for day in (9, 16))
    november = Selection(start, end)
    assert [line.day.month for line in months_within(bill, november).lines] == [11]
    assert [line.day.month for line in months_within(bill, replace(november, start_ns=None)).lines] == [9, 10, 11]
    assert months_within(bill, Selection()) == bill


def test_refused_rows_are_told_of_the_period_and_without_a_day() -> None:
    days = (date(2026, 10, 31), None, date(2026, 11, 1), date(2026, 12, 1))
    rows = tuple(RefusedRow(n, 'cost is "abc", which is no amount', day) for n, day in enumerate(days, 2))
    ledger = keep_ledger(requests(spent(10)), None, BOOK)
    bill = Bill("bill.csv", (charged("10"),), {}, rows)
    found = reconcile(bill, ledger.requests, ledger, "2026-11")
    assert ([place for place, _ in found.rejected], found.n_rejected) == ([3, 4], 2)
    told = '2 rows of the bill could not be used; the first is line 3: cost is "abc", which is no amount'
    assert found.notes == [told]
    start, end = (int(datetime(2026, 11, day, tzinfo=UTC).timestamp()) * 10**9 for day in (9, 16))
    assert [row.place for row in months_within(bill, Selection(start, end)).rejected] == [3, 4]


def test_versions_of_a_model_and_names_of_a_provider_are_the_same_thing() -> None:
    bill = [
        charged("10", "GPT-X-2026-08-06", provider="Open AI"),
        charged("3", "claude-1-20260101", provider="Amazon Web Services"),
    ]
    rows = (spent(10), spent(3, "claude-1", provider="aws.bedrock"))
    found = judged(bill, *rows)
    assert [(m.provider, m.ledger_usd) for m in found.months] == [("aws", "0"), ("openai", "10")]
    assert [(m.model, m.bill_usd, m.unpriced_requests) for m in found.models] == [
        ("claude-1", "3", 1),
        ("gpt-x", "10", 0),
    ]


def test_requests_without_provider_belong_to_the_only_one_of_the_bill() -> None:
    assert only(judged([charged("10")], spent(10, provider=None))) == ({}, "0", "pass")
    assert only(judged([charged("10", provider=None)], spent(4), spent(6, provider="acme"))) == ({}, "0", "pass")


def test_rejected_rows_and_a_sample_are_told() -> None:
    ledger = keep_ledger(requests(spent(5, sampling_rate=0.5)), None, BOOK)
    bill = Bill("bill.csv", (charged("10"),), {}, (RefusedRow(7, 'date is "Total", which is no date'),))
    found = reconcile(bill, ledger.requests, ledger)
    assert (found.n_rejected, found.rejected) == (1, [(7, 'date is "Total", which is no date')])
    assert found.notes == [
        '1 row of the bill could not be used, line 7: date is "Total", which is no date',
        "the requests are a sample: the ledger is an estimate",
    ]
