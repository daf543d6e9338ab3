"""Spans of the pending traces -> request rows, by SQL over all of them at once.

Input: tables spans and pending_traces. Output: rows of requests and calls; pending_traces is empty.
Parts, each in a module of its own: the tree of spans, the calls, the stages, who asked and how it ended, the rows.
Many traces are made in buckets of traces, so that memory does not grow with their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from ingest.store import (
    assembly_calls,
    assembly_rows,
    assembly_stages,
    assembly_tree,
    assembly_twins,
    assembly_who,
    shadows,
    span_judgement,
    span_marks,
    span_places,
    span_width,
    temporary,
)

BUCKET_SPANS = 600_000  # spans assembled at once: temporary tables of some 0.7 GB
FEW_SPANS = 20  # pending traces times this below the number of stored spans: only theirs are fetched


@dataclass(frozen=True)
class Made:
    """Traces looked at, rows written, traces that hold no request."""

    traces: int = 0
    requests: int = 0
    calls: int = 0
    without_request: int = 0


def assemble_pending(cursor: duckdb.DuckDBPyConnection) -> Made:
    """Makes the rows of every pending trace anew."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE as_pending AS "
        "SELECT trace_id, min(first_ns) AS first_ns, max(last_ns) AS last_ns FROM pending_traces GROUP BY trace_id"
    )
    if not _count(cursor, "SELECT count(*) FROM as_pending"):
        return Made()
    assembly_twins.add_partners(cursor)
    n_traces = _count(cursor, "SELECT count(*) FROM as_pending")
    span_marks.recount(cursor)
    for macro in (*assembly_tree.MACROS, *span_judgement.MACROS, *assembly_who.MACROS):
        cursor.execute(macro)
    n_spans = _source(cursor, n_traces)
    told = span_width.filled(cursor, "as_source")  # the others need no reading
    buckets = max(1, -(-n_spans // BUCKET_SPANS))
    requests = calls = 0
    for bucket in range(buckets):
        where = f" WHERE hash(trace_id) % {buckets} = {bucket}" if buckets > 1 else ""
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_wanted AS SELECT trace_id FROM as_pending{where}")
        assembly_tree.build(cursor)
        assembly_calls.build(cursor, told)
        assembly_stages.build(cursor)
        assembly_who.build(cursor, told)
        shadows.keep_standing(cursor)
        written = assembly_rows.build(cursor, told)
        requests, calls = requests + written[0], calls + written[1]
        if buckets > 1:
            temporary.release(cursor, _is_of_bucket)
    shadows.bring_back(cursor)
    assembly_twins.mark(cursor)
    cursor.execute("DELETE FROM pending_traces")
    return Made(n_traces, requests, calls, n_traces - requests)


def _source(cursor: duckdb.DuckDBPyConnection, n_traces: int) -> int:
    """Makes view as_source, the spans to assemble from (columns of spans and row_id); an upper bound of their number.

    Few traces of a large store are fetched first, so that nothing after scans the store.
    """
    stored = _count(cursor, "SELECT count(*) FROM spans")
    spans = span_width.whole(cursor, "spans")
    if n_traces * FEW_SPANS >= stored:
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW as_source AS SELECT * FROM {spans}")
        return stored
    here = span_places.find(cursor, "as_places", "SELECT trace_id FROM as_pending")
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_fetched AS SELECT * FROM {spans} WHERE row_id IN {here}")
    cursor.execute("CREATE OR REPLACE TEMP VIEW as_source AS SELECT * FROM as_fetched")
    return _count(cursor, "SELECT count(*) FROM as_fetched")


def _is_of_bucket(table: str) -> bool:
    return table.startswith("as_") and table not in {"as_pending", "as_fetched"}


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
