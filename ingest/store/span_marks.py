"""Marks of spans that were told again while others of their trace were not: a request of such a trace bears a flag.

Input: new spans with the verdict on their repeats (span_repeats); traces that lost an upload. Output: bits of column
marks. A file that is merely fed twice marks nothing. Of a trace whose uploads are taken out, the marks are what they
would be if the others alone had come, in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.store.span_columns import MARKS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AGAIN = MARKS["duplicate_span_ignored"]
OWN = 2 * max(MARKS.values())  # marked by its own upload alone; no flag of a request
TEMPORARY = frozenset({"span_marked", "span_tellings", "span_recounted"})


def mark(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """Marks repeated spans of traces in which other new spans were told less often."""
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_marked AS
        WITH tellings AS (
            SELECT fresh.trace_id, fresh.span_id, max(standing_row) AS standing_row,
                count(*) + CASE WHEN max(standing_row) IS NULL THEN 0 ELSE 1 END AS n,
                count(*) + CASE WHEN max(standing_upload) = $1 THEN 1 ELSE 0 END AS n_own
            FROM {table} AS fresh LEFT JOIN span_verdict AS verdict ON verdict.row = fresh.rowid
            WHERE fresh.upload_id = $1 AND fresh.trace_id IN (SELECT trace_id FROM span_verdict) GROUP BY 1, 2),
        uneven AS (
            SELECT trace_id, min(n) <> max(n) AND count(*) FILTER (standing_row IS NULL) > 0 AS is_uneven,
                min(n_own) <> max(n_own) AS is_own
            FROM tellings GROUP BY 1)
        SELECT trace_id, span_id, CASE WHEN is_uneven AND n > 1 THEN {AGAIN} ELSE 0 END
            + CASE WHEN is_own AND n_own > 1 THEN {OWN} ELSE 0 END AS bits
        FROM tellings JOIN uneven USING (trace_id) WHERE (is_uneven AND n > 1) OR (is_own AND n_own > 1)""",
        [upload_id],
    ).fetchall()
    if not cursor.execute("SELECT 1 FROM span_marked LIMIT 1").fetchall():
        return
    for where in sorted({table, "spans"}):
        mine = f" AND ({where}.upload_id = $1 OR bits & {AGAIN} > 0)"
        own = f"CASE WHEN {where}.upload_id = $1 THEN bits ELSE bits & {AGAIN} END"
        cursor.execute(
            f"""UPDATE {where} SET marks = {where}.marks | {own} FROM span_marked
            WHERE {where}.trace_id = span_marked.trace_id AND {where}.span_id = span_marked.span_id{mine}""",
            [upload_id],
        ).fetchall()


def recount(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """Marks of the spans of pending traces as if an upload had never come; its rows and repeats may stand still."""
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_recounted AS SELECT DISTINCT trace_id FROM pending_traces
        WHERE trace_id IN (SELECT row_key[:32] FROM repeats WHERE told = 'spans')
            OR trace_id IN (SELECT trace_id FROM spans WHERE marks & {AGAIN | OWN} > 0)"""
    ).fetchall()
    if not cursor.execute("SELECT 1 FROM span_recounted LIMIT 1").fetchall():
        return
    of_pending = "IN (SELECT trace_id FROM span_recounted)"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_tellings AS
        SELECT trace_id, span_id, dense_rank() OVER (PARTITION BY trace_id ORDER BY received_ns NULLS LAST, upload_id) AS place
        FROM (
            SELECT trace_id, span_id, upload_id FROM spans WHERE trace_id {of_pending} AND upload_id <> $1
            UNION SELECT row_key[:32], row_key[33:], upload_id FROM repeats
            WHERE told = 'spans' AND row_key[:32] {of_pending} AND upload_id <> $1
        ) LEFT JOIN (SELECT upload_id, received_ns FROM uploads) AS known USING (upload_id)""",
        [upload_id],
    ).fetchall()
    cursor.execute(
        """CREATE OR REPLACE TEMP TABLE span_marked AS
        WITH first_told AS (SELECT *, min(place) OVER (PARTITION BY trace_id, span_id) < place AS is_again FROM span_tellings),
        uneven AS (SELECT trace_id, place FROM first_told GROUP BY 1, 2 HAVING bool_or(is_again) AND NOT bool_and(is_again))
        SELECT DISTINCT trace_id, span_id FROM first_told JOIN uneven USING (trace_id, place) WHERE is_again"""
    ).fetchall()
    cursor.execute(
        f"""UPDATE spans SET marks = CASE WHEN marks & {OWN} > 0 OR (trace_id, span_id) IN (SELECT trace_id, span_id FROM span_marked)
            THEN marks | {AGAIN} ELSE marks & ~{AGAIN} END
        WHERE trace_id {of_pending} AND (marks & {AGAIN | OWN} > 0 OR (trace_id, span_id) IN (SELECT trace_id, span_id FROM span_marked))"""
    ).fetchall()
    for name in sorted(TEMPORARY):
        cursor.execute(f"DROP TABLE {name}").fetchall()
