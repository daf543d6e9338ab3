"""Table spans is as wide as what was told: the column of a field is made when a span first tells it.

Input: a table of spans (spans, span_stage). Output: SQL of it with all columns of schema.SPANS, those that are not
there as typed nulls; the missing ones made. A null in a row costs as much to write as a figure, and of the fields that
emitters know a store sees less than half.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ingest.schema import SPAN_FIELDS, SPANS, SQL_TYPES, Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHEN_TOLD = frozenset({"dimensions", *(name for names in SPAN_FIELDS.values() for name in names.split())})
NARROW: tuple[Column, ...] = tuple(column for column in SPANS if column.name not in WHEN_TOLD)  # of a new table


def whole(cursor: DuckDBPyConnection, table: str) -> str:
    """SQL of a table of spans in all columns, with the place of each row as `row_id`."""
    there = _there(cursor, table)
    missing = "".join(f', NULL::{SQL_TYPES[c.kind]} AS "{c.name}"' for c in SPANS if c.name not in there)
    return f"(SELECT *, rowid AS row_id{missing} FROM {table})"


def filled(cursor: DuckDBPyConnection, table: str) -> frozenset[str]:
    """Columns of a table or view of spans that hold anything."""
    names = list(_there(cursor, table))
    counts = ", ".join(f'count("{name}")' for name in names)
    row = cursor.execute(f"SELECT {counts} FROM {table}").fetchall()[0]
    return frozenset(name for name, count in zip(names, row, strict=True) if count)


def widen(cursor: DuckDBPyConnection, table: str, names: Iterable[str]) -> None:
    """Makes the columns of these names that a table of spans lacks."""
    missing = set(names) - set(_there(cursor, table))
    for column in SPANS:
        if column.name in missing:
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column.sql}").fetchall()


def move(cursor: DuckDBPyConnection, source: str, target: str) -> None:
    """Puts the rows of one table of spans into another one, which gets the columns that they tell."""
    told = filled(cursor, source)
    widen(cursor, target, told)
    names = ", ".join(f'"{column.name}"' for column in SPANS if column.name in told)
    if names:  # else there is no row
        cursor.execute(f"INSERT INTO {target} BY NAME SELECT {names} FROM {source}").fetchall()


def _there(cursor: DuckDBPyConnection, table: str) -> Collection[str]:
    return [name for name, *_ in cursor.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]
