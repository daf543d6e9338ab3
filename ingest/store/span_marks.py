"""Marks of spans that were told more than once while others of their trace were not: a request of such a trace bears a
flag.

Input: new spans with the verdict on their repeats (span_repeats); spans and repeats of pending traces. Output: rows of
table repeats with `told` = AGAIN_TOLD, behind the key how often the upload told the span again; bits of column marks. A
span is marked if an upload tells it more often than others of its trace, or if two uploads tell it of which each tells
one that the other does not: a file that is merely fed twice marks nothing, nor does one that is a part of another. So
neither the order in which uploads come changes a mark, nor how one that arrives live is cut into batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.store import span_places, temporary
from ingest.store.shadows import END
from ingest.store.span_columns import MARKS
from ingest.store.tellings import AGAIN_TOLD

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AGAIN = MARKS["duplicate_span_ignored"]
TEMPORARY = frozenset({"span_again", "span_marked", "span_tellings", "span_pending", "span_recounted", "span_places"})
_CAUSES = (f"repeats WHERE told IN ('spans', '{AGAIN_TOLD}')", f"spans WHERE marks & {AGAIN} > 0")


def note(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """Notes how often the upload tells spans more than once, with what it told of them before, and traces to look at again."""
    cursor.execute(
        """CREATE OR REPLACE TEMP TABLE span_again AS
        SELECT trace_id, span_id, n_told - 1 + was_told::INTEGER AS n, was_told FROM (
            SELECT trace_id, span_id, n_told, coalesce(standing_upload = $1, false) OR trace_id || span_id IN (
                SELECT row_key FROM repeats WHERE told = 'spans' AND upload_id = $1) AS was_told
            FROM span_verdict WHERE rank = 1)""",
        [upload_id],
    ).fetchall()
    cursor.execute(
        f"""INSERT INTO repeats (upload_id, told, row_key)
        SELECT $1, '{AGAIN_TOLD}', trace_id || span_id || {END} || n FROM span_again WHERE n > 0""",
        [upload_id],
    ).fetchall()
    cursor.execute(  # of a trace that gets no new span the mark may change all the same
        f"""INSERT INTO pending_traces
        WITH told AS (SELECT trace_id, span_id, min(started_ns) AS first_ns, max(started_ns) AS last_ns,
                coalesce(any_value(again.n), 0) AS n, coalesce(any_value(was_told), false) AS was_told
            FROM {table} AS fresh LEFT JOIN span_again AS again USING (trace_id, span_id)
            WHERE upload_id = $1 AND trace_id IN (SELECT trace_id FROM span_again) GROUP BY 1, 2),
        traces AS (SELECT trace_id, count(*) AS n_spans, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
                min(n) <> max(n) OR (max(n) > 0 AND bool_or(was_told)) AS is_uneven FROM told GROUP BY 1),
        standing AS (SELECT trace_id, count(*) AS n FROM spans
            WHERE upload_id <> $1 AND trace_id IN (SELECT trace_id FROM traces) GROUP BY 1)
        SELECT trace_id, first_ns, last_ns FROM traces LEFT JOIN standing USING (trace_id)
        WHERE is_uneven OR n_spans < standing.n""",
        [upload_id],
    ).fetchall()


def forget(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """Takes out what an upload told again; marks can only go by that, and traces that may lose one are pending."""
    told = f"repeats WHERE upload_id = $1 AND told IN ('spans', '{AGAIN_TOLD}')"
    cursor.execute(
        f"""INSERT INTO pending_traces SELECT trace_id, min(started_ns), max(started_ns) FROM spans
        WHERE marks & {AGAIN} > 0 AND trace_id IN (SELECT row_key[:32] FROM {told}) GROUP BY trace_id""",
        [upload_id],
    ).fetchall()
    cursor.execute(f"DELETE FROM {told}", [upload_id]).fetchall()


def recount(cursor: DuckDBPyConnection) -> None:
    """Makes the marks of the spans of pending traces what spans and repeats say."""
    _recount(cursor)
    temporary.release(cursor, TEMPORARY.__contains__)


def _recount(cursor: DuckDBPyConnection) -> None:
    if not any(cursor.execute(f"SELECT 1 FROM {rows} LIMIT 1").fetchall() for rows in _CAUSES):
        return
    here = span_places.find(cursor, "span_places", "SELECT trace_id FROM pending_traces")
    cursor.execute(  # keys are compared whole: of many repeats a part of each takes long to make
        f"""CREATE OR REPLACE TEMP TABLE span_pending AS
        SELECT trace_id, span_id, upload_id, marks, trace_id || span_id AS k FROM spans WHERE rowid IN {here}"""
    ).fetchall()
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_recounted AS
        SELECT row_key[:32] AS trace_id FROM repeats WHERE told = 'spans' AND row_key IN (SELECT k FROM span_pending)
        UNION SELECT row_key[:32] FROM repeats
            WHERE told = '{AGAIN_TOLD}' AND row_key[:32] IN (SELECT trace_id FROM span_pending)
        UNION SELECT trace_id FROM span_pending WHERE marks & {AGAIN} > 0"""
    ).fetchall()
    if not cursor.execute("SELECT 1 FROM span_recounted LIMIT 1").fetchall():
        return
    of_pending = "IN (SELECT trace_id FROM span_recounted)"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_tellings AS
        SELECT trace_id, span_id, upload_id FROM span_pending WHERE trace_id {of_pending}
        UNION SELECT row_key[:32], row_key[33:], upload_id FROM repeats
            WHERE told = 'spans' AND row_key IN (SELECT k FROM span_pending WHERE trace_id {of_pending})"""
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
        UNION SELECT trace_id, span_id FROM (SELECT trace_id, span_id, n > min(n) OVER (PARTITION BY trace_id, upload_id) AS is_more
            FROM (SELECT trace_id, span_id, upload_id, coalesce(again.n, 0) AS n FROM span_tellings LEFT JOIN (
                SELECT row_key[:32] AS trace_id, row_key[33:48] AS span_id, upload_id,
                    sum(coalesce(TRY_CAST(row_key[50:] AS BIGINT), 1)) AS n
                FROM repeats WHERE told = '{AGAIN_TOLD}' AND row_key[:32] {of_pending} GROUP BY ALL) AS again
                USING (trace_id, span_id, upload_id))) WHERE is_more"""
    ).fetchall()
    is_marked = "(trace_id, span_id) IN (SELECT trace_id, span_id FROM span_marked)"
    cursor.execute(
        f"""UPDATE spans SET marks = xor(marks, {AGAIN})
        WHERE rowid IN {here} AND trace_id {of_pending} AND (marks & {AGAIN} > 0) <> {is_marked}"""
    ).fetchall()
