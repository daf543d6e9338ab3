"""The cost cube as a table for other tools: CSV, Parquet, spreadsheet.

Input: Costs. Output: bytes; one row per combination of the dimensions asked for, in the order of the result.
CSV and Parquet are the record: CSV holds the amounts as the result says them, Parquet as decimal128(38, 12). A
spreadsheet holds floats, and its text is guarded: a cell that begins like a formula gets an apostrophe in front.
The same costs give the same bytes.
"""

from __future__ import annotations

from datetime import datetime
from io import BytesIO

import polars as pl

from analysis.errors import TooManyRows
from analysis.result import Costs
from reports.names import capped

KINDS = ("csv", "parquet", "xlsx")
AMOUNTS = ("cost_usd", "wasted_usd", "cost_per_1k_good_usd", "gpu_used_usd", "gpu_usd")
COUNTS = (
    "requests",
    "good_requests",
    "unpriced_requests",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
)
FORMULA = r"^[=+\-@\t\r]"  # what spreadsheets take for a formula, or skip to find one
MOST_SHEET_ROWS = 200_000  # 20 s to write; a sheet would hold 1,048,576
CREATED = datetime(2000, 1, 1)  # noqa: DTZ001 - written into the file so that the same rows give the same bytes


def write_costs(costs: Costs, kind: str) -> bytes:
    """The table in one of KINDS.

    Raises:
        TooManyRows: more rows than a spreadsheet is written with.
    """
    table = cost_table(costs)
    if kind == "csv":
        return table.write_csv().encode()
    target = BytesIO()
    if kind == "parquet":
        exact = table.with_columns(pl.col(name).cast(pl.Decimal(38, 12)) for name in AMOUNTS)
        exact.write_parquet(target, compression="zstd")
    else:
        _write_sheet(table, target)
    return target.getvalue()


def cost_table(costs: Costs) -> pl.DataFrame:
    """Shape: (rows, dimensions + counts + amounts as decimal text); what is not known is null."""
    fixed = (*COUNTS, *AMOUNTS)
    dimensions = {
        f"by_{name}" if name in fixed else name: pl.Series(
            [capped(row.by.get(name)) for row in costs.rows], dtype=pl.String
        )
        for name in costs.by
    }
    counts = {name: pl.Series([getattr(row, name) for row in costs.rows], dtype=pl.Int64) for name in COUNTS}
    amounts = {name: pl.Series([getattr(row, name) for row in costs.rows], dtype=pl.String) for name in AMOUNTS}
    return pl.DataFrame({**dimensions, **counts, **amounts})


def _write_sheet(table: pl.DataFrame, target: BytesIO) -> None:
    if table.height > MOST_SHEET_ROWS:
        raise TooManyRows(
            f"the table has {table.height:,} rows, and a spreadsheet is written with {MOST_SHEET_ROWS:,} at most. "
            "Take csv or parquet, or fewer dimensions"
        )
    import xlsxwriter

    texts = [name for name in table.columns if name not in (*COUNTS, *AMOUNTS)]
    numbers = table.with_columns(
        *(pl.col(name).cast(pl.Float64) for name in AMOUNTS),
        *(_guarded(name) for name in texts),
    )
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(target, options) as book:
        book.set_properties({"created": CREATED})
        numbers.write_excel(book, worksheet="costs", dtype_formats={pl.Float64: "0.000000"}, autofit=True)


def _guarded(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text).alias(name)
