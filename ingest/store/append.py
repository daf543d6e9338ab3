"""Rows made in Python into the store, those that stand already left out; rejects and the ledger of files.

Input: Polars frames in the columns of schema.py. Output: numbers of rows added. Everything within the transaction of
the given cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from ingest.errors import Reject
from ingest.schema import REJECTS, REQUESTS, polars_schema
from ingest.store import shadows, temporary
from ingest.store.database import DETAIL_END, Store
from ingest.store.repeats import holds_rows, remember_keys

BATCH = 10_000


def add_requests(store: Store, cursor: DuckDBPyConnection, requests: pl.DataFrame, calls: pl.DataFrame) -> int:
    """Number of requests added; of rows with one key the first stays, in the frame and against the store."""
    fresh = requests.unique("request_key", keep="first", maintain_order=True)
    if fresh.is_empty():
        return 0
    standing = _standing(cursor, fresh["request_key"].to_list())
    upload_id = str(fresh["upload_id"][0])
    again = [key for key, owner in standing.items() if owner != upload_id]
    remember_keys(cursor, upload_id, again)
    _keep(store, cursor, upload_id, fresh.filter(pl.col("request_key").is_in(again)))
    fresh = fresh.filter(~pl.col("request_key").is_in(list(standing)))
    store.append("requests", fresh, cursor)
    if not calls.is_empty():
        kept = calls.unique(["request_key", "call_index"], keep="first", maintain_order=True)
        store.append("calls", kept.filter(pl.col("request_key").is_in(fresh["request_key"].to_list())), cursor)
    return fresh.height


def _keep(store: Store, cursor: DuckDBPyConnection, upload_id: str, rows: pl.DataFrame) -> None:
    """Keeps what is told of requests that stand by another upload, where it differs; not of those with several calls."""
    rows = rows.filter(pl.col("n_call_rows") == 0)
    if rows.is_empty():
        return
    cursor.execute("CREATE OR REPLACE TEMP TABLE told_again AS SELECT * FROM requests LIMIT 0").fetchall()
    store.append("requests", rows, cursor, into="told_again")
    names = [column.name for column in REQUESTS]
    shadows.keep(cursor, shadows.REQUEST_ROWS, upload_id, "SELECT * FROM told_again", names)
    temporary.release(cursor, "told_again".__eq__)


def _standing(cursor: DuckDBPyConnection, keys: Sequence[str]) -> dict[str, str]:
    """Keys that stand in the store, with the upload they belong to."""
    sql = "SELECT request_key, upload_id FROM requests WHERE request_key IN (SELECT unnest(CAST(? AS VARCHAR[])))"
    return dict(cursor.execute(sql, [list(keys)]).fetchall())


def add_rejects(
    store: Store, cursor: DuckDBPyConnection, upload_id: str, rejects: Iterable[Reject]
) -> tuple[Reject, ...]:
    """All rejects into the store; returns the first of them."""
    first: list[Reject] = []
    remaining = iter(rejects)
    while batch := list(islice(remaining, BATCH)):
        first.extend(batch[: max(0, BATCH - len(first))])
        rows = [
            {
                "upload_id": upload_id,
                "line": r.line,
                "byte_offset": r.offset,
                "reason": r.reason,
                "head": with_detail(r),
            }
            for r in batch
        ]
        store.append("rejects", pl.DataFrame(rows, schema=polars_schema(REJECTS)), cursor)
    return tuple(first)


def with_detail(reject: Reject) -> str:
    """Text of the column `head`, from which Store.rejects reads detail and head again."""
    if not reject.detail and DETAIL_END not in reject.head:
        return reject.head
    return f"{reject.detail}{DETAIL_END}{reject.head}"


def loaded_before(store: Store, sha256: str) -> list[dict[str, Any]]:
    """Uploads of the same bytes that are done and whose rows still stand, or were rolled up, oldest first."""
    frame = store.read("uploads", "sha256 = ? AND state = 'done'", [sha256], "received_ns, upload_id")
    return [
        upload
        for upload in frame.to_dicts()
        if not (upload["n_accepted"] or upload["n_duplicate"])
        or upload["n_rolled"]
        or holds_rows(store, upload["upload_id"])
    ]


def reject_counts(cursor: DuckDBPyConnection, upload_id: str) -> dict[str, int]:
    """Rejected rows of an upload by reason, most frequent first."""
    sql = "SELECT reason, count(*) FROM rejects WHERE upload_id = ? GROUP BY reason ORDER BY count(*) DESC, reason"
    return {str(reason): int(count) for reason, count in cursor.execute(sql, [upload_id]).fetchall()}


def filled(store: Store) -> dict[str, int]:
    """Columns of requests that any row has a value in, with the number of such rows, in table order."""
    counts = ", ".join(f'count("{column.name}")' for column in REQUESTS)
    with store.cursor() as cursor:
        row = cursor.execute(f"SELECT {counts} FROM requests").fetchall()[0]
    return {column.name: int(count) for column, count in zip(REQUESTS, row, strict=True) if count}
