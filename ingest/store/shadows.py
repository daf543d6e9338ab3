"""Rows of tables whose request is told by spans too: kept beside while spans stand, in their place when those go.

Input: rows of requests with a trace id for key that come from a table (they have no root span), and pending traces.
Output: rows of table repeats with `told` = ROWS, the whole row as text; rows of requests again where no span is left.
Spans tell more than a row does, so a request of both is made from the spans; the row must not be lost by that, for
the spans can be taken out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.schema import REQUESTS, SQL_TYPES, Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = "rows"  # of column `told` of repeats: the row itself, behind its key
LISTS = ("texts", "ints")  # kinds of columns that hold lists
END = "chr(31)"  # between key and row
_KINDS = {column.name: column for column in REQUESTS}


def told_key(text: str) -> str:
    """SQL of the key in front of a kept row."""
    return f"split_part({text}, {END}, 1)"


KEY = told_key("row_key")


def as_text(key: str, columns: Sequence[Column], alias: str = "") -> str:
    """SQL of key and row as one text."""
    places = {column.name: f'{alias}."{column.name}"' if alias else f'"{column.name}"' for column in columns}
    told = {c.name: f"to_json({places[c.name]})" if c.kind in LISTS else places[c.name] for c in columns}
    values = ", ".join(f'"{name}" := CAST({value} AS VARCHAR)' for name, value in told.items())
    return f"{key} || {END} || CAST(to_json(struct_pack({values})) AS VARCHAR)"


def from_text(column: Column) -> str:
    """SQL of a column out of a row as text, which stands under `told`."""
    value = f"json_extract_string(told, '$.\"{column.name}\"')"
    value = f"CAST({value} AS JSON)" if column.kind in LISTS else value
    return f'CAST({value} AS {SQL_TYPES[column.kind]}) AS "{column.name}"'


def _as_text(names: Sequence[str]) -> str:
    return as_text("request_key", [_KINDS[name] for name in names])


def keep(cursor: DuckDBPyConnection, upload_id: str, rows: str, names: Sequence[str]) -> None:
    """Keeps the rows of a table whose requests stand already, made from spans.

    Args:
        rows: SELECT of sound rows of requests, of which `names` are columns.
    """
    cursor.execute(
        f"INSERT INTO repeats (upload_id, told, row_key) SELECT ?, '{ROWS}', {_as_text(names)} FROM ({rows}) "
        "WHERE request_key IN (SELECT request_key FROM requests WHERE root IS NOT NULL)",
        [upload_id],
    ).fetchall()


def keep_standing(cursor: DuckDBPyConnection) -> None:
    """Keeps the rows of tables that the assembly is about to replace (temporary table as_wanted)."""
    standing = "FROM requests WHERE root IS NULL AND request_key IN (SELECT trace_id FROM as_wanted)"
    if cursor.execute(f"SELECT 1 {standing} LIMIT 1").fetchall():
        cursor.execute(
            f"INSERT INTO repeats (upload_id, told, row_key) SELECT upload_id, '{ROWS}', {_as_text(list(_KINDS))} {standing}"
        ).fetchall()


def bring_back(cursor: DuckDBPyConnection) -> None:
    """Rows of pending traces (temporary table as_pending) that no span tells any more; of several the oldest."""
    kept = f"FROM repeats WHERE told = '{ROWS}' AND {KEY} IN (SELECT trace_id FROM as_pending)"
    if not cursor.execute(f"SELECT 1 {kept} LIMIT 1").fetchall():
        return
    values = ", ".join(_from_text(name) for name in _KINDS)
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE brought_back AS SELECT upload_id, told_key, told, place FROM (SELECT upload_id, "
        f"{KEY} AS told_key, substr(row_key, length({KEY}) + 2) AS told, rowid AS place {kept}) LEFT JOIN uploads USING "
        "(upload_id) WHERE told_key NOT IN (SELECT request_key FROM requests) "
        "QUALIFY row_number() OVER (PARTITION BY told_key ORDER BY received_ns NULLS LAST, upload_id, place) = 1"
    ).fetchall()
    cursor.execute(f"INSERT INTO requests BY NAME SELECT {values} FROM brought_back").fetchall()
    cursor.execute("DELETE FROM repeats WHERE rowid IN (SELECT place FROM brought_back)").fetchall()
    cursor.execute("DROP TABLE brought_back").fetchall()


def _from_text(name: str) -> str:
    if name == "upload_id":
        return "upload_id"  # it may have passed to another upload
    return from_text(_KINDS[name])


def pass_on(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """Kept rows of an upload that another one told too belong to that one from now on."""
    cursor.execute(
        f"""UPDATE repeats SET upload_id = heir FROM (
            SELECT row_key AS k, arg_min(upload_id, (received_ns, upload_id)) AS heir FROM repeats JOIN uploads USING (upload_id)
            WHERE told = 'requests' AND upload_id <> $1 GROUP BY row_key) AS told_too
        WHERE upload_id = $1 AND told = '{ROWS}' AND {KEY} = k""",
        [upload_id],
    ).fetchall()
