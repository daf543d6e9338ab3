"""Marks of spans that were told more than once while others of their trace were not: a request of such a trace bears a
flag.

Input: new spans with the verdict on their repeats (span_repeats); spans and repeats of pending traces. Output: rows of
table repeats with `told` = UNEVEN; bits of column marks. A span is marked if an upload tells it more often than others
of its trace, or if two uploads tell it of which each tells one that the other does not: a file that is merely fed twice
marks nothing, nor does one that is a part of another. So the order in which uploads come changes no mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.store.span_columns import MARKS
from ingest.store.tellings import UNEVEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AGAIN = MARKS["duplicate_span_ignored"]
TEMPORARY = frozenset({"span_marked", "span_tellings", "span_recounted"})


def note(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """Notes the new spans that their upload tells more often than others of their trace, and traces to look at again."""
    cursor.execute(
        f"""INSERT INTO repeats (upload_id, told, row_key)
        WITH tellings AS (
            SELECT fresh.trace_id, fresh.span_id, count(*) + CASE WHEN max(standing_upload) = $1 THEN 1 ELSE 0 END AS n
            FROM {table} AS fresh LEFT JOIN span_verdict AS verdict ON verdict.row = fresh.rowid
            WHERE fresh.upload_id = $1 AND fresh.trace_id IN (SELECT trace_id FROM span_verdict) GROUP BY 1, 2),
        uneven AS (SELECT trace_id FROM tellings GROUP BY 1 HAVING min(n) <> max(n))
        SELECT $1, '{UNEVEN}', trace_id || span_id FROM tellings JOIN uneven USING (trace_id) WHERE n > 1""",
        [upload_id],
    ).fetchall()
    cursor.execute(  # of a trace that gets no new span the mark may change all the same
        f"""INSERT INTO pending_traces
        WITH told AS (SELECT trace_id, count(DISTINCT span_id) AS n, min(started_ns) AS first_ns, max(started_ns) AS last_ns
            FROM {table} WHERE upload_id = $1 AND trace_id IN (SELECT trace_id FROM span_verdict) GROUP BY 1),
        standing AS (SELECT trace_id, count(*) AS n FROM spans
            WHERE upload_id <> $1 AND trace_id IN (SELECT trace_id FROM told) GROUP BY 1)
        SELECT told.trace_id, first_ns, last_ns FROM told LEFT JOIN standing USING (trace_id)
        WHERE told.n < standing.n OR trace_id IN (
            SELECT row_key[:32] FROM repeats WHERE told = '{UNEVEN}' AND upload_id = $1)""",
        [upload_id],
    ).fetchall()


def forget(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """Takes out what an upload told again."""
    cursor.execute(f"DELETE FROM repeats WHERE upload_id = ? AND told IN ('spans', '{UNEVEN}')", [upload_id]).fetchall()


def recount(cursor: DuckDBPyConnection) -> None:
    """Makes the marks of the spans of pending traces what spans and repeats say."""
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_recounted AS SELECT DISTINCT trace_id FROM pending_traces
        WHERE trace_id IN (SELECT row_key[:32] FROM repeats WHERE told IN ('spans', '{UNEVEN}'))
            OR trace_id IN (SELECT trace_id FROM spans WHERE marks & {AGAIN} > 0)"""
    ).fetchall()
    if not cursor.execute("SELECT 1 FROM span_recounted LIMIT 1").fetchall():
        return
    of_pending = "IN (SELECT trace_id FROM span_recounted)"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_tellings AS
        SELECT trace_id, span_id, upload_id FROM spans WHERE trace_id {of_pending}
        UNION SELECT row_key[:32], row_key[33:], upload_id FROM repeats WHERE told = 'spans' AND row_key[:32] {of_pending}"""
    ).fetchall()
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_marked AS
        WITH sizes AS (SELECT trace_id, upload_id, count(*) AS n FROM span_tellings GROUP BY 1, 2),
        pairs AS (SELECT one.trace_id, one.span_id, one.upload_id AS left_upload, other.upload_id AS right_upload
            FROM span_tellings AS one JOIN span_tellings AS other USING (trace_id, span_id)
            WHERE one.upload_id < other.upload_id),
        crossed AS (SELECT pairs.trace_id, left_upload, right_upload FROM pairs
            JOIN sizes AS l ON l.trace_id = pairs.trace_id AND l.upload_id = left_upload
            JOIN sizes AS r ON r.trace_id = pairs.trace_id AND r.upload_id = right_upload
            GROUP BY ALL HAVING count(*) < any_value(l.n) AND count(*) < any_value(r.n))
        SELECT trace_id, span_id FROM pairs JOIN crossed USING (trace_id, left_upload, right_upload)
        UNION SELECT row_key[:32], row_key[33:] FROM repeats WHERE told = '{UNEVEN}' AND row_key[:32] {of_pending}"""
    ).fetchall()
    is_marked = "(trace_id, span_id) IN (SELECT trace_id, span_id FROM span_marked)"
    cursor.execute(
        f"""UPDATE spans SET marks = xor(marks, {AGAIN})
        WHERE trace_id {of_pending} AND (marks & {AGAIN} > 0) <> {is_marked}"""
    ).fetchall()
    for name in sorted(TEMPORARY):
        cursor.execute(f"DROP TABLE {name}").fetchall()
