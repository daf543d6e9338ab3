"""Budgets of the price file against the months of a selection, and what a month will have cost at this pace.

Input: charge lines, the budgets, the range of the selection. Output: BudgetLine per month and value; a forecast.
Months are calendar months in the time zone of the selection. A forecast takes the pace of the part of the month
that lies in the selection, and is absent where that is less than a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction

import polars as pl

from analysis.aggregates.charges import cube
from analysis.money import PICO, round_half_even, usd_text
from analysis.pricebook import Budget
from analysis.result import BudgetLine
from ingest.selection import Selection, to_datetime, to_ns, zone_of

SHORTEST_PACE_NS = 86_400_000_000_000  # traffic has a daily course: less than a day of it says nothing of a month
_COST = {"cost": pl.col("cost_pico")}


def budget_lines(
    lines: pl.DataFrame, budgets: Sequence[Budget], selection: Selection, most: int = 50
) -> list[BudgetLine]:
    """Every budget's months, the most exhausted first; at most `most` values of a budget per value."""
    found: list[tuple[Fraction, BudgetLine]] = []
    for budget in budgets:
        of = [budget.per] if budget.per else []
        kept = lines
        for name, values in budget.where:
            kept = kept.filter(pl.col(f"by_{name}").is_in(values))
        sums = cube(kept.filter(pl.col("by_month").is_not_null()), ["month", *of], _COST)
        rows = [_line(budget, key, values["cost"], selection) for key, values in sums.items()]
        found += sorted(rows, key=lambda row: -row[0])[:most]
    return [line for _, line in sorted(found, key=lambda row: (-row[0], row[1].month, str(row[1].of)))]


def _line(budget: Budget, key: tuple[str | None, ...], spent: int, selection: Selection) -> tuple[Fraction, BudgetLine]:
    month = key[0] or ""
    allowed = round_half_even(Fraction(budget.usd_per_month) * PICO)
    forecast = month_forecast(spent, month, selection)
    verdict = "exceeded" if spent > allowed else "kept"
    if verdict == "kept" and forecast is not None and forecast > allowed:
        verdict = "endangered"
    of: dict[str, str | None] = dict.fromkeys([budget.per], key[-1]) if budget.per else {}
    of |= {name: ", ".join(values) for name, values in budget.where}
    share = Fraction(spent, allowed) if allowed else Fraction(10**9 if spent else 0)
    line = BudgetLine(
        month=month,
        of=of,
        budget_usd=usd_text(allowed),
        spent_usd=usd_text(spent),
        share=float(share) if allowed else None,
        forecast_usd=None if forecast is None else usd_text(forecast),
        verdict=verdict,
    )
    return share, line


def month_forecast(spent: int, month: str, selection: Selection) -> int | None:
    """What the month will have cost if its other days are like those of the selection."""
    start, end = month_range(month, selection.timezone)
    if selection.start_ns is None or selection.end_ns is None:
        return None
    inside = min(end, selection.end_ns) - max(start, selection.start_ns)
    return None if inside < SHORTEST_PACE_NS else round_half_even(Fraction(spent) * (end - start) / inside)


def month_range(month: str, timezone: str) -> tuple[int, int]:
    """First instant of a month such as 2026-11, and of the next one."""
    zone = zone_of(timezone)
    year, number = (int(part) for part in month.split("-"))
    after = (year + number // 12, number % 12 + 1)
    return to_ns(datetime(year, number, 1, tzinfo=zone)), to_ns(datetime(*after, 1, tzinfo=zone))


def last_month(selection: Selection) -> str | None:
    """The month in which the selection ends; null without an end."""
    if selection.end_ns is None:
        return None
    return to_datetime(selection.end_ns - 1_000).astimezone(zone_of(selection.timezone)).strftime("%Y-%m")
