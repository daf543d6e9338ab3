"""Rows that several uploads told: who told them again, and who keeps them when their owner is taken out.

Input: keys of rows that stood already when an upload told them. Output: rows of table repeats; on the way out of an
upload, its rows under the oldest other upload that told them too, whose receipt says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ingest.store import shadows, tellings
from ingest.store.database import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Told = Literal["requests", "spans", "replica_hours"]

KEYS: dict[Told, str] = {  # SQL of the text that tells a row of the table from all others
    "spans": "trace_id || span_id",
    "requests": "request_key",
    "replica_hours": "replica || chr(31) || hour_ns",
}
OWNED = ("spans", "requests", "calls", "replica_hours", "rejects", "repeats")  # tables whose rows belong to an upload


def remember(
    cursor: DuckDBPyConnection, table: Told, upload_id: str, keys_sql: str, parameters: Sequence[object]
) -> int:
    """Number of rows noted that an upload told though another upload's stand; `keys_sql` selects (upload_id, key).

    Args:
        upload_id: the upload that told them again, where the SQL says null.
    """
    row = cursor.execute(
        "INSERT INTO repeats (upload_id, told, row_key) "
        f"SELECT DISTINCT coalesce(found.u, ?), ?, found.k FROM ({keys_sql}) AS found(u, k)",
        [upload_id, table, *parameters],
    ).fetchone()
    return int(row[0]) if row else 0


def remember_keys(cursor: DuckDBPyConnection, upload_id: str, keys: Sequence[str]) -> None:
    """Notes requests that an upload told though another upload's stand."""
    if keys:
        remember(cursor, "requests", upload_id, "SELECT NULL, unnest(CAST(? AS VARCHAR[]))", [list(keys)])


def pass_on(store: Store, cursor: DuckDBPyConnection, upload_id: str) -> int:
    """Number of rows of an upload that now belong to another one, which told them too."""
    twin = _twin(cursor, upload_id)
    if twin is not None:
        return _pass_everything(store, cursor, upload_id, twin)
    heirs: Counter[str] = Counter(tellings.pass_on(cursor, upload_id))
    for table in KEYS:
        heirs.update(_pass_rows(cursor, table, upload_id))
    for kind in shadows.ALL:
        shadows.put_back(cursor, kind)
        shadows.pass_on(cursor, kind, upload_id)
    for heir, n_rows in heirs.items():
        _tell(store, cursor, heir, n_rows, upload_id)
    return heirs.total()


def holds_rows(store: Store, upload_id: str) -> bool:
    """Whether the store has rows of an upload, or rows of others that it told too."""
    tables = ("requests", "spans", "replica_hours", "repeats")
    sql = " UNION ALL ".join(f"(SELECT 1 FROM {table} WHERE upload_id = $1 LIMIT 1)" for table in tables)
    with store.cursor() as cursor:
        return bool(cursor.execute(sql, [upload_id]).fetchall())


def _twin(cursor: DuckDBPyConnection, upload_id: str) -> str | None:
    """The oldest other upload of the same bytes that were read in the same way."""
    row = cursor.execute(
        """SELECT arg_min(other.upload_id, (other.received_ns, other.upload_id)) FROM uploads AS mine JOIN uploads AS other
        ON other.sha256 = mine.sha256 AND other.upload_id <> mine.upload_id AND other.state = 'done'
            AND other.receipt ->> '$.options' = mine.receipt ->> '$.options'
        WHERE mine.upload_id = ? AND mine.state = 'done'""",
        [upload_id],
    ).fetchone()
    return row[0] if row else None


def _pass_everything(store: Store, cursor: DuckDBPyConnection, upload_id: str, heir: str) -> int:
    before = _accepted(cursor, upload_id)
    # of an upload that was not read, because the same bytes stood already, no rejects are in the store
    cursor.execute(
        "DELETE FROM rejects WHERE upload_id = $1 AND EXISTS (FROM rejects WHERE upload_id = $2)", [heir, upload_id]
    )
    for table in OWNED:
        cursor.execute(f"UPDATE {table} SET upload_id = ? WHERE upload_id = ?", [heir, upload_id])
    for table, key in KEYS.items():
        cursor.execute(
            f"DELETE FROM repeats WHERE upload_id = $1 AND told = $2 AND row_key IN (SELECT {key} FROM {table} WHERE upload_id = $1)",
            [heir, table],
        )
    tellings.judge_again(cursor, heir)
    if before:
        _tell(store, cursor, heir, before, upload_id)
    return before


def _pass_rows(cursor: DuckDBPyConnection, table: Told, upload_id: str) -> dict[str, int]:
    """Rows that went to each heir; not those of requests made from spans, which are made anew."""
    key = KEYS[table]
    mine = f"SELECT {key} FROM {table} WHERE upload_id = $2{' AND root IS NULL' if table == 'requests' else ''}"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE row_heirs AS
        SELECT row_key, arg_min(upload_id, (received_ns, upload_id)) AS heir
        FROM repeats JOIN uploads USING (upload_id)
        WHERE told = $1 AND upload_id <> $2 AND row_key IN ({mine})
        GROUP BY row_key""",
        [table, upload_id],
    )
    counts = dict(cursor.execute("SELECT heir, count(*) FROM row_heirs GROUP BY heir ORDER BY heir").fetchall())
    if counts:
        for moved in (table, "calls") if table == "requests" else (table,):
            cursor.execute(
                f"UPDATE {moved} SET upload_id = heir FROM row_heirs WHERE {moved}.upload_id = ? AND {key} = row_key",
                [upload_id],
            )
        cursor.execute(
            "DELETE FROM repeats WHERE told = ? AND (row_key, upload_id) IN (SELECT row_key, heir FROM row_heirs)",
            [table],
        )
    cursor.execute("DROP TABLE row_heirs")
    return counts


def _accepted(cursor: DuckDBPyConnection, upload_id: str) -> int:
    row = cursor.execute("SELECT n_accepted FROM uploads WHERE upload_id = ?", [upload_id]).fetchone()
    return int(row[0] or 0) if row else 0


def _tell(store: Store, cursor: DuckDBPyConnection, heir: str, n_rows: int, upload_id: str) -> None:
    """Mends the counts of an heir: rows that were duplicates are now its own."""
    row = cursor.execute("SELECT n_accepted, n_duplicate, receipt FROM uploads WHERE upload_id = ?", [heir]).fetchone()
    if row is None:
        return
    moved = min(n_rows, int(row[1] or 0))
    accepted, duplicate = int(row[0] or 0) + moved, int(row[1] or 0) - moved
    says = f"{moved} duplicates became rows of this upload when {upload_id}, which told them first, was deleted"
    values: dict[str, Any] = {
        "upload_id": heir,
        "n_accepted": accepted,
        "n_duplicate": duplicate,
        "message": says,
    }
    if row[2]:
        receipt = json.loads(row[2]) | {"accepted": accepted, "duplicate": duplicate, "message": says}
        values["receipt"] = json.dumps(receipt, sort_keys=True, ensure_ascii=False)
    store.put_upload(values, cursor)
