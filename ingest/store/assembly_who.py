"""Assembly, fourth part: who asked, what served, and how it ended.

Input: as_span, as_root, as_member, as_call; table spans for the wide rows.
Output: temporary tables
    as_last  t -> its last call, number of calls; as_who  t -> fields of IDENTITY; as_agent, as_dimension  t -> one field
    as_wide  wide rows of roots and last calls
    as_end   t -> http_status, is_failed, error_type, status_class
Who asked is looked for on the last call from the outside in, then its ancestors, then the other spans of the trace.
"""

from __future__ import annotations

import duckdb

from ingest.store.assembly_tree import climb
from ingest.store.span_judgement import JUDGED, columns_sql

# field -> (columns of table spans it is made of, SQL over one span)
IDENTITY: dict[str, tuple[tuple[str, ...], str]] = {
    "user": (("user",), '"user"'),
    "tenant": (
        ("tenant", "metadata", "team"),
        "coalesce(trim(tenant, '\"'), metadata_text(metadata, '$.tenant'), team)",
    ),
    "session": (("session",), "session"),
    "scenario": (
        ("scenario", "metadata", "workflow"),
        "coalesce(scenario, metadata_text(metadata, '$.scenario'), workflow)",
    ),
    "route": (("route",), "CASE WHEN NOT contains(route, '://') THEN route END"),
    "region": (("region",), "region"),
    "deployment_version": (("deployment_version",), "deployment_version"),
    "degraded": (("degraded",), "degraded"),
    "cold_start": (("cold_start",), "cold_start"),
    "retries": (("retries",), "retries"),
    "trace_name": (("trace_name",), "trace_name"),
    "outcome": (("outcome",), "outcome"),
    "told_streaming": (("streaming",), "streaming"),
    "kept": (("sampling_rate",), "sampling_rate"),
    "asked_group": (("model_group",), "model_group"),
    "asked_model": (("request_model",), "request_model"),
    # of the ancestors of the call only: other spans may tell of other models
    "cost_around": (("cost", "cost_langfuse", "cost_mlflow"), JUDGED["cost"]),
    "model_around": (
        ("model", "request_model", "routed_model"),
        "coalesce(spans.model, spans.request_model, spans.routed_model)",
    ),
    "id_around": (("response_id", "call_id"), "coalesce(spans.response_id, spans.call_id)"),
}
_OUTERMOST = ("asked_group", "asked_model")
_AROUND = ("cost_around", "model_around", "id_around", *_OUTERMOST)

_TIMEOUT = "(?i)time.?d?.?out|deadline"
_SHED = "(?i)rate.?limit|too.?many|overload|quota|throttl|resource.?exhausted|service.?unavailable|queue.?full"
_CANCELLED = "(?i)cancel|client.?disconnect|client.?closed|broken.?pipe"
_REJECTED = (
    "(?i)bad.?request|invalid.?request|unauthori|authenticat|permission|forbidden|not.?found|unprocessable|"
    "content.?(policy|filter)|context.?(window|length)"
)


def build(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Makes the tables of this part; `told`: columns of table spans that hold anything."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_last AS
        SELECT t, arg_max(call, i) AS call, arg_max(first_r, i) AS first_r, arg_max(depth, i) AS depth, count(*) AS n_calls FROM (
            SELECT t, call, first_r, depth, row_number() OVER (PARTITION BY t ORDER BY st, en, depth DESC, call) AS i FROM as_call)
        GROUP BY t""")
    fields = {name: sql for name, (columns, sql) in IDENTITY.items() if told & set(columns)}
    _wide(cursor, told, fields)
    _who(cursor, fields)
    _agents(cursor, told)
    _dimensions(cursor, told)
    _end(cursor, told)


_WIDE = (
    *(
        "trace_id",
        "upload_id",
        "source",
        "name",
        "kind",
        "status_code",
        "level",
        "ended_ns",
        "own_id",
        "caller_ttft_ms",
    ),
    *("sampling_rate", "http_status", "attributes", "error_type", "event_error", "span_id"),
    *("resource_namespace", "resource_region", "resource_version"),
)


def _wide(cursor: duckdb.DuckDBPyConnection, told: frozenset[str], fields: dict[str, str]) -> None:
    """Wide rows of the roots and of the last calls, with what they tell of IDENTITY."""
    values = "".join(f', {sql} AS "w_{name}"' for name, sql in fields.items())
    missing = "".join(f', NULL AS "w_{name}"' for name in IDENTITY if name not in fields)
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_wide AS
        SELECT spans.row_id AS r, {columns_sql(_WIDE, told, "spans")}{values}{missing} FROM as_source AS spans
        WHERE row_id IN (SELECT r FROM as_root UNION ALL SELECT first_r FROM as_last)""")


