"""Requests as a frame that takes little memory: the order of its rows, and numbers that are the same in all of them.

Input: rows of table requests as they were read. Output: the place of each row; a column, or its one value.
"""

from __future__ import annotations

import polars as pl


def held_once(rows: pl.DataFrame, name: str) -> pl.Expr:
    """A column; a number that is the same in all rows, such as the sampling rate, is held once."""
    column = rows.get_column(name)
    if name == rows.columns[0] or not column.dtype.is_numeric() or column.null_count() or column.min() != column.max():
        return pl.col(name)
    return pl.lit(column.min(), column.dtype).alias(name)


def order_of(rows: pl.DataFrame) -> pl.Series | None:
    """Where each row belongs by arrival, then key, unknown arrivals last; None if they stand so. Keys break ties alone."""
    started = rows.get_column("started_ns")
    if not started.null_count() and started.is_sorted() and not (started.diff() == 0).any():
        return None
    order = started.arg_sort(nulls_last=True)
    started = rows.get_column("started_ns").gather(order)
    if started.null_count() > 1 or (started.diff() == 0).any():
        order = rows.select(pl.arg_sort_by("started_ns", "request_key", nulls_last=True)).to_series()
    return None if order.is_sorted() else order
