"""Spans that uploads told with different content: every telling is kept, so that each upload can be taken out.

Input: the verdict on repeated spans (span_repeats), an upload that goes. Output: rows of table repeats with `told` =
TELLINGS, the whole row as text behind its key; the best of them in table spans when the one that stands goes.
Of a span that all uploads told alike nothing is kept: any of them may own it. From its first conflict on, each upload
that told it has a kept row, but for the one whose telling stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.schema import SPANS
from ingest.store import span_width
from ingest.store.shadows import as_text, from_text, told_key

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TELLINGS = "tellings"  # of column `told` of repeats
AGAIN_TOLD = "uneven"  # likewise: spans that an upload tells more than once (span_marks)
KEY = "trace_id || span_id"
TOLD_KEY = told_key("row_key")
TEMPORARY = frozenset({"span_conflicts", "span_elected"})
_BEST = "has_end DESC, n_attributes DESC, received_ns DESC NULLS FIRST, upload_id DESC, place DESC"


def keep(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """Keeps what is about to be lost of the repeats in temporary table span_verdict, whose new spans are in `table`."""
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_conflicts AS
        SELECT verdict.*, {KEY} AS k, kept.k IS NOT NULL AS is_known
        FROM span_verdict AS verdict LEFT JOIN (SELECT DISTINCT {TOLD_KEY} AS k FROM repeats WHERE told = '{TELLINGS}') AS kept
            ON kept.k = {KEY}
        WHERE rank = 1 AND standing_upload <> ? AND (standing_content <> content_key OR kept.k IS NOT NULL)""",
        [upload_id],
    ).fetchall()
    if not cursor.execute("SELECT 1 FROM span_conflicts LIMIT 1").fetchall():
        return
    standing = f"{span_width.whole(cursor, 'spans')} AS spans JOIN span_conflicts ON spans.row_id = standing_row"
    _add(  # all that told it before told what stands, for until now there was no conflict
        cursor,
        f"""SELECT repeats.upload_id, {_row("spans")} FROM {standing} JOIN repeats ON told = 'spans' AND row_key = k
        WHERE NOT is_known AND repeats.upload_id NOT IN (standing_upload, ?)""",
        [upload_id],
    )
    _add(cursor, f"SELECT spans.upload_id, {_row('spans')} FROM {standing} WHERE wins")
    _add(
        cursor,
        f"SELECT fresh.upload_id, {_row('fresh')} FROM {span_width.whole(cursor, table)} AS fresh "
        "JOIN span_conflicts ON fresh.row_id = span_conflicts.row WHERE NOT wins",
    )


def _row(alias: str) -> str:
    return as_text(f"{alias}.trace_id || {alias}.span_id", SPANS, alias)


def _add(cursor: DuckDBPyConnection, select: str, parameters: list[object] | None = None) -> None:
    cursor.execute(
        f"INSERT INTO repeats (upload_id, told, row_key) SELECT u, '{TELLINGS}', kept FROM ({select}) AS found(u, kept)",
        parameters or [],
    ).fetchall()


def pass_on(cursor: DuckDBPyConnection, upload_id: str) -> dict[str, int]:
    """Spans of an upload that goes in the telling of another one; how many went to each."""
    return _elect(cursor, upload_id, is_gone=True)


def judge_again(cursor: DuckDBPyConnection, upload_id: str) -> None:
    """The best telling of each span of which an upload has just been given one, for its order among the others changed."""
    _elect(cursor, upload_id, is_gone=False)


def _elect(cursor: DuckDBPyConnection, upload_id: str, *, is_gone: bool) -> dict[str, int]:
    """Spans that went to each upload.

    Args:
        is_gone: the upload goes: its spans need another telling, and those that stand of others stay as they are.
    """
    mine = f"SELECT {KEY} FROM spans WHERE upload_id = $1"
    kept = f"FROM repeats WHERE told = '{TELLINGS}'"
    keys = f"SELECT {TOLD_KEY} {kept} AND ({TOLD_KEY} IN ({mine}) OR (upload_id = $1 AND NOT $2))"
    if not cursor.execute(f"SELECT 1 FROM ({keys}) LIMIT 1", [upload_id, is_gone]).fetchall():
        return {}
    told = f"substr(row_key, length({TOLD_KEY}) + 2)"
    cursor.execute(
        f"""CREATE OR REPLACE TEMP TABLE span_elected AS
        SELECT k, told, place, standing.upload_id AS standing_upload, standing.rowid AS standing_row, candidate.upload_id AS upload_id
        FROM (
            SELECT {TOLD_KEY} AS k, upload_id, {told} AS told, rowid AS place,
                json_extract_string({told}, '$.ended_ns') IS NOT NULL AS has_end,
                CAST(json_extract_string({told}, '$.n_attributes') AS BIGINT) AS n_attributes
            {kept} AND ({TOLD_KEY} IN ({keys})) AND (upload_id <> $1 OR NOT $2)
            UNION ALL
            SELECT {KEY}, upload_id, NULL, -1, ended_ns IS NOT NULL, n_attributes FROM spans
            WHERE {KEY} IN ({keys}) AND (upload_id <> $1 OR NOT $2)
        ) AS candidate LEFT JOIN (SELECT upload_id, received_ns FROM uploads) AS known USING (upload_id)
        LEFT JOIN (SELECT rowid, upload_id, {KEY} AS k FROM spans WHERE {KEY} IN ({keys})) AS standing USING (k)
        QUALIFY row_number() OVER (PARTITION BY k ORDER BY {_BEST}) = 1""",
        [upload_id, is_gone],
    ).fetchall()
    cursor.execute("DELETE FROM span_elected WHERE told IS NULL").fetchall()  # what stands is the best
    if not is_gone:
        _add(
            cursor,
            f"SELECT spans.upload_id, {_row('spans')} FROM {span_width.whole(cursor, 'spans')} AS spans "
            "JOIN span_elected ON spans.row_id = standing_row",
        )
    cursor.execute("DELETE FROM spans WHERE rowid IN (SELECT standing_row FROM span_elected)").fetchall()
    values = ", ".join("upload_id" if column.name == "upload_id" else from_text(column) for column in SPANS)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE span_returned AS SELECT {values} FROM span_elected").fetchall()
    span_width.move(cursor, "span_returned", "spans")
    cursor.execute("DELETE FROM repeats WHERE rowid IN (SELECT place FROM span_elected)").fetchall()
    cursor.execute(
        "DELETE FROM repeats WHERE told = 'spans' AND (row_key, upload_id) IN (SELECT k, upload_id FROM span_elected)"
    ).fetchall()
    if not is_gone:
        cursor.execute(
            "INSERT INTO repeats (upload_id, told, row_key) SELECT standing_upload, 'spans', k FROM span_elected"
        ).fetchall()
    cursor.execute(
        "INSERT INTO pending_traces SELECT trace_id, min(started_ns), max(started_ns) FROM spans "
        f"WHERE {KEY} IN (SELECT k FROM span_elected) GROUP BY trace_id"
    ).fetchall()
    counts = dict(cursor.execute("SELECT upload_id, count(*) FROM span_elected GROUP BY 1 ORDER BY 1").fetchall())
    for name in ("span_elected", "span_returned"):
        cursor.execute(f"DROP TABLE {name}").fetchall()
    return counts
