"""The finance file against the ledger and the bill: sums of what was written, and of what was charged, made apart.

Input: MeteredCharges, the rows of the file, the comparison with a bill. Output: what reconciliation.json says: FINAL
where every sum agrees and a bill passes for all of the file, else DRAFT with the reasons. Without a sample every sum must
be equal to the last digit. Of a sample, tokens were cut to whole ones row by row, so a cost may miss the ledger's by
at most one token per row, and a count by one for each of the sums it is put together from.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import polars as pl

from analysis.aggregates.metered import MeteredCharges
from analysis.money import pico_of, usd_text
from analysis.result import Reconciliation
from reports.names import capped
from reports.writers.focus_schema import MOST_FAULTS, PRECISION, faults

SLICE = 20_000
SUMS_OF_A_COUNT = 3  # exported, unpriced and undated requests are rounded one by one


def reconciliation(
    charges: MeteredCharges, table: pl.DataFrame, version: str, bill: Reconciliation | None = None
) -> dict[str, Any]:
    """Sums of the rows against the ledger; the file stays a draft until they agree and a bill passes for all of it."""
    exported = total(table.get_column("EffectiveCost").to_list())
    counted = sum(int(n) for n in table.get_column("x_RequestCount"))
    left_out = charges.unpriced_requests + charges.undated_requests
    broken = _faults(table, version)
    rounded = SUMS_OF_A_COUNT if charges.sampled else 0
    checks = [
        _check("EffectiveCost equals the ledger", exported, charges.ledger_pico, _one_token_a_row(charges)),
        {
            "check": "x_RequestCount plus requests left out equals the report",
            "export": str(counted + left_out),
            "ledger": str(charges.requests),
            "equal": counted + left_out == charges.requests,
            "allowed": str(rounded),
            "passed": abs(counted + left_out - charges.requests) <= rounded,
        },
        {
            "check": "no rule of FOCUS is broken",
            "export": str(len(broken)),
            "ledger": "0",
            "equal": not broken,
            "allowed": "0",
            "passed": not broken,
        },
        *_parts(table, "x_Model", charges.by_model, charges),
        *_parts(table, "SubAccountId", charges.by_tenant, charges),
    ]
    failed = [f"failed: {check['check']}" for check in checks if not check["passed"]]
    reasons = [*failed, *_open_questions(bill, exported, charges)]
    return {
        "state": "DRAFT" if reasons else "FINAL",
        "reasons": reasons,
        "passed": not failed,
        "bill": None if bill is None else _bill(bill),
        "checks": checks,
        "faults": broken,
        "unpriced": {"requests": charges.unpriced_requests, "tokens": charges.unpriced_tokens},
        "without_start": {"requests": charges.undated_requests},
        "sampled": charges.sampled,
        "sampling_rounding_usd": usd_text(exported - charges.ledger_pico) if charges.sampled else "0",
    }


def _bill(bill: Reconciliation) -> dict[str, Any]:
    """Verdict of the bill with all that it rests on: months by reason, notes, rows that could not be used."""
    return {
        "name": bill.bill,
        "verdict": bill.verdict,
        "months": bill.months,
        "notes": bill.notes,
        "rejected": [{"place": place, "reason": reason} for place, reason in bill.rejected],
        "n_rejected": bill.n_rejected,
        "n_lines": bill.n_lines,
    }


def _open_questions(bill: Reconciliation | None, exported: int, charges: MeteredCharges) -> list[str]:
    """What the bill leaves open; nothing if it passes for all that the file holds."""
    if bill is None:
        return ["no bill has been compared"]
    found = [
        f"{bill.bill}: {month.month} of {month.provider}: {month.verdict}, {month.unexplained_usd} of {month.bill_usd} USD"
        " stay unexplained"
        for month in bill.months
        if month.verdict != "pass"
    ]
    if bill.n_rejected:
        found.append(f"{bill.bill}: {bill.n_rejected} line{'s' if bill.n_rejected != 1 else ''} could not be read")
    covered = sum(pico_of(month.ledger_usd) for month in bill.months)
    if abs(covered - exported) > _one_token_a_row(charges):
        found.append(f"{bill.bill} covers {usd_text(covered)} of the file's {usd_text(exported)} USD")
    if charges.sampled:
        found.append("requests are a sample, so amounts are estimates")
    return found


def _faults(table: pl.DataFrame, version: str) -> list[str]:
    """The first faults of the rows; looked at in slices, for all rows as records would not fit."""
    found: list[str] = []
    for at in range(0, table.height, SLICE):
        found += faults(table.slice(at, SLICE).rows(named=True), version, first=at + 1)
        if len(found) >= MOST_FAULTS:
            break
    return found[:MOST_FAULTS]


def total(amounts: list[str]) -> int:
    """Pico-USD of decimal texts together."""
    with localcontext() as context:
        context.prec = 2 * PRECISION
        return pico_of(str(sum(map(Decimal, amounts), Decimal(0))))


def _one_token_a_row(charges: MeteredCharges) -> int:
    """By how much costs of a sample may differ: one token of every row at its price; nothing without a sample."""
    if not charges.sampled:
        return 0
    pairs = charges.rows.select("price", "meter").drop_nulls().iter_rows()
    return sum(charges.prices[price].net.get(meter, 0) for price, meter in pairs)


def _parts(
    table: pl.DataFrame, column: str, ledger: dict[str | None, int], charges: MeteredCharges
) -> list[dict[str, Any]]:
    """The same check for every value of a column; an empty text of the ledger is null in the file."""
    groups = table.group_by(column).agg(pl.col("EffectiveCost"))
    exported = {key: total(amounts) for key, amounts in groups.iter_rows()}
    wanted: dict[str | None, int] = {}
    for key, pico in ledger.items():
        name = capped(key or None)
        wanted[name] = wanted.get(name, 0) + pico
    names = sorted({*exported, *wanted}, key=lambda key: (key is None, key or ""))
    allowed = _one_token_a_row(charges)
    return [
        _check(f"EffectiveCost of {column} {name or 'null'} equals the ledger", exported.get(name, 0), wanted.get(name, 0), allowed)
        for name in names
    ]  # fmt: skip


def _check(what: str, export: int, ledger: int, allowed: int) -> dict[str, Any]:
    return {
        "check": what,
        "export": usd_text(export),
        "ledger": usd_text(ledger),
        "equal": export == ledger,
        "allowed": usd_text(allowed),  # rounding of the counts that sampled rows stand for
        "passed": abs(export - ledger) <= allowed,
    }
