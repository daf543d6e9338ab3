"""Rows of tables whose request is told by spans too, or which another table tells otherwise: kept beside while those stand.

Input: rows of requests with a trace id for key that come from a table (they have no root span), and pending traces;
rows of replica hours. Output: rows of table repeats with `told` = ROWS or HOURS, the whole row as text; rows of the
table again where nothing else is left. Spans tell more than a row does, so a request of both is made from the spans;
the row must not be lost by that, for the spans can be taken out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ingest.schema import REPLICA_HOURS, REQUESTS, SQL_TYPES, Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = "rows"  # of column `told` of repeats: a row of requests itself, behind its key
HOURS = "hours"  # likewise: a row of replica hours, whose key stands in it
LISTS = ("texts", "ints")  # kinds of columns that hold lists
END = "chr(31)"  # between key and row


def told_key(text: str) -> str:
    """SQL of the key in front of a kept row."""
    return f"split_part({text}, {END}, 1)"


KEY = told_key("row_key")


@dataclass(frozen=True)
class Kept:
    """How the rows of a table are kept: under which `told`, SQL of their key, SQL of what stands in front of a kept row,
    SQL of the key of a kept row in repeats, and which rows of the table are told by tables."""

    table: Literal["requests", "replica_hours"]
    told: str
    key: str
    front: str
    kept_key: str
    columns: tuple[Column, ...]
    is_of_table: str = "true"

    def places(self) -> dict[str, Column]:
        """Columns by name."""
        return {column.name: column for column in self.columns}


def _hour_key() -> str:
    replica, hour = (f"json_extract_string(row_key[2:], '$.\"{name}\"')" for name in ("replica", "hour_ns"))
    return f"{replica} || {END} || {hour}"


REQUEST_ROWS = Kept("requests", ROWS, "request_key", "request_key", KEY, REQUESTS, "root IS NULL")
HOUR_ROWS = Kept("replica_hours", HOURS, f"replica || {END} || hour_ns", "''", _hour_key(), REPLICA_HOURS)
ALL = (REQUEST_ROWS, HOUR_ROWS)


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


def keep(cursor: DuckDBPyConnection, kind: Kept, upload_id: str, rows: str, names: Sequence[str]) -> None:
    """Keeps the rows of a table that stand already, made from spans or told otherwise by another upload.

    Args:
        rows: SELECT of sound rows of the table of `kind`, of which `names` are columns.
    """
    known = kind.places()
    told = sorted({*names} - {"upload_id"})
    others = [f'standing."{name}"' for name in known if name not in names]
    new, old = (", ".join(f'{side}."{name}"' for name in told) for side in ("new", "standing"))
    has_more = " OR ".join(f"{name} IS NOT NULL" for name in others) or "false"
    front = "''" if kind.front == "''" else f"new.{kind.front}"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE kept_now AS SELECT new.k, {as_text(front, [known[name] for name in names], "new")} AS told
        FROM (SELECT *, {kind.key} AS k FROM ({rows})) AS new
        JOIN (SELECT *, {kind.key} AS k, {kind.is_of_table} AS is_told_so FROM {kind.table}) AS standing
            ON standing.k = new.k AND standing.upload_id <> $1
        WHERE NOT standing.is_told_so OR hash({new}) <> hash({old}) OR {has_more}
            OR new.k IN (SELECT {kind.kept_key} FROM repeats WHERE told = '{kind.told}')
        QUALIFY row_number() OVER (PARTITION BY new.k ORDER BY hash({new})) = 1""",
        [upload_id],
    ).fetchall()
    if cursor.execute("SELECT 1 FROM kept_now LIMIT 1").fetchall():
        _keep_alike(cursor, kind, upload_id)
        cursor.execute(
            f"INSERT INTO repeats (upload_id, told, row_key) SELECT $1, '{kind.told}', told FROM kept_now", [upload_id]
        ).fetchall()
    cursor.execute("DROP TABLE kept_now").fetchall()