def _who(cursor: duckdb.DuckDBPyConnection, fields: dict[str, str]) -> None:
    """Where the call hangs right below the root both are asked, the call first; else every span on the way."""
    # the model asked for is named by the outermost span, all else by the nearest
    both = ", ".join(
        f'coalesce(root_wide."w_{name}", call_wide."w_{name}") AS "{name}"'
        if name in _OUTERMOST
        else f'coalesce(call_wide."w_{name}", root_wide."w_{name}") AS "{name}"'
        for name in IDENTITY
    )
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_who AS
        SELECT root.t, {both} FROM as_root AS root JOIN as_wide AS root_wide ON root_wide.r = root.r
        LEFT JOIN as_last AS last ON last.t = root.t LEFT JOIN as_wide AS call_wide ON call_wide.r = last.first_r""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_far AS SELECT t FROM as_last
        WHERE depth > 1 OR call IN (SELECT call FROM as_joint)""")
    if fields and _count(cursor, "SELECT count(*) FROM as_far"):
        _ask_all_on_the_way(cursor, fields)
    for name, sql in fields.items():
        if name in _AROUND or not _count(cursor, f'SELECT count(*) FROM as_who WHERE "{name}" IS NULL'):
            continue
        cursor.execute(f"""UPDATE as_who SET "{name}" = found.value FROM (
            SELECT t, arg_min(value, i) AS value FROM (
                SELECT node.t, {sql} AS value, row_number() OVER (PARTITION BY node.t ORDER BY depth, st, s) AS i
                FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r
                WHERE node.t IN (SELECT t FROM as_who WHERE "{name}" IS NULL) AND {sql} IS NOT NULL) GROUP BY t) AS found
            WHERE found.t = as_who.t AND as_who."{name}" IS NULL""")


def _ask_all_on_the_way(cursor: duckdb.DuckDBPyConnection, fields: dict[str, str]) -> None:
    """Spans of the last call from the outside in, then their ancestors, nearest first."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_reader AS
        SELECT node.r, node.t, node.pr, CASE WHEN node.cls = 'engine' THEN 100 ELSE 0 END + least(node.depth, 99) AS place,
            place AS outermost, node.s
        FROM as_far JOIN as_last AS last ON last.t = as_far.t JOIN as_member AS member ON member.call = last.call
            JOIN as_span AS node ON node.r = member.r""")
    climb(cursor, "SELECT r, t FROM as_reader")
    cursor.execute("""INSERT INTO as_reader SELECT r, node.t, node.pr, 999 + steps, -steps, node.s
        FROM as_above JOIN as_span AS node USING (r)""")
    picked = ", ".join(
        f'arg_min("w_{name}", {"outermost" if name in _OUTERMOST else "place"}) FILTER ("w_{name}" IS NOT NULL) AS "{name}"'
        for name in fields
    )
    values = ", ".join(f'{sql} AS "w_{name}"' for name, sql in fields.items())
    missing = "".join(f', NULL AS "{name}"' for name in IDENTITY if name not in fields)
    # an engine's own span is the innermost of its call, though it may hang beside the model span
    cursor.execute("DELETE FROM as_who WHERE t IN (SELECT t FROM as_reader)")
    cursor.execute(f"""INSERT INTO as_who BY NAME SELECT t, {picked}{missing} FROM (
            SELECT reader.t, row_number() OVER (PARTITION BY reader.t ORDER BY place, reader.s) AS place,
                row_number() OVER (PARTITION BY reader.t ORDER BY outermost, reader.s) AS outermost, {values}
            FROM as_reader AS reader JOIN as_source AS spans ON spans.row_id = reader.r) GROUP BY t""")


def _agents(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_agent (t UBIGINT, agent VARCHAR)")
    if "agent" in told:
        cursor.execute("""INSERT INTO as_agent SELECT t, agent FROM (
                SELECT node.t, agent, row_number() OVER (PARTITION BY node.t ORDER BY depth, st, s) AS i
                FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r WHERE agent IS NOT NULL AND operation = 'invoke_agent')
            WHERE i = 1""")


def _dimensions(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Promoted attributes of all spans of a trace: those nearer to the root are overridden by those of the call."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_dimension (t UBIGINT, dimensions VARCHAR)")
    if "dimensions" in told:
        cursor.execute("""INSERT INTO as_dimension SELECT t, CAST(list_reduce(list(told ORDER BY place DESC, depth, st DESC, s),
                lambda below, above: json_merge_patch(below, above)) AS VARCHAR) FROM (
                SELECT node.t, dimensions::JSON AS told, node.depth, node.st, node.s,
                    CASE WHEN node.r IN (SELECT first_r FROM as_last) THEN 0 WHEN node.r IN (SELECT r FROM as_root) THEN 1 ELSE 2 END AS place
                FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r WHERE dimensions IS NOT NULL) GROUP BY t""")


def _end(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Status of the served request, whether it failed, as what, and its class."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_http AS
        SELECT t, http_status FROM as_root AS root JOIN as_wide AS wide ON wide.r = root.r WHERE root.kind = 2 AND http_status BETWEEN 100 AND 599""")
    if told & {"http_status", "other_status"}:
        cursor.execute("""INSERT INTO as_http SELECT t, arg_min(status, i) FROM (
                SELECT node.t, coalesce(http_status, other_status) AS status, row_number() OVER (PARTITION BY node.t ORDER BY
                    CASE WHEN node.kind = 2 AND http_status IS NOT NULL THEN 0 WHEN node.depth = 0 THEN 1 WHEN node.cls = 'thread' THEN 2 ELSE 3 END,
                    node.depth, node.st, node.s) AS i
                FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r
                WHERE coalesce(http_status, other_status) BETWEEN 100 AND 599 AND node.t NOT IN (SELECT t FROM as_http)
                    AND ((node.kind = 2 AND http_status IS NOT NULL) OR node.depth = 0 OR node.cls IN ('thread', 'call')))
            GROUP BY t""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_failed AS
        SELECT root.t, wide.ended_ns IS NULL AS is_open, http.http_status, who.outcome, called.finish,
            coalesce(wide.status_code = 2 OR wide.level = 'ERROR', false) OR coalesce(http.http_status >= 400, false)
                OR coalesce(called.finish = 'abort', false) OR coalesce(called.failed, false)
                OR coalesce(who.outcome IN ('timeout', 'cancelled', 'error'), false) AS is_failed
        FROM as_root AS root JOIN as_wide AS wide ON wide.r = root.r LEFT JOIN as_http AS http ON http.t = root.t
            LEFT JOIN as_last AS last ON last.t = root.t LEFT JOIN as_call AS called ON called.call = last.call
            LEFT JOIN as_who AS who ON who.t = root.t""")
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_error (t UBIGINT, error_type VARCHAR)")
    if told & {"error_type", "event_error", "error_code", "thread_error"}:
        cursor.execute("""INSERT INTO as_error SELECT t, coalesce(
                arg_min(error_type, i) FILTER (error_type IS NOT NULL AND NOT regexp_full_match(error_type, '[0-9]+')),
                arg_min(event_error, i) FILTER (event_error IS NOT NULL), arg_min(error_code, i) FILTER (error_code IS NOT NULL),
                arg_min(thread_error, i) FILTER (thread_error IS NOT NULL AND cls = 'thread')) FROM (
                SELECT node.t, node.cls, error_type, event_error, error_code, thread_error,
                    row_number() OVER (PARTITION BY node.t ORDER BY node.depth, node.st, node.s) AS i
                FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r
                WHERE node.t IN (SELECT t FROM as_failed WHERE is_failed)
                    AND coalesce(error_type, event_error, error_code, thread_error) IS NOT NULL) GROUP BY t""")
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_end AS
        SELECT failed.t, http_status, is_failed, error_type, {status_class("failed.outcome")} AS status_class
        FROM as_failed AS failed LEFT JOIN as_error AS error ON error.t = failed.t""")


def status_class(outcome: str) -> str:
    """SQL of the class of an outcome: by the HTTP status first, then the source's word, then the error's name."""
    return f"""CASE WHEN NOT is_failed AND is_open THEN 'open' WHEN NOT is_failed AND finish = 'error' THEN 'truncated'
        WHEN NOT is_failed THEN 'ok' WHEN http_status = 499 THEN 'cancelled' WHEN http_status IN (429, 503) THEN 'shed'
        WHEN http_status IN (408, 504) THEN 'timeout' WHEN http_status BETWEEN 400 AND 498 THEN 'rejected'
        WHEN {outcome} IN ('timeout', 'cancelled') THEN {outcome} WHEN http_status >= 500 THEN 'error'
        WHEN regexp_matches(error_type, '{_TIMEOUT}') THEN 'timeout' WHEN regexp_matches(error_type, '{_SHED}') THEN 'shed'
        WHEN regexp_matches(error_type, '{_CANCELLED}') THEN 'cancelled'
        WHEN regexp_matches(error_type, '{_REJECTED}') THEN 'rejected' ELSE 'error' END"""


MACROS: tuple[str, ...] = (
    """CREATE OR REPLACE TEMP MACRO metadata_text(metadata, path) AS
        CASE WHEN starts_with(metadata, '{') THEN TRY(json_extract_string(metadata, path)) END""",
)


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
