"""The cost cube as a table for other tools: CSV, Parquet, spreadsheet.

Input: Costs. Output: bytes; one row per combination of the dimensions asked for, in the order of the result.
CSV and Parquet are the record: amounts are exact decimals with 12 digits after the point. A spreadsheet holds floats.
"""

from __future__ import annotations

from datetime import datetime
from io import BytesIO

import polars as pl

from analysis.result import Costs

KINDS = ("csv", "parquet", "xlsx")
AMOUNTS = ("cost_usd", "wasted_usd")
COUNTS = (
    "requests",
    "unpriced_requests",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
)
MOST_CELL_ROWS = 1_000_000  # a sheet holds 1,048,576 rows
CREATED = datetime(2000, 1, 1)  # noqa: DTZ001 - written into the file so that the same rows give the same bytes


def write_costs(costs: Costs, kind: str) -> bytes:
    """The table in one of KINDS."""
    frame = cost_frame(costs)
    if kind == "csv":
        return frame.write_csv().encode()
    target = BytesIO()
    if kind == "parquet":
        frame.write_parquet(target, compression="zstd")
    else:
        _write_sheet(frame, target)
    return target.getvalue()


def cost_frame(costs: Costs) -> pl.DataFrame:
    """Shape: (rows, dimensions + counts + amounts); a dimension that a request lacks is null."""
    dimensions = {name: pl.Series(name, [row.by.get(name) for row in costs.rows], dtype=pl.String) for name in costs.by}
    counts = {name: pl.Series(name, [getattr(row, name) for row in costs.rows], dtype=pl.Int64) for name in COUNTS}
    amounts = {
        name: pl.Series(name, [getattr(row, name) for row in costs.rows], dtype=pl.String).cast(pl.Decimal(38, 12))
        for name in AMOUNTS
    }
    return pl.DataFrame({**dimensions, **counts, **amounts})


def _write_sheet(frame: pl.DataFrame, target: BytesIO) -> None:
    import xlsxwriter

    numbers = frame.head(MOST_CELL_ROWS).with_columns(pl.col(name).cast(pl.Float64) for name in AMOUNTS)
    with xlsxwriter.Workbook(
        target, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    ) as book:
        book.set_properties({"created": CREATED})
        numbers.write_excel(book, worksheet="costs", dtype_formats={pl.Float64: "0.000000"}, autofit=True)
