"""Requests that are suspected to be one call seen twice: by a second instrumentation, in a trace of its own.

Input: rows of requests, the changed ones against all; table spans for the scopes. Output: their flags.
An instrumentation that loses its context while streaming begins a new trace: same token counts, a model of the same
family, its interval inside the other's. Both rows stay; the inner one names the other, and who counts can leave it out.
A pair is judged by both, so whoever was seen twice with a request that changes or goes is made anew with it.
"""

from __future__ import annotations

import duckdb

from ingest.schema import NS_PER_S

FLAG = "suspected_duplicate_of"
_HOUR_NS = 3600 * NS_PER_S
_MOST_ALIKE = 50  # calls of equal token counts that begin within one second


def add_partners(cursor: duckdb.DuckDBPyConnection) -> None:
    """Adds to the pending traces (as_pending) those that are flagged as seen twice with one of them."""
    pending = "(SELECT trace_id FROM as_pending)"
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_flagged AS
        WITH around AS (SELECT min(first_ns) AS first_ns, max(last_ns) AS last_ns FROM (
            SELECT first_ns, last_ns FROM as_pending
            UNION ALL SELECT started_ns, started_ns FROM requests WHERE request_key IN {pending}))
        SELECT request_key AS inner_key, flag[{len(FLAG) + 2}:] AS outer_key, started_ns FROM (
            SELECT request_key, started_ns, unnest(list_filter(flags, lambda f: starts_with(f, '{FLAG}'))) AS flag
            FROM requests WHERE len(flags) > 0 AND started_ns BETWEEN (SELECT first_ns FROM around) - {_HOUR_NS}
                AND (SELECT last_ns FROM around) + {_HOUR_NS})""").fetchall()
    cursor.execute(f"""INSERT INTO as_pending SELECT DISTINCT ON (trace_id) trace_id, started_ns, started_ns FROM (
            SELECT inner_key AS trace_id, started_ns FROM as_flagged WHERE outer_key IN {pending}
            UNION ALL SELECT outer_key, started_ns FROM as_flagged WHERE inner_key IN {pending})
        WHERE trace_id NOT IN {pending}""").fetchall()
    cursor.execute("DROP TABLE as_flagged").fetchall()


def mark(cursor: duckdb.DuckDBPyConnection) -> None:
    """Flags the pairs of which one request is among the changed (as_pending)."""
    near = f"""started_ns BETWEEN (SELECT min(first_ns) FROM as_pending) - {_HOUR_NS}
        AND (SELECT max(last_ns) FROM as_pending) + {_HOUR_NS}"""
    scopes = f"SELECT count(DISTINCT scope) FROM spans WHERE \"class\" = 'call' AND {near}"
    if _count(cursor, scopes) < 2:  # one instrumentation does not see its own call twice
        return
    # both begin within a second of each other; of very many alike within one, none can be said to be the other
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_seen AS
        SELECT * EXCLUDE (n_alike) FROM (
            SELECT request_key, started_ns, ended_ns, e2e_ns, input_tokens, output_tokens, lower(model) AS model, streaming,
                ttft_ns IS NULL AS is_blind, unattributed_ns = 0 AS is_bare, scope, started_ns // {NS_PER_S} AS second,
                request_key IN (SELECT trace_id FROM as_pending) AS is_changed,
                count(*) OVER (PARTITION BY input_tokens, output_tokens, started_ns // {NS_PER_S}) AS n_alike
            FROM requests JOIN (SELECT trace_id, min(scope) AS scope FROM spans WHERE "class" = 'call' AND {near}
                GROUP BY trace_id HAVING min(scope) = max(scope)) AS told ON told.trace_id = requests.request_key
            WHERE llm_calls = 1 AND vantage = 'client' AND output_tokens > 0 AND input_tokens > 0 AND ended_ns IS NOT NULL AND {near})
        WHERE n_alike <= {_MOST_ALIKE}""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_twin AS
        SELECT inside.request_key AS inner_key, around.request_key AS outer_key, inside.streaming, around.is_blind
        FROM as_seen AS inside JOIN (SELECT *, second AS met FROM as_seen UNION ALL SELECT *, second + 1 FROM as_seen) AS around
            ON around.input_tokens = inside.input_tokens AND around.output_tokens = inside.output_tokens AND around.met = inside.second
        WHERE inside.is_bare AND around.scope <> inside.scope AND around.request_key <> inside.request_key
            AND around.started_ns < inside.started_ns AND around.ended_ns > inside.ended_ns AND inside.e2e_ns > around.e2e_ns * 0.9
            AND (starts_with(inside.model, around.model) OR starts_with(around.model, inside.model))
        QUALIFY row_number() OVER (PARTITION BY inside.request_key ORDER BY around.e2e_ns, around.request_key) = 1
            AND bool_or(inside.is_changed OR around.is_changed) OVER (PARTITION BY inside.request_key)""")
    cursor.execute(f"""UPDATE requests SET flags = list_append(list_filter(flags, lambda f: NOT starts_with(f, '{FLAG}')),
            '{FLAG}:' || outer_key) FROM as_twin WHERE request_key = inner_key""")
    cursor.execute("""UPDATE requests SET flags = list_append(flags, 'ttft_missing') FROM as_twin
        WHERE request_key = outer_key AND as_twin.streaming AND is_blind AND NOT list_contains(flags, 'ttft_missing')""")


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
