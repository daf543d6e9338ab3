"""Requests that are suspected to be one call seen twice: by a second instrumentation, in a trace of its own.

Input: rows of requests, the changed ones against all; table spans for the scopes. Output: their flags.
An instrumentation that loses its context while streaming begins a new trace: same token counts, a model of the same
family, its interval inside the other's. Both rows stay; the inner one names the other, and who counts can leave it out.
"""

from __future__ import annotations

import duckdb

FLAG = "suspected_duplicate_of"


def mark(cursor: duckdb.DuckDBPyConnection) -> None:
    """Flags the pairs of which one request is among the changed (as_pending)."""
    wanted = (
        """llm_calls = 1 AND vantage = 'client' AND output_tokens > 0 AND input_tokens > 0 AND ended_ns IS NOT NULL"""
    )
    changed = "SELECT request_key FROM requests WHERE request_key IN (SELECT trace_id FROM as_pending)"
    if not _count(cursor, f"SELECT count(*) FROM requests WHERE {wanted} AND request_key IN ({changed})"):
        return
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_twin AS
        SELECT inside.request_key AS inner_key, around.request_key AS outer_key, inside.streaming AS streaming,
            around.ttft_ns IS NULL AS is_blind
        FROM (SELECT * FROM requests WHERE {wanted} AND unattributed_ns = 0) AS inside
        JOIN (SELECT * FROM requests WHERE {wanted}) AS around
            ON around.input_tokens = inside.input_tokens AND around.output_tokens = inside.output_tokens
            AND around.request_key <> inside.request_key
            AND around.started_ns < inside.started_ns AND around.ended_ns > inside.ended_ns
        WHERE inside.e2e_ns > around.e2e_ns * 0.9
            AND (starts_with(lower(inside.model), lower(around.model)) OR starts_with(lower(around.model), lower(inside.model)))
            AND (inside.request_key IN ({changed}) OR around.request_key IN ({changed}))
        QUALIFY row_number() OVER (PARTITION BY inside.request_key ORDER BY around.e2e_ns, around.request_key) = 1""")
    # one instrumentation does not see its own call twice
    cursor.execute("""DELETE FROM as_twin WHERE (inner_key, outer_key) IN (
        SELECT inner_key, outer_key FROM as_twin JOIN spans AS one ON one.trace_id = inner_key AND one."class" = 'call'
            JOIN spans AS two ON two.trace_id = outer_key AND two."class" = 'call' AND two.scope IS NOT DISTINCT FROM one.scope)""")
    cursor.execute(f"""UPDATE requests SET flags = list_append(list_filter(flags, lambda f: NOT starts_with(f, '{FLAG}')),
            '{FLAG}:' || outer_key) FROM as_twin WHERE request_key = inner_key""")
    cursor.execute("""UPDATE requests SET flags = list_append(flags, 'ttft_missing') FROM as_twin
        WHERE request_key = outer_key AND as_twin.streaming AND is_blind AND NOT list_contains(flags, 'ttft_missing')""")


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
