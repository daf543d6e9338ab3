"""A provider's bill against the ledger: what differs, what explains it, and what does not.

Input: a Bill, priced requests and their ledger, charges of days whose rows are gone. Output: Reconciliation; per month
(UTC) and provider
bill = ledger + explained + unexplained, to the last digit. Reasons are taken in this order, each only as far as the
ledger itself gives it:
    unpriced        models of the bill that the ledger knows and has no price for: their whole bill
    missing_usage   models for which requests without token counts are known: what the bill has above the ledger
    straddlers      requests that started in the month and ended in the next one, and the other way round, for an
                    invoice may count by completion: at most their cost
    failed          failed requests that used tokens, which the provider may not have billed: at most their cost
    cache_price     cached input charged at the price of input for want of another: at most that cost
    rounding        half a unit of the last decimal of every line of the bill, at most
A model of the bill that the ledger has never seen explains nothing: it is named, and stays unexplained. Of days whose
rows retention dropped the costs are exact and tell every reason but straddlers, which a note says.
Verdict: pass if the unexplained part is within 0.5 % of the bill or one USD, warn within 2 %, else fail.
Source: reconciliation gate of the finance export.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

import polars as pl

from analysis.aggregates.charges import charge_lines, cube
from analysis.ledger import NO_TOKENS, Ledger
from analysis.money import PICO, usd_text
from analysis.result import BilledModel, ReconciledMonth, Reconciliation
from analysis.rollups.charges import RolledCharges
from ingest.bills import Bill, BillLine, RefusedRow
from ingest.errors import ConfigError
from ingest.selection import Selection, to_datetime, to_iso

PASS_SHARE, PASS_PICO, WARN_SHARE = Fraction(5, 1000), PICO, Fraction(2, 100)
EXACT_DECIMALS = 12  # an amount told with as many was not rounded
ALL = "all providers"
FIRST_REJECTED = 20
_SAME_PROVIDER = {  # names on invoices -> what traces call the provider
    "amazonwebservices": "aws",
    "awsbedrock": "aws",
    "azureaiopenai": "azure",
    "gcpvertexai": "google",
    "googlecloud": "google",
    "internalinferenceplatform": "internal",
    "microsoft": "azure",
    "microsoftazure": "azure",
    "mistralai": "mistral",
}
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$")

Group = tuple[str, str]  # month, provider


@dataclass
class _Side:
    """Pico-USD per model of one group, and what the ledger knows about them."""

    bill: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ledger: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unpriced: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # requests
    uncounted: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # requests without token counts
    failed: int = 0
    cache_bound: int = 0
    straddling: int = 0
    rounding: Fraction = Fraction(0)


def reconcile(
    bill: Bill, priced: pl.DataFrame, ledger: Ledger, period: str | None = None, kept: RolledCharges | None = None
) -> Reconciliation:
    """The bill against the ledger.

    Args:
        ledger: with the prices of `kept` too.
        period: a month such as 2026-11; null: every month of the bill.
        kept: charges of days whose rows are gone.

    Raises:
        ConfigError: the bill is in a currency without a rate in the price file.
    """
    lines = [line for line in bill.lines if period is None or _month(line.day) == period]
    refused = [row for row in bill.rejected if period is None or row.day is None or _month(row.day) == period]
    providers = {_provider(line.provider) for line in lines}
    one = next(iter(providers)) if len(providers) == 1 else None
    sides: dict[Group, _Side] = defaultdict(_Side)
    for line in lines:
        side = sides[_month(line.day), _provider(line.provider)]
        side.bill[_model(line.model)] += _in_usd(line, ledger)
        if line.decimals < EXACT_DECIMALS:
            side.rounding += Fraction(PICO, 2 * 10**line.decimals)
    _read_ledger(sides, priced, ledger, one, kept)
    months = [_judge(group, sides[group]) for group in sorted(sides)]
    verdicts = [month.verdict for month in months]
    return Reconciliation(
        bill=bill.name,
        verdict=next((verdict for verdict in ("fail", "warn", "pass") if verdict in verdicts), ""),
        months=months,
        models=[row for group in sorted(sides) for row in _models(group, sides[group])],
        rejected=[(row.place, row.reason) for row in refused[:FIRST_REJECTED]],
        n_rejected=len(refused),
        n_lines=len(lines),
        notes=[
            *_refused(refused, bill.places),
            *_notes(lines, sides, _rates(priced, kept)),
            *_dropped(kept, {month for month, _ in sides}),
        ],
    )


def months_within(bill: Bill, selection: Selection) -> Bill:
    """The bill without the rows of months (UTC) that lie outside of a selection; one without a day stays."""
    first = date.min if selection.start_ns is None else to_datetime(selection.start_ns).date().replace(day=1)
    last = date.max if selection.end_ns is None else to_datetime(selection.end_ns - 1).date()
    return replace(
        bill,
        lines=tuple(line for line in bill.lines if first <= line.day <= last),
        rejected=tuple(row for row in bill.rejected if row.day is None or first <= row.day <= last),
    )


def _read_ledger(
    sides: dict[Group, _Side], priced: pl.DataFrame, ledger: Ledger, one: str | None, kept: RolledCharges | None
) -> None:
    """Fill in what the ledger has for the groups of the bill; `one`: the only provider of the bill."""
    lines = charge_lines(priced, ledger, ["month", "provider", "model"], kept=kept)
    bounds = _cache_bounds(ledger)
    lines = lines.with_columns(
        pl.col("waste").is_in(["failed", "timed_out"]).fill_null(value=False).alias("is_failed"),
        (pl.col("unpriced") == NO_TOKENS).fill_null(value=False).alias("is_uncounted"),
        (pl.col("cached_input_meter") * pl.col("price_index").replace_strict(bounds, default=0, return_dtype=pl.Int64))
        .fill_null(0)
        .alias("cache_bound"),
    )
    measures = {
        "cost": pl.col("cost_pico"),
        "unpriced": pl.col("counts_unpriced"),
        "uncounted": pl.col("is_uncounted"),
        "failed": pl.col("cost_pico").filter("is_failed"),
        "cache_bound": pl.col("cache_bound"),
    }
    for (month, provider, model), found in cube(lines, ["month", "provider", "model"], measures).items():
        side = _side_of(sides, month, provider, one)
        if side is None:
            continue
        name = _model(model)
        side.ledger[name] += found["cost"]
        side.unpriced[name] += found["unpriced"]
        side.uncounted[name] += found["uncounted"]
        side.failed += found["failed"]
        side.cache_bound += found["cache_bound"]
    for month, provider, pico in _straddlers(priced):
        side = _side_of(sides, month, provider, one)
        if side is not None:
            side.straddling += pico


def _side_of(sides: dict[Group, _Side], month: str | None, provider: str | None, one: str | None) -> _Side | None:
    """The group that a row of the ledger belongs to; a row without provider goes to the bill's only one."""
    name = _provider(provider) if provider is not None and one != ALL else one
    return sides[month, name] if month is not None and name is not None and (month, name) in sides else None


