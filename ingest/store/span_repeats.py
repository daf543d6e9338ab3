"""Spans told more than once: which telling stands.

Input: new spans of one upload, in the store's table or in a stage. Output: one row per trace id and span id.
The telling with an end wins, then the one with more attributes, then the later one; an equal telling changes nothing.

Spans that an upload tells more than once are noted (span_marks); a telling that loses against one of another upload is
kept aside (tellings).
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from ingest.store import span_marks, span_places, tellings, temporary
from ingest.store.repeats import remember

BETTER = "CASE WHEN ended_ns IS NULL THEN 0 ELSE 1 END DESC, n_attributes DESC"
RANGE_SPANS = 2_000_000  # spans settled at once: their keys take some 0.3 GB
TEMPORARY = frozenset({"span_told", "span_verdict", "span_standing", *tellings.TEMPORARY, *span_marks.TEMPORARY})


@dataclass(frozen=True)
class Repeats:
    """`duplicate`: tellings that do not count as new spans; `replaced`: those whose content took the former's place."""

    duplicate: int = 0
    replaced: int = 0


def settle(cursor: duckdb.DuckDBPyConnection, table: str, upload_id: str, *, others: bool, n_spans: int) -> Repeats:
    """Counts of repeats among the new spans, and between them and the spans that stood before; the losers are gone.

    `others`: the store held spans before these came. `n_spans`: number of new spans; many are settled in ranges of
    traces, so that memory does not grow with their number.
    """
    ranges = max(1, -(-n_spans // RANGE_SPANS))
    told = Repeats()
    for number in range(ranges):
        of_range = f" AND hash(trace_id) % {ranges} = {number}" if ranges > 1 else ""
        found = _settle(cursor, table, upload_id, f"upload_id = $1{of_range}", others=others)
        told = Repeats(told.duplicate + found.duplicate, told.replaced + found.replaced)
        if ranges > 1:
            temporary.release(cursor, TEMPORARY.__contains__)
    for name in sorted(TEMPORARY):
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
    return told


def _settle(cursor: duckdb.DuckDBPyConnection, table: str, upload_id: str, fresh: str, *, others: bool) -> Repeats:
    """The same for the new spans that SQL condition `fresh` names, which are all new spans of their traces."""
    within = _count(
        cursor,
        f"""SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {fresh}
        GROUP BY trace_id, span_id HAVING count(*) > 1)""",
        upload_id,
    )
    if others:
        _find_standing(cursor, table, upload_id, fresh)
        others = _count(cursor, "SELECT count(*) FROM span_standing WHERE $1 IS NOT NULL", upload_id) > 0
    if not within and not others:
        return Repeats()
    if not others:
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE span_standing AS SELECT trace_id, span_id, rowid AS row, ended_ns, "
            "n_attributes, content_key, upload_id FROM spans LIMIT 0"
        )
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_told AS
        SELECT rowid AS row, trace_id, span_id, ended_ns, n_attributes, content_key,
            count(*) OVER same AS n_told, row_number() OVER (PARTITION BY trace_id, span_id
                ORDER BY {BETTER}, rowid DESC) AS rank,
            min(content_key) OVER same <> max(content_key) OVER same AS is_conflict
        FROM {table} WHERE {fresh} AND (trace_id, span_id) IN (
            SELECT trace_id, span_id FROM {table} WHERE {fresh} GROUP BY ALL HAVING count(*) > 1
            UNION SELECT trace_id, span_id FROM span_standing)
        WINDOW same AS (PARTITION BY trace_id, span_id)""",
        [upload_id],
    )
    cursor.execute("""CREATE OR REPLACE TEMP TABLE span_verdict AS
        SELECT told.*, standing.row AS standing_row, standing.upload_id AS standing_upload, standing.content_key AS standing_content,
            standing.row IS NOT NULL AND rank = 1
            AND told.content_key <> standing.content_key
            AND (told.ended_ns IS NOT NULL, told.n_attributes) >= (standing.ended_ns IS NOT NULL, standing.n_attributes) AS wins
        FROM span_told AS told LEFT JOIN span_standing AS standing USING (trace_id, span_id)""")
    duplicate, replaced = (
        cursor.execute("""SELECT count(*) FILTER (rank > 1 OR standing_row IS NOT NULL),
        count(*) FILTER (rank = 1 AND (wins OR (is_conflict AND standing_row IS NULL))) FROM span_verdict""").fetchone()
        or (0, 0)
    )
    span_marks.note(cursor, table, upload_id)
    if others:
        tellings.keep(cursor, table, upload_id)
    cursor.execute(
        f"DELETE FROM {table} WHERE rowid IN (SELECT row FROM span_verdict WHERE rank > 1 OR (standing_row IS NOT NULL AND NOT wins))"
    )
    cursor.execute("DELETE FROM spans WHERE rowid IN (SELECT standing_row FROM span_verdict WHERE wins)")
    if others:
        remember(
            cursor,
            "spans",
            upload_id,
            "SELECT CASE WHEN wins THEN standing_upload END, trace_id || span_id FROM span_verdict "
            "WHERE rank = 1 AND standing_upload <> ?",
            [upload_id],
        )
    return Repeats(duplicate, replaced)


def _find_standing(cursor: duckdb.DuckDBPyConnection, table: str, upload_id: str, fresh: str) -> None:
    """Temporary table of the spans of the store that the new ones tell again."""
    here = span_places.find(cursor, "span_places", f"SELECT trace_id FROM {table} WHERE {fresh}", [upload_id])
    mine = "AND upload_id <> $1" if table == "spans" else "AND $1 IS NOT NULL"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_standing AS
        SELECT spans.trace_id, spans.span_id, spans.rowid AS row, spans.ended_ns, spans.n_attributes, spans.content_key,
            spans.upload_id
        FROM spans SEMI JOIN (SELECT trace_id, span_id FROM {table} WHERE {fresh}) AS fresh
            ON spans.trace_id = fresh.trace_id AND spans.span_id = fresh.span_id
        WHERE spans.rowid IN {here} {mine}""",
        [upload_id],
    )


def _count(cursor: duckdb.DuckDBPyConnection, sql: str, upload_id: str) -> int:
    row = cursor.execute(sql, [upload_id]).fetchone()
    return int(row[0]) if row else 0