def _keep_alike(cursor: DuckDBPyConnection, kind: Kept, upload_id: str) -> None:
    """Keeps the rows of those uploads that told what stood until now, before the rows in kept_now told it otherwise."""
    alike = f"""SELECT upload_id, row_key AS k FROM repeats WHERE told = '{kind.table}' AND upload_id <> $1
        AND row_key IN (SELECT k FROM kept_now)
        AND (row_key, upload_id) NOT IN (SELECT {kind.kept_key}, upload_id FROM repeats WHERE told = '{kind.told}')"""
    if not cursor.execute(f"SELECT 1 FROM ({alike}) LIMIT 1", [upload_id]).fetchall():
        return
    cursor.execute(
        f"""INSERT INTO repeats (upload_id, told, row_key)
        SELECT alike.upload_id, '{kind.told}', coalesce(standing.told, kept.told) FROM ({alike}) AS alike
        LEFT JOIN (SELECT {kind.key} AS k, {as_text(kind.front, kind.columns)} AS told FROM {kind.table} WHERE {kind.is_of_table})
            AS standing USING (k)
        LEFT JOIN (SELECT {kind.kept_key} AS k, any_value(row_key) AS told FROM repeats WHERE told = '{kind.told}' GROUP BY 1)
            AS kept USING (k)
        WHERE coalesce(standing.told, kept.told) IS NOT NULL""",
        [upload_id],
    ).fetchall()


def put_back(cursor: DuckDBPyConnection, kind: Kept) -> None:
    """Rows as the uploads told them that own them now."""
    owned = (
        f"FROM (SELECT *, rowid AS place, {kind.kept_key} AS told_key FROM repeats WHERE told = '{kind.told}') AS kept "
        f"JOIN (SELECT {kind.key} AS k, upload_id FROM {kind.table} WHERE {kind.is_of_table}) AS standing "
        "ON told_key = k AND kept.upload_id = standing.upload_id"
    )
    if not cursor.execute(f"SELECT 1 {owned} LIMIT 1").fetchall():
        return
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE brought_back AS SELECT kept.upload_id, told_key, "
        f"substr(row_key, length({told_key('row_key')}) + 2) AS told, place {owned}"
    ).fetchall()
    for table in ("requests", "calls") if kind is REQUEST_ROWS else (kind.table,):
        cursor.execute(f"DELETE FROM {table} WHERE {kind.key} IN (SELECT told_key FROM brought_back)").fetchall()
    _stand_again(cursor, kind)


def keep_standing(cursor: DuckDBPyConnection) -> None:
    """Keeps the rows of tables that the assembly is about to replace (temporary table as_wanted)."""
    standing = "FROM requests WHERE root IS NULL AND request_key IN (SELECT trace_id FROM as_wanted)"
    if cursor.execute(f"SELECT 1 {standing} LIMIT 1").fetchall():
        row = as_text("request_key", REQUESTS)
        cursor.execute(
            f"INSERT INTO repeats (upload_id, told, row_key) SELECT upload_id, '{ROWS}', {row} {standing}"
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
    _stand_again(cursor, REQUEST_ROWS)


def _stand_again(cursor: DuckDBPyConnection, kind: Kept) -> None:
    """Kept rows of the temporary table brought_back are rows of their table again, and kept no more."""
    # the upload is that which the row belongs to, for it may have passed to another one
    values = ", ".join("upload_id" if column.name == "upload_id" else from_text(column) for column in kind.columns)
    cursor.execute(f"INSERT INTO {kind.table} BY NAME SELECT {values} FROM brought_back").fetchall()
    cursor.execute("DELETE FROM repeats WHERE rowid IN (SELECT place FROM brought_back)").fetchall()
    cursor.execute("DROP TABLE brought_back").fetchall()


def pass_on(cursor: DuckDBPyConnection, kind: Kept, upload_id: str) -> None:
    """Kept rows of an upload belong from now on to another one that told the same, if it has kept none of its own."""
    cursor.execute(
        f"""UPDATE repeats SET upload_id = heir FROM (
            SELECT row_key AS k, arg_min(upload_id, (received_ns, upload_id)) AS heir FROM repeats JOIN uploads USING (upload_id)
            WHERE told = '{kind.table}' AND upload_id <> $1
                AND (row_key, upload_id) NOT IN (SELECT {kind.kept_key}, upload_id FROM repeats WHERE told = '{kind.told}')
            GROUP BY row_key) AS told_too
        WHERE upload_id = $1 AND told = '{kind.told}' AND {kind.kept_key} = k""",
        [upload_id],
    ).fetchall()
