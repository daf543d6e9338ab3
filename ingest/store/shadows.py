"""Rows of tables whose request is told by spans too, or otherwise by another table: kept beside while those stand.

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
    """Keeps the rows of a table whose requests stand already, made from spans or told otherwise by another upload.

    Args:
        rows: SELECT of sound rows of requests, of which `names` are columns.
    """
    told = sorted({*names} - {"upload_id"})
    others = [f'standing."{name}"' for name in _KINDS if name not in names]
    new, old = (", ".join(f'{side}."{name}"' for name in told) for side in ("new", "standing"))
    has_more = " OR ".join(f"{name} IS NOT NULL" for name in others) or "false"
    cursor.execute(
        f"""INSERT INTO repeats (upload_id, told, row_key)
        SELECT $1, '{ROWS}', {as_text("new.request_key", [_KINDS[name] for name in names], "new")}
        FROM ({rows}) AS new JOIN requests AS standing ON standing.request_key = new.request_key AND standing.upload_id <> $1
        WHERE standing.root IS NOT NULL OR hash({new}) <> hash({old}) OR {has_more}
            OR new.request_key IN (SELECT {KEY} FROM repeats WHERE told = '{ROWS}')
        QUALIFY row_number() OVER (PARTITION BY new.request_key ORDER BY hash({new})) = 1""",
        [upload_id],
    ).fetchall()


def put_back(cursor: DuckDBPyConnection) -> None:
    """Rows as the uploads told them that own them now."""
    owned = (
        f"FROM repeats JOIN requests ON told = '{ROWS}' AND {KEY} = requests.request_key "
        "AND repeats.upload_id = requests.upload_id AND root IS NULL"
    )
    if not cursor.execute(f"SELECT 1 {owned} LIMIT 1").fetchall():
        return
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE brought_back AS SELECT repeats.upload_id, {KEY} AS told_key, "
        f"substr(row_key, length({KEY}) + 2) AS told, repeats.rowid AS place {owned}"
    ).fetchall()
    for table in ("requests", "calls"):
        cursor.execute(f"DELETE FROM {table} WHERE request_key IN (SELECT told_key FROM brought_back)").fetchall()
    _stand_again(cursor)


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
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE brought_back AS SELECT upload_id, told_key, told, place FROM (SELECT upload_id, "
        f"{KEY} AS told_key, substr(row_key, length({KEY}) + 2) AS told, rowid AS place {kept}) LEFT JOIN uploads USING "
        "(upload_id) WHERE told_key NOT IN (SELECT request_key FROM requests) "
        "QUALIFY row_number() OVER (PARTITION BY told_key ORDER BY received_ns NULLS LAST, upload_id, place) = 1"
    ).fetchall()
    _stand_again(cursor)


def _stand_again(cursor: DuckDBPyConnection) -> None:
    """Kept rows of the temporary table brought_back are requests again, and kept no more."""
    values = ", ".join(_from_text(name) for name in _KINDS)
    cursor.execute(f"INSERT INTO requests BY NAME SELECT {values} FROM brought_back").fetchall()
    cursor.execute("DELETE FROM repeats WHERE rowid IN (SELECT place FROM brought_back)").fetchall()
    cursor.execute("DROP TABLE brought_back").fetchall()


def _from_text(name: str) -> str:
    if name == "upload_id":
        return "upload_id"  # it may have passed to another upload
    return from_text(_KINDS[name])


def pass_on(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """Kept rows of an upload belong from now on to another one that told the same, if it has kept none of its own."""
    cursor.execute(
        f"""UPDATE repeats SET upload_id = heir FROM (
            SELECT row_key AS k, arg_min(upload_id, (received_ns, upload_id)) AS heir FROM repeats JOIN uploads USING (upload_id)
            WHERE told = 'requests' AND upload_id <> $1
                AND (row_key, upload_id) NOT IN (SELECT {KEY}, upload_id FROM repeats WHERE told = '{ROWS}')
            GROUP BY row_key) AS told_too
        WHERE upload_id = $1 AND told = '{ROWS}' AND {KEY} = k""",
        [upload_id],
    ).fetchall()