def _straddlers(priced: pl.DataFrame) -> list[tuple[str, str | None, int]]:
    """Cost that leaves its month with the request's end (negative there, positive in the month of the end)."""
    start, end = (pl.from_epoch(name, time_unit="ns").dt.strftime("%Y-%m") for name in ("started_ns", "ended_ns"))
    moved = priced.select(start.alias("from"), end.alias("to"), "provider", "sampling_rate", "cost_pico").filter(
        (pl.col("from") != pl.col("to")) & pl.col("cost_pico").is_not_null()
    )
    rows = moved.with_columns(pl.col("sampling_rate").fill_null(1.0)).rename(
        {"from": "by_from", "to": "by_to", "provider": "by_provider"}
    )
    found = cube(rows, ["from", "to", "provider"], {"cost": pl.col("cost_pico")})
    out = []
    for (left, entered, provider), values in found.items():
        out += [(left or "", provider, -values["cost"]), (entered or "", provider, values["cost"])]
    return out


def _cache_bounds(ledger: Ledger) -> dict[int, int]:
    """Per price: what a cached token may have been charged too much, where input's price stands in for its own."""
    return {
        at: price.net["input"]
        for at, price in enumerate(ledger.prices)
        if ("cached_input", "input") in price.assumed and "input" in price.net
    }


def _judge(group: Group, side: _Side) -> ReconciledMonth:
    billed, kept = sum(side.bill.values()), sum(side.ledger.values())
    explained = {name: amount for name, amount in _explained(side, billed - kept).items() if amount}
    rest = billed - kept - sum(explained.values())
    share = Fraction(abs(rest), billed) if billed else None
    if abs(rest) <= PASS_PICO or (share is not None and share <= PASS_SHARE):
        verdict = "pass"
    else:
        verdict = "warn" if share is not None and share <= WARN_SHARE else "fail"
    return ReconciledMonth(
        month=group[0],
        provider=group[1],
        bill_usd=usd_text(billed),
        ledger_usd=usd_text(kept),
        explained={name: usd_text(amount) for name, amount in explained.items()},
        unexplained_usd=usd_text(rest),
        unexplained_share=None if share is None else float(share),
        verdict=verdict,
        says=_rule(verdict, share),
    )


def _rule(verdict: str, share: Fraction | None) -> str:
    """Why a month has its verdict."""
    most = f"{float(PASS_SHARE if verdict == 'pass' else WARN_SHARE) * 100:g} %"
    usd = f"{usd_text(PASS_PICO)} USD"
    if verdict == "fail":
        return f"the unexplained part is above {most} of the bill and above {usd}"
    if verdict == "pass" and (share is None or share > PASS_SHARE):
        return f"the unexplained part is at most {usd}, whatever its share"
    return f"the unexplained part is at most {most} of the bill"


