"""SQL that takes the rows of an upload out of the tables; spans are the matter of the assembly.

Input: a writing cursor and an upload id. Output: rows gone, counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLES = ("calls", "requests", "replica_hours", "rejects", "repeats", "uploads")


def delete_rows(cursor: DuckDBPyConnection, upload_id: str) -> dict[str, int]:
    """Number of rows deleted per table, all that the upload made or last changed."""
    deleted: dict[str, int] = {}
    for table in TABLES:
        row = cursor.execute(f"DELETE FROM {table} WHERE upload_id = ?", [upload_id]).fetchone()
        deleted[table] = int(row[0]) if row else 0
    return deleted
