"""A provider's bill or usage export, as rows to compare with the ledger.

Input: CSV (comma, semicolon or tab; UTF-8 or UTF-16) or Parquet with a row per charge; columns are recognized by name: those of FOCUS,
and what providers call day, provider, model, amount, currency and tokens. Output: one Bill. A row that cannot be used
is counted with its line and reason; nothing is guessed: of two columns that both tell amounts none is taken. Amounts are read as decimal text, never through a float.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Literal

import polars as pl

from ingest.errors import UnknownFormat, UnreadableInput
from ingest.formats.visible import quoted
from ingest.sniff import encoding_of

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
FIRST_PLACE, LAST_PLACE = 18, 60  # of a number, as powers of ten: beyond them a cell holds no amount
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
class RefusedRow:
    """A row that could not be used: its place, why, and its day in UTC where that can be read."""

    place: int
    reason: str
    day: date | None = None


@dataclass(frozen=True)
class Bill:
    """What was read: lines in order, columns as recognized, rows that could not be used.

    `places`: what the place of a row counts: the lines of a CSV file, from 1; the rows of a Parquet file, from 1.
    """

    name: str
    lines: tuple[BillLine, ...]
    columns: dict[str, str]
    rejected: tuple[RefusedRow, ...]
    places: Literal["line", "row"] = "line"


@dataclass(frozen=True)
class _Table:
    """Names of the columns, and each row with its place: its cells, or the reason why it has none."""

    columns: tuple[str, ...]
    rows: Iterable[tuple[int, Sequence[str | None] | str]]
    places: Literal["line", "row"]


def read_bill(path: Path) -> Bill:
    """The bill of a file.

    Raises:
        UnreadableInput: it is missing or damaged.
        UnknownFormat: no column says when or how much, or two say how much.
    """
    table = _table(path)
    columns = _recognized(path.name, table.columns)
    missing = [what for what in ("day", "amount") if what not in columns]
    if missing:
        known = ", ".join(NAMES[missing[0]])
        raise UnknownFormat(
            f"{path.name} has no column for the {missing[0]} of a charge. Known names: {known}. "
            f"Its columns: {', '.join(table.columns)}"
        )
    lines: list[BillLine] = []
    rejected: list[RefusedRow] = []
    at = {what: table.columns.index(name) for what, name in columns.items()}
    for number, row in table.rows:
        if isinstance(row, str):
            rejected.append(RefusedRow(number, row))
            continue
        cells = {what: row[index] for what, index in at.items()}
        read = _line(cells, columns)
        if isinstance(read, str):
            rejected.append(RefusedRow(number, read, _day(cells["day"])))
        else:
            lines.append(read)
    return Bill(path.name, tuple(lines), columns, tuple(rejected), table.places)


def _table(path: Path) -> _Table:
    """Every cell as text; null where there is none."""
    try:
        with path.open("rb") as stream:
            head = stream.read(1 << 16)
        if not head.startswith(b"PAR1"):
            return _csv_table(path.name, path.read_bytes(), encoding_of(head))
        frame = pl.read_parquet(path)
        texts = frame.select(_texts(frame))
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read: {error.strerror}") from error
    except pl.exceptions.PolarsError as error:
        raise UnreadableInput(f"{path.name} is neither CSV nor Parquet: {str(error).splitlines()[0]}") from error
    return _Table(tuple(texts.columns), enumerate(texts.iter_rows(), 1), "row")


def _csv_table(name: str, data: bytes, encoding: str) -> _Table:
    """The rows of a delimited text, with the line on which each begins."""
    try:
        text = data.decode("utf-8-sig" if encoding == "utf-8" else encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(
            f"{name}, line {line}: byte {data[error.start]:#04x} is no {encoding.upper()} text. Save the file as UTF-8"
        ) from error
    lines = list(io.StringIO(text, newline=""))
    first = next((line for line in lines if line.strip()), "")
    records = _records(name, lines, max(",;\t", key=first.count))
    _, header = next(records, (0, []))
    return _Table(tuple(header), ((line, _cells(cells, len(header))) for line, cells in records), "line")


def _records(name: str, lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, with the line on which each begins.

    Raises:
        UnreadableInput: a quote is not closed, or stands where none can be.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableInput(
            f"{name}, line {start}: the quotes of this row do not pair ({error}). Double a quote within quotes"
        ) from error


def _cells(cells: list[str], width: int) -> Sequence[str | None] | str:
    """The cells of a row, those that it lacks at its end null; the reason if it has more than the header."""
    if any(cell.strip() for cell in cells[width:]):
        return (
            f"it has {len(cells)} cells and the header {width}: one holds a separator and is not in quotes, so that the "
            "cells after it are shifted"
        )
    return [*(cell or None for cell in cells[:width]), *[None] * (width - len(cells))]


def _texts(frame: pl.DataFrame) -> Iterable[pl.Expr]:
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Datetime):
            yield pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            yield pl.col(name).cast(pl.String)


def _recognized(file: str, names: Sequence[str]) -> dict[str, str]:
    """Columns by what they hold.

    Raises:
        UnknownFormat: several tell the amount; which of them was invoiced only the reader knows.
    """
    plain = {name: re.sub(r"[\s\-]+", "_", name.strip().strip("\ufeff").lower()) for name in names}
    found = {}
    for what, aliases in NAMES.items():
        named = sorted((name for name in names if plain[name] in aliases), key=lambda name: aliases.index(plain[name]))
        if what == "amount" and len(named) > 1:
            listed = " and ".join(f'"{name}"' for name in named)
            raise UnknownFormat(
                f"{file} has {len(named)} columns for the amount of a charge: {listed}. Leave the one that was invoiced, "
                "and remove or rename the others"
            )
        if named:
            found[what] = named[0]
    return found


def _line(cells: dict[str, str | None], columns: dict[str, str]) -> BillLine | str:
    """The charge of a row, or why there is none."""
    day = _day(cells["day"])
    if day is None:
        return f"{columns['day']} is {quoted(cells['day'] or '')}, which is no date"
    amount = _number(cells["amount"])
    if amount is None:
        return f"{columns['amount']} is {quoted(cells['amount'] or '')}, which is no amount"
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
        number = Decimal(plain)
    except InvalidOperation:
        return None
    last = number.as_tuple().exponent  # 1e999999999 would be written out with all of its digits
    return number if isinstance(last, int) and last >= -LAST_PLACE and number.adjusted() <= FIRST_PLACE else None
