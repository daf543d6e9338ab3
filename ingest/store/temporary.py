"""Temporary tables that are done with, given back within a transaction.

Input: which temporary tables of a cursor. Output: they are gone, and what they held is free at once.
A transaction holds the rows of every table it made until it ends, though the table was dropped or replaced; those of a
dropped column go at once. A load in pieces would else hold the temporary tables of all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb


def release(cursor: duckdb.DuckDBPyConnection, is_done: Callable[[str], bool]) -> None:
    """Drops the temporary tables whose names `is_done` picks, and frees what they hold."""
    tables = cursor.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE database_name = 'temp' AND table_oid IN "
        "(SELECT table_oid FROM duckdb_tables() WHERE database_name = 'temp') GROUP BY table_name ORDER BY table_name"
    ).fetchall()
    for table, columns in tables:
        if is_done(table):
            cursor.execute(f'ALTER TABLE temp."{table}" ADD COLUMN nothing_left BOOLEAN')  # one column must stay
            for column in columns:
                cursor.execute(f'ALTER TABLE temp."{table}" DROP COLUMN "{column}"')
            cursor.execute(f'DROP TABLE temp."{table}"')
