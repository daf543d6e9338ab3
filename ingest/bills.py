"""A provider's bill or usage export, as rows to compare with the ledger.

Input: CSV (comma, semicolon or tab) or Parquet with a row per charge; columns are recognized by name: those of FOCUS,
and what providers call day, provider, model, amount, currency and tokens. Output: one Bill. A row that cannot be used
is counted with its line and reason; nothing is guessed. Amounts are read as decimal text, never through a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import polars as pl

from ingest.errors import UnknownFormat, UnreadableInput

PICO = 10**12
NAMES: dict[str, tuple[str, ...]] = {  # what a column is called, best first
    "day": ("chargeperiodstart", "usage_date", "date", "day", "start_time", "start_time_iso", "usage_start", "billingperiodstart", "month"),
    "provider": ("serviceprovidername", "providername", "invoiceissuername", "provider", "vendor"),
    "model": ("x_model", "model", "model_name", "model_version", "resourcename", "line_item", "sku"),
    "amount": ("billedcost", "amount", "amount_value", "cost", "cost_usd", "amount_usd", "total", "total_usd", "net_amount"),
    "currency": ("billingcurrency", "currency", "amount_currency"),
    "tokens": ("consumedquantity", "tokens", "total_tokens", "usage_quantity", "quantity"),
    "unit": ("consumedunit", "unit", "usage_unit"),
}  # fmt: skip
USD_IN_NAME = ("cost_usd", "amount_usd", "total_usd")
_AMOUNT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_FIRST_BAD = 20


@dataclass(frozen=True)
class BillLine:
    """One charge; `pico` in millionths of millionths of the currency, `exponent` how many decimals it was told with."""

    day: date
    provider: str | None
    model: str | None
    pico: int
    currency: str
    tokens: int | None
    decimals: int


@dataclass(frozen=True)
class Bill:
    """What was read: lines in order, columns as recognized, rows that could not be used (line, reason)."""

    name: str
    lines: tuple[BillLine, ...]
    columns: dict[str, str]
    rejected: tuple[tuple[int, str], ...]


def read_bill(path: Path) -> Bill:
    """The bill of a file.

    Raises:
        UnreadableInput: it is missing or damaged.
        UnknownFormat: no column says when or how much.
    """
    table = _table(path)
    columns = _recognized(table.columns)
    missing = [what for what in ("day", "amount") if what not in columns]
    if missing:
        known = ", ".join(NAMES[missing[0]])
        raise UnknownFormat(
            f"{path.name} has no column for the {missing[0]} of a charge. Known names: {known}. "
            f"Its columns: {', '.join(table.columns)}"
        )
    lines: list[BillLine] = []
    rejected: list[tuple[int, str]] = []
    for number, row in enumerate(table.select(columns.values()).iter_rows(), 2):
        cells = dict(zip(columns, row, strict=True))
        read = _line(cells, columns)
        if isinstance(read, str):
            rejected.append((number, read))
        else:
            lines.append(read)
    return Bill(path.name, tuple(lines), columns, tuple(rejected))


def _table(path: Path) -> pl.DataFrame:
    """Every cell as text; null where there is none."""
    try:
        with path.open("rb") as stream:
            head = stream.read(1 << 16)
        if head.startswith(b"PAR1"):
            frame = pl.read_parquet(path)
            return frame.select(_texts(frame))
        first = head.decode("utf-8-sig", errors="replace").splitlines()[:1]
        separator = max(",;\t", key=first[0].count) if first else ","
        return pl.read_csv(path, separator=separator, infer_schema=False, encoding="utf8", truncate_ragged_lines=False)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read: {error.strerror}") from error
    except pl.exceptions.PolarsError as error:
        raise UnreadableInput(f"{path.name} is neither CSV nor Parquet: {str(error).splitlines()[0]}") from error


def _texts(frame: pl.DataFrame) -> Iterable[pl.Expr]:
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Datetime):
            yield pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            yield pl.col(name).cast(pl.String)


def _recognized(names: Sequence[str]) -> dict[str, str]:
    """Columns by what they hold."""
    by_name = {re.sub(r"[\s\-]+", "_", name.strip().strip("\ufeff").lower()): name for name in reversed(names)}
    found = {}
    for what, aliases in NAMES.items():
        named = next((by_name[alias] for alias in aliases if alias in by_name), None)
        if named is not None:
            found[what] = named
    return found


def _line(cells: dict[str, str | None], columns: dict[str, str]) -> BillLine | str:
    """The charge of a row, or why there is none."""
    day = _day(cells["day"])
    if day is None:
        return f'{columns["day"]} is "{cells["day"] or ""}", which is no date'
    amount = _number(cells["amount"])
    if amount is None:
        return f'{columns["amount"]} is "{cells["amount"] or ""}", which is no amount'
    in_usd = columns["amount"].strip().lower() in USD_IN_NAME
    currency = (cells.get("currency") or "").strip().upper() or "USD"
    tokens = _number(cells.get("tokens"))
    unit = (cells.get("unit") or "tokens").strip().lower()
    counted = tokens is not None and "token" in unit and tokens == tokens.to_integral_value()
    exponent = amount.as_tuple().exponent
    return BillLine(
        day=day,
        provider=_text(cells.get("provider")),
        model=_text((cells.get("model") or "").split(",")[0]),
        pico=round(Fraction(amount) * PICO),
        currency="USD" if in_usd else currency,
        tokens=int(tokens) if counted and tokens is not None else None,
        decimals=max(0, -exponent) if isinstance(exponent, int) else 0,
    )


def _text(value: str | None) -> str | None:
    return value.strip() or None if value else None


def _day(text: str | None) -> date | None:
    """The day in UTC of a date, a time with or without offset, a month, or epoch seconds."""
    if not text:
        return None
    word = text.strip()
    if word.isdigit() and len(word) >= 9:
        return datetime.fromtimestamp(int(word[:10]), tz=UTC).date()
    try:
        moment = datetime.fromisoformat(f"{word}-01" if re.fullmatch(r"\d{4}-\d{2}", word) else word)
    except ValueError:
        return None
    return (moment.astimezone(UTC) if moment.tzinfo else moment).date()


def _number(text: str | None) -> Decimal | None:
    """The number of a cell: a currency sign and thousands separators are left out, "1.234,56" is refused."""
    if not text:
        return None
    plain = text.strip().lstrip("$€£").strip()
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    if not _AMOUNT.fullmatch(plain):
        return None
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None
