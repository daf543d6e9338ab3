"""Requests as a frame that takes little memory: read some rows at a time, put in order one column at a time, and
numbers that are the same in all of them held once.

Input: a selection, columns; rows of table requests as they were read. Output: frames of rows; the place of each row; a
column, or its one value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import duckdb
import polars as pl

from ingest.schema import Column
from ingest.selection import COLUMN_DIMENSIONS, DERIVED_DIMENSIONS, Selection
from ingest.store import frames

ROWS_AT_ONCE = 500_000  # whose text is not yet codes
ORDER = ("started_ns", "request_key")
PICO = 1_000_000_000_000  # pico-USD per USD: money leaves the store as an integer


def request_parts(
    cursor: duckdb.DuckDBPyConnection,
    wanted: Sequence[Column],
    selection: Selection,
    *,
    coded: Collection[str],
    one_in: int = 1,
) -> Iterator[pl.DataFrame]:
    """Rows of a selection in some order, in the columns that have a value and those of ORDER; at least one frame.

    Some rows at a time, so that no text is there twice.

    Args:
        cursor: in a transaction, so that all are of one moment.
        wanted: columns of table requests.
        selection: range and filters.
        coded: text columns that are told as Categorical.
        one_in: of so many requests one is read (`taken`).
    """
    where, parameters = selection_sql(selection)
    counts = ", ".join(f'count("{column.name}")' for column in wanted)
    sql = f"SELECT min(rowid), max(rowid), {counts} FROM requests{' WHERE ' + where if where else ''}"
    ((first, last, *numbers),) = cursor.execute(sql, parameters).fetchall()
    kept = [c for c, n in zip(wanted, numbers, strict=True) if n or c.name in ORDER] or list(wanted[:1])
    select = f"SELECT {', '.join(to_frame(column) for column in kept)} FROM requests"
    dtypes: dict[Any, Any] = {column.name: dtype_of(column, coded) for column in kept}
    for start in range(first or 0, (last or 0) + 1, ROWS_AT_ONCE):
        told = f"{where + ' AND ' if where else ''}rowid >= ? AND rowid < ?"
        part = [*parameters, start, start + ROWS_AT_ONCE]
        if one_in < 2:
            yield pl.DataFrame(cursor.sql(f"{select} WHERE {told}", params=part)).cast(dtypes)
            continue
        keys = pl.DataFrame(cursor.sql(f"SELECT rowid AS row, request_key FROM requests WHERE {told}", params=part))
        with frames.lent(cursor, "chosen", keys.filter(taken(one_in)).select("row")):
            told += " AND rowid IN (SELECT row FROM chosen)"
            yield pl.DataFrame(cursor.sql(f"{select} WHERE {told}", params=part)).cast(dtypes)


def taken(one_in: int) -> pl.Expr:
    """Whether a request is the one of so many, by the hash of its key: the same ones every time."""
    return pl.col("request_key").hash() % one_in == 0


def ordered_rows(
    cursor: duckdb.DuckDBPyConnection, wanted: Sequence[Column], selection: Selection, *, coded: Collection[str]
) -> pl.DataFrame:
    """Rows of a selection by arrival, then key, where neither is among the columns."""
    where, parameters = selection_sql(selection)
    select = f"SELECT {', '.join(to_frame(column) for column in wanted)} FROM requests"
    sql = f"{select}{' WHERE ' + where if where else ''} ORDER BY started_ns NULLS LAST, request_key"
    return pl.DataFrame(cursor.sql(sql, params=parameters)).cast({c.name: dtype_of(c, coded) for c in wanted})


def dtype_of(column: Column, coded: Collection[str]) -> pl.DataType:
    return pl.Categorical() if column.name in coded else column.dtype


def selection_sql(selection: Selection) -> tuple[str, list[object]]:
    """WHERE clause and parameters of a selection over table requests; "" if everything is selected."""
    clauses: list[str] = []
    parameters: list[object] = []
    if selection.start_ns is not None:
        clauses.append("started_ns >= ?")
        parameters.append(selection.start_ns)
    if selection.end_ns is not None:
        clauses.append("started_ns < ?")
        parameters.append(selection.end_ns)
    for dimension in dict.fromkeys(name for name, _ in selection.where):
        if dimension in DERIVED_DIMENSIONS:
            continue
        values = [value for name, value in selection.where if name == dimension]
        marks = ", ".join("?" for _ in values)
        if dimension in COLUMN_DIMENSIONS:
            clauses.append(f'CAST("{dimension}" AS VARCHAR) IN ({marks})')
        else:
            clauses.append(f"json_extract_string(dimensions, ?) IN ({marks})")
            escaped = dimension.replace("\\", "\\\\").replace('"', '\\"')
            parameters.append(f'$."{escaped}"')
        parameters.extend(values)
    return " AND ".join(clauses), parameters


def to_frame(column: Column) -> str:
    """SQL that turns a table's column into the frame's: DECIMAL to integer pico-USD."""
    if column.kind == "money":
        return f'TRY_CAST(TRY_CAST("{column.name}" AS DECIMAL(25,12)) * {PICO}::DECIMAL(13,0) AS BIGINT) AS "{column.name}"'
    if column.kind == "sum":  # as text without its point: all twelve decimals are always there
        return f"replace(CAST(\"{column.name}\" AS VARCHAR), '.', '') AS \"{column.name}\""
    return f'"{column.name}"'


def held_once(rows: pl.DataFrame, name: str) -> pl.Expr:
    """A column; a number that is the same in all rows, such as the sampling rate, is held once."""
    column = rows.get_column(name)
    if name == rows.columns[0] or not column.dtype.is_numeric() or column.null_count() or column.min() != column.max():
        return pl.col(name)
    return pl.lit(column.min(), column.dtype).alias(name)


def order_of(rows: pl.DataFrame) -> pl.Series | None:
    """Where each row belongs by arrival, then key, unknown arrivals last; None if they stand so. Keys break ties alone."""
    started = rows.get_column("started_ns")
    order = started.arg_sort(nulls_last=True)
    sorted_ = started.gather(order)
    tied = sorted_.eq_missing(sorted_.shift(1)) | sorted_.eq_missing(sorted_.shift(-1))
    places = tied.arg_true()
    if places.len() > 1:  # text is compared where it must be
        among = rows.select(ORDER)[order.gather(places)].with_columns(order.gather(places).alias("place"))
        order.scatter(places, among.sort(ORDER, nulls_last=True).get_column("place"))
    return None if order.is_sorted() else order


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows by arrival, then key; each column in one piece. The frame that is given changes.

    One column at a time: DuckDB would hold all rows once more to put them in order, and so would one step.
    """
    order = order_of(rows)
    for index in range(rows.width):  # an iterator would hold all columns twice
        column = rows.to_series(index)
        rows.replace_column(index, column.rechunk() if order is None else column.gather(order))
    return rows