def _explained(side: _Side, variance: int) -> dict[str, int]:
    """Amounts by reason, in the order of the module's list; what a reason may explain at most is cut to what is left."""
    named = {model for model in side.bill if model}
    kept, uncounted = side.ledger.get, side.uncounted.get
    unpriced = sum(side.bill[m] for m in named if side.unpriced.get(m) and not kept(m) and not uncounted(m))
    missing = sum(max(0, side.bill[m] - kept(m, 0)) for m in named if uncounted(m))
    found = {"unpriced": unpriced, "missing_usage": missing}
    left = variance - sum(found.values())
    for name, least, most in (
        ("straddlers", min(0, side.straddling), max(0, side.straddling)),
        ("failed", -side.failed, 0),
        ("cache_price", -side.cache_bound, 0),
        ("rounding", -int(side.rounding), int(side.rounding)),
    ):
        found[name] = max(least, min(most, left))
        left -= found[name]
    return found


def _models(group: Group, side: _Side) -> list[BilledModel]:
    rows = []
    for model in sorted({*side.bill, *side.ledger}):
        billed, kept = side.bill.get(model), side.ledger.get(model)
        nothing_priced = not kept and side.unpriced.get(model, 0) > 0
        rows.append(
            BilledModel(
                month=group[0],
                provider=group[1],
                model=model or "not stated",
                bill_usd=None if billed is None else usd_text(billed),
                ledger_usd=None if kept is None or nothing_priced else usd_text(kept),
                unpriced_requests=side.unpriced.get(model, 0),
            )
        )
    return rows


def _rates(priced: pl.DataFrame, kept: RolledCharges | None) -> set[float | None]:
    both = [priced, *([] if kept is None else [kept.rows])]
    return {rate for rows in both for rate in rows.get_column("sampling_rate").unique()}


def _notes(lines: list[BillLine], sides: dict[Group, _Side], rates: set[float | None]) -> list[str]:
    notes = []
    for (month, provider), side in sorted(sides.items()):
        strange = sorted(m for m in side.bill if m and m not in side.ledger and not side.unpriced.get(m))
        if strange and any(side.ledger.values()):
            notes.append(f"{month}, {provider}: the ledger has no request of {', '.join(strange)}")
        absent = sorted(m for m, pico in side.ledger.items() if m and pico and m not in side.bill)
        if absent and any(model for model in side.bill):
            notes.append(f"{month}, {provider}: the bill has no line of {', '.join(absent)}")
    if not lines:
        notes.append("the bill has no line in the period")
    if rates - {1.0, None}:
        notes.append("the requests are a sample: the ledger is an estimate")
    return notes


def _refused(rows: Sequence[RefusedRow], places: str) -> list[str]:
    """A sentence on the rows of the bill that could not be used, with the reason of the first; none without any."""
    if not rows:
        return []
    where = f"{places} {rows[0].place}: {rows[0].reason}"
    if len(rows) == 1:
        return [f"1 row of the bill could not be used, {where}"]
    return [f"{len(rows):,} rows of the bill could not be used; the first is {where}"]


def _dropped(kept: RolledCharges | None, months: set[str]) -> list[str]:
    """What days whose rows are gone leave open, month by month."""
    notes = []
    for month in sorted(months):
        days = [day for day in (kept.days if kept else ()) if f"{to_datetime(day.start_ns):%Y-%m}" == month]
        if days:
            notes.append(
                f"{month}: rows of {to_iso(days[0].start_ns)} to {to_iso(days[-1].end_ns)} were dropped by retention; their "
                "costs are added exactly, but which of their requests ended in another month is not known any more"
            )
    return notes


def _in_usd(line: BillLine, ledger: Ledger) -> int:
    if line.currency == "USD":
        return line.pico
    rates = [rate for rate in ledger.book.rates if rate.currency == line.currency and rate.start <= line.day]
    if not rates:
        raise ConfigError(
            f"the bill has amounts in {line.currency} on {line.day}, and no rate is known. "
            f"Add one to prices.yaml: currencies: [{{currency: {line.currency}, from: {line.day}, usd: ...}}]"
        )
    return round(line.pico * Fraction(max(rates, key=lambda rate: rate.start).usd))


def _month(day: date) -> str:
    return f"{day:%Y-%m}"


def _provider(name: str | None) -> str:
    if name is None:
        return ALL
    plain = re.sub(r"[^a-z0-9]", "", name.casefold())
    return _SAME_PROVIDER.get(plain, plain)


def _model(name: str | None) -> str:
    """The model without the date of its version: bills and traces differ in that."""
    return "" if name is None else _DATED.sub("", name.strip().casefold())
