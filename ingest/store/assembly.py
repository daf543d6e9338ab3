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
    span_judgement,
)

BUCKET_SPANS = 1_500_000  # spans assembled at once: some 1.5 GB


@dataclass(frozen=True)
class Made:
    """Traces looked at, rows written, traces that hold no request."""

    traces: int = 0
    requests: int = 0
    calls: int = 0
    without_request: int = 0


def assemble_pending(cursor: duckdb.DuckDBPyConnection) -> Made:
    """Makes the rows of every pending trace anew."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_pending AS SELECT DISTINCT trace_id FROM pending_traces")
    n_traces = _count(cursor, "SELECT count(*) FROM as_pending")
    if not n_traces:
        return Made()
    for macro in (*span_judgement.MACROS, *assembly_who.MACROS):
        cursor.execute(macro)
    n_spans = _count(cursor, "SELECT count(*) FROM spans")
    if n_traces > BUCKET_SPANS // 20:
        n_spans = _count(cursor, "SELECT count(*) FROM spans WHERE trace_id IN (SELECT trace_id FROM as_pending)")
    buckets = max(1, -(-min(n_spans, n_traces * 1000) // BUCKET_SPANS))
    requests = calls = 0
    for bucket in range(buckets):
        where = f" WHERE hash(trace_id) % {buckets} = {bucket}" if buckets > 1 else ""
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_wanted AS SELECT trace_id FROM as_pending{where}")
        for part in (assembly_tree, assembly_calls, assembly_stages, assembly_who):
            part.build(cursor)
        written = assembly_rows.build(cursor)
        requests, calls = requests + written[0], calls + written[1]
    assembly_twins.mark(cursor)
    cursor.execute("DELETE FROM pending_traces")
    return Made(n_traces, requests, calls, n_traces - requests)


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
