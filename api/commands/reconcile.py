"""tailwise reconcile: a provider's bill against the ledger.

Input: a bill, and paths or a store. Output: a table per month and provider, what explains the difference and what
does not; JSON if asked for; exit code 3 where the bill fails, or nothing of it could be compared.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from analysis.result import ReconciledMonth, Reconciliation
from api.commands.desk import open_desk, question_of
from api.commands.options import Asking, with_options
from api.outlet import put
from api.problems import EXIT_BREACHED
from api.words import table_lines
from ingest.bills import read_bill
from ingest.errors import ConfigError
from reports import text

PASSED = ("pass", "warn")  # a bill that fails, or of which nothing could be compared, stops a gate
REASONS = {
    "unpriced": "models without a price",
    "missing_usage": "requests without token counts",
    "straddlers": "requests over the end of the month",
    "failed": "failed requests, not billed",
    "cache_price": "cached input charged as input",
    "rounding": "rounding in the bill",
}


@dataclass(frozen=True)
class BillAsking(Asking):
    """As elsewhere, but that the first path is the bill."""

    paths: Annotated[
        list[str] | None, typer.Argument(metavar="BILL [PATH...]", help="CSV or Parquet of a provider, then traces.")
    ] = None


@with_options(BillAsking)
def reconcile(
    asking: BillAsking,
    period: Annotated[str | None, typer.Option(help="Month in UTC, such as 2026-11; default all of the bill.")] = None,
    json: Annotated[str | None, typer.Option("--json", help="The comparison as JSON; - for standard output.")] = None,
) -> None:
    """Compare a provider's bill with what requests cost, and say what explains the difference."""
    if not asking.paths:
        raise ConfigError("no bill is given. Write: tailwise reconcile BILL [PATH...]")
    bill, *traces = asking.paths
    read = read_bill(Path(bill))
    with open_desk(replace(asking, paths=traces or None)) as opened:
        found = opened.desk.reconcile(question_of(asking), read, period)
    if json:
        put(msgspec.json.encode(found, order="sorted") + b"\n", json)
    stream = sys.stderr if json == "-" else sys.stdout
    stream.write("\n".join(reconciliation_lines(found)) + "\n")
    stream.flush()
    if found.verdict not in PASSED:
        raise typer.Exit(EXIT_BREACHED)
    opened.end()


def reconciliation_lines(found: Reconciliation) -> list[str]:
    """The verdict, months with their reasons, models, notes."""
    verdict = found.verdict.upper() or "nothing to compare"
    lines = [f"{found.bill}: {verdict}, {text.count(found.n_lines)} lines of the bill"]
    for month in found.months:
        lines += ["", *_month_lines(month)]
    if found.models:
        header = ["month", "provider", "model", "bill USD", "ledger USD", "unpriced requests"]
        rows = [
            [m.month, m.provider, m.model, m.bill_usd or text.UNKNOWN, m.ledger_usd or text.UNKNOWN, text.count(m.unpriced_requests)]
            for m in found.models
        ]  # fmt: skip
        lines += ["", *table_lines(header, rows, figures=3)]
    return lines + [f"note: {note}" for note in found.notes]


def _month_lines(month: ReconciledMonth) -> list[str]:
    share = "" if month.unexplained_share is None else f", {text.share(month.unexplained_share)} of the bill"
    rows = [
        ["bill", month.bill_usd],
        ["ledger", month.ledger_usd],
        *([REASONS[reason], amount] for reason, amount in month.explained.items()),
        [f"unexplained{share}", month.unexplained_usd],
    ]
    head = f"{month.month} {month.provider}: {month.verdict.upper()}"
    return [*table_lines([head, "USD"], rows, figures=1), f"{month.verdict}: {month.says}"]
