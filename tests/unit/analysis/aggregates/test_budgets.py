"""Budgets per month against what was spent, and the pace of a month."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from analysis.aggregates.budgets import budget_lines, last_month, month_forecast, month_range
from analysis.aggregates.charges import charge_lines
from analysis.ledger import keep_ledger
from analysis.pricebook import Budget, PriceBook, PriceEntry
from analysis.result import BudgetLine
from ingest.selection import Selection
from tests.support.money import ns, requests

BOOK = PriceBook((PriceEntry("m", date(2026, 1, 1), {"input": Decimal(1), "output": Decimal(1)}),), builtin=False)


def spent(tenant: str, at: str, usd: int) -> dict[str, object]:
    return {"model": "m", "tenant": tenant, "started_ns": ns(at), "input_tokens": usd * 1_000_000, "output_tokens": 0}


def test_a_budget_is_judged_per_month_and_value() -> None:
    rows = requests(
        spent("acme", "2026-10-31T23:30:00Z", 5),  # November in Berlin
        spent("acme", "2026-11-02T09:00:00Z", 3),
        spent("zeta", "2026-11-03T09:00:00Z", 1),
        spent("acme", "2026-10-20T09:00:00Z", 2),
    )
    ledger = keep_ledger(rows, None, BOOK)
    lines = charge_lines(ledger.requests, ledger, ["tenant", "month"], "Europe/Berlin")
    selection = Selection(ns("2026-10-15T00:00:00+02:00"), ns("2026-11-16T00:00:00+01:00"), timezone="Europe/Berlin")
    # October of the selection: 409 of its 745 hours, for the clock goes back on the 25th
    budgets = (Budget(Decimal(7), per="tenant"), Budget(Decimal(10), where=(("tenant", ("zeta", "acme")),)))
    assert budget_lines(lines, budgets, selection) == [
        BudgetLine("2026-11", {"tenant": "acme"}, "7", "8", 8 / 7, "16", "exceeded"),
        BudgetLine("2026-11", {"tenant": "zeta, acme"}, "10", "9", 0.9, "18", "endangered"),
        BudgetLine("2026-10", {"tenant": "acme"}, "7", "2", 2 / 7, "3.643031784841", "kept"),
        BudgetLine("2026-10", {"tenant": "zeta, acme"}, "10", "2", 0.2, "3.643031784841", "kept"),
        BudgetLine("2026-11", {"tenant": "zeta"}, "7", "1", 1 / 7, "2", "kept"),
    ]


def test_a_month_is_a_calendar_month_of_the_zone() -> None:
    assert month_range("2026-12", "UTC") == (ns("2026-12-01T00:00:00Z"), ns("2027-01-01T00:00:00Z"))
    assert month_range("2026-10", "Europe/Berlin") == (ns("2026-09-30T22:00:00Z"), ns("2026-10-31T23:00:00Z"))


def test_a_selection_ends_in_the_month_of_its_last_instant() -> None:
    assert last_month(Selection(0, ns("2026-12-01T00:00:00Z"))) == "2026-11"
    assert last_month(Selection()) is None


def test_a_week_is_scaled_to_its_month() -> None:
    week = Selection(ns("2026-11-02T00:00:00Z"), ns("2026-11-09T00:00:00Z"))
    assert month_forecast(7_000, "2026-11", week) == 30_000
    assert month_forecast(7_000, "2026-12", week) is None
    assert month_forecast(7_000, "2026-11", Selection()) is None


def test_less_than_a_day_says_nothing_of_a_month() -> None:
    evening = Selection(ns("2026-11-02T00:00:00Z"), ns("2026-11-02T23:59:59Z"))
    assert month_forecast(7_000, "2026-11", evening) is None
