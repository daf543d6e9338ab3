"""Assembly, fourth part: who asked, what served, and how it ended.

Input: as_span, as_root, as_member, as_call; table spans for the wide rows.
Output: temporary tables
    as_last  t -> its last call, number of calls; as_who  t -> fields of IDENTITY; as_agent, as_asked  t -> one field
    as_end   t -> http_status, is_failed, error_type, status_class
Who asked is looked for on the last call from the outside in, then its ancestors, then the other spans of the trace.
"""

from __future__ import annotations

import duckdb

from ingest.store.span_judgement import JUDGED

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
    # of the ancestors of the call only: other spans may tell of other models
    "cost_around": (("cost", "cost_langfuse", "cost_mlflow"), JUDGED["cost"]),
    "model_around": (
        ("model", "request_model", "routed_model"),
        "coalesce(spans.model, spans.request_model, spans.routed_model)",
    ),
    "id_around": (("response_id", "call_id"), "coalesce(spans.response_id, spans.call_id)"),
}
_AROUND = ("cost_around", "model_around", "id_around")

_TIMEOUT = "(?i)time.?d?.?out|deadline"
_SHED = "(?i)rate.?limit|too.?many|overload|quota|throttl|resource.?exhausted|service.?unavailable|queue.?full"
_CANCELLED = "(?i)cancel|client.?disconnect|client.?closed|broken.?pipe"
_REJECTED = (
    "(?i)bad.?request|invalid.?request|unauthori|authenticat|permission|forbidden|not.?found|unprocessable|"
    "content.?(policy|filter)|context.?(window|length)"
)


def build(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables of this part."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_last AS
        SELECT t, arg_max(call, i) AS call, arg_max(first_r, i) AS first_r, count(*) AS n_calls FROM (
            SELECT t, call, first_r, row_number() OVER (PARTITION BY t ORDER BY st, en, depth DESC, call) AS i FROM as_call)
        GROUP BY t""")
    told = _told_columns(cursor)
    _readers(cursor)
    _who(cursor, told)
    _agents(cursor, told)
    _asked(cursor)
    _dimensions(cursor, told)
    _end(cursor, told)


def _told_columns(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    """Columns of table spans that hold anything at all; the others need no search."""
    names = sorted({name for columns, _ in IDENTITY.values() for name in columns})
    names += [
        "dimensions",
        "agent",
        "http_status",
        "other_status",
        "error_type",
        "event_error",
        "error_code",
        "thread_error",
    ]
    counted = ", ".join(f'count("{name}")' for name in names)
    counts = cursor.execute(f"SELECT {counted} FROM spans").fetchone() or ()
    return {name for name, count in zip(names, counts, strict=True) if count}


def _readers(cursor: duckdb.DuckDBPyConnection) -> None:
    """Spans of the last call and their ancestors, best first; of a trace without a call its root."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_reader AS
        SELECT node.r, node.t, node.pr, CASE WHEN node.cls = 'engine' THEN 100 ELSE 0 END + least(node.depth, 99) AS place, node.s
            FROM as_last AS last JOIN as_member AS member ON member.call = last.call JOIN as_span AS node ON node.r = member.r
        UNION ALL SELECT r, t, NULL, 0, s FROM as_root WHERE t NOT IN (SELECT t FROM as_last)""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_climb AS SELECT DISTINCT t, pr FROM as_reader
        WHERE pr IS NOT NULL AND pr NOT IN (SELECT r FROM as_reader)""")
    place = 1000
    while place < 2000 and _count(cursor, "SELECT count(*) FROM as_climb"):
        cursor.execute(f"""INSERT INTO as_reader SELECT node.r, node.t, node.pr, {place}, node.s
            FROM as_climb JOIN as_span AS node ON node.r = as_climb.pr""")
        cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_climb AS SELECT DISTINCT t, pr FROM as_reader
            WHERE place = {place} AND pr IS NOT NULL AND pr NOT IN (SELECT r FROM as_reader)""")
        place += 1


def _who(cursor: duckdb.DuckDBPyConnection, told: set[str]) -> None:
    fields = {name: sql for name, (columns, sql) in IDENTITY.items() if told & set(columns)}
    picked = ", ".join(f'arg_min("w_{name}", place) FILTER ("w_{name}" IS NOT NULL) AS "{name}"' for name in fields)
    values = ", ".join(f'{sql} AS "w_{name}"' for name, sql in fields.items())
    missing = ", ".join(f'NULL AS "{name}"' for name in IDENTITY if name not in fields)
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_who AS
        SELECT t{", " if picked else ""}{picked}{", " if missing else ""}{missing} FROM (
            SELECT reader.t, row_number() OVER (PARTITION BY reader.t ORDER BY place, reader.s) AS place{", " if values else ""}{values}
            FROM as_reader AS reader JOIN spans ON spans.rowid = reader.r) GROUP BY t""")
    for name, sql in fields.items():
        if name in _AROUND or not _count(cursor, f'SELECT count(*) FROM as_who WHERE "{name}" IS NULL'):
            continue
        cursor.execute(f"""UPDATE as_who SET "{name}" = found.value FROM (
            SELECT t, arg_min(value, i) AS value FROM (
                SELECT node.t, {sql} AS value, row_number() OVER (PARTITION BY node.t ORDER BY depth, st, s) AS i
                FROM as_span AS node JOIN spans ON spans.rowid = node.r
                WHERE node.t IN (SELECT t FROM as_who WHERE "{name}" IS NULL) AND {sql} IS NOT NULL) GROUP BY t) AS found
            WHERE found.t = as_who.t AND as_who."{name}" IS NULL""")


def _agents(cursor: duckdb.DuckDBPyConnection, told: set[str]) -> None:
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_agent (t UBIGINT, agent VARCHAR)")
    if "agent" in told:
        cursor.execute("""INSERT INTO as_agent SELECT t, agent FROM (
                SELECT node.t, agent, row_number() OVER (PARTITION BY node.t ORDER BY depth, st, s) AS i
                FROM as_span AS node JOIN spans ON spans.rowid = node.r WHERE agent IS NOT NULL AND operation = 'invoke_agent')
            WHERE i = 1""")


def _asked(cursor: duckdb.DuckDBPyConnection) -> None:
    """Model that the outermost span around the last call asked for."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_asked AS
        SELECT t, arg_max(model_group, place) FILTER (model_group IS NOT NULL) AS model_group,
            arg_max(request_model, place) FILTER (request_model IS NOT NULL) AS request_model FROM (
            SELECT reader.t, model_group, request_model,
                row_number() OVER (PARTITION BY reader.t ORDER BY CASE WHEN place < 1000 THEN -place ELSE place END, reader.s) AS place
            FROM as_reader AS reader JOIN spans ON spans.rowid = reader.r WHERE coalesce(model_group, request_model) IS NOT NULL)
        GROUP BY t""")


def _dimensions(cursor: duckdb.DuckDBPyConnection, told: set[str]) -> None:
    """Promoted attributes of all spans of a trace, each from the span that goes before."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_dimension (t UBIGINT, dimensions VARCHAR)")
    if "dimensions" in told:
        cursor.execute("""INSERT INTO as_dimension SELECT t, CAST(list_reduce(list(told ORDER BY place DESC, depth DESC, st DESC, s),
                lambda below, above: json_merge_patch(below, above)) AS VARCHAR) FROM (
                SELECT node.t, dimensions::JSON AS told, coalesce(reader.place, 5000) AS place, node.depth, node.st, node.s
                FROM as_span AS node JOIN spans ON spans.rowid = node.r LEFT JOIN as_reader AS reader ON reader.r = node.r
                WHERE dimensions IS NOT NULL) GROUP BY t""")


def _end(cursor: duckdb.DuckDBPyConnection, told: set[str]) -> None:
    """Status of the served request, whether it failed, as what, and its class."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_http (t UBIGINT, http_status BIGINT)")
    if told & {"http_status", "other_status"}:
        cursor.execute("""INSERT INTO as_http SELECT t, arg_min(status, i) FROM (
                SELECT node.t, coalesce(http_status, other_status) AS status, row_number() OVER (PARTITION BY node.t ORDER BY
                    CASE WHEN node.kind = 2 AND http_status IS NOT NULL THEN 0 WHEN node.depth = 0 THEN 1 WHEN node.cls = 'thread' THEN 2 ELSE 3 END,
                    node.depth, node.st, node.s) AS i
                FROM as_span AS node JOIN spans ON spans.rowid = node.r
                WHERE coalesce(http_status, other_status) BETWEEN 100 AND 599
                    AND ((node.kind = 2 AND http_status IS NOT NULL) OR node.depth = 0 OR node.cls IN ('thread', 'call')))
            GROUP BY t""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_failed AS
        SELECT root.t, spans.ended_ns IS NULL AS is_open, http.http_status, who.outcome, told.finish,
            coalesce(spans.status_code = 2 OR spans.level = 'ERROR', false) OR coalesce(http.http_status >= 400, false)
                OR coalesce(told.finish = 'abort', false) OR coalesce(told.failed, false)
                OR coalesce(who.outcome IN ('timeout', 'cancelled', 'error'), false) AS is_failed
        FROM as_root AS root JOIN spans ON spans.rowid = root.r LEFT JOIN as_http AS http ON http.t = root.t
            LEFT JOIN as_last AS last ON last.t = root.t LEFT JOIN as_call AS told ON told.call = last.call
            LEFT JOIN as_who AS who ON who.t = root.t""")
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_error (t UBIGINT, error_type VARCHAR)")
    if told & {"error_type", "event_error", "error_code", "thread_error"}:
        cursor.execute("""INSERT INTO as_error SELECT t, coalesce(
                arg_min(error_type, i) FILTER (error_type IS NOT NULL AND NOT regexp_full_match(error_type, '[0-9]+')),
                arg_min(event_error, i) FILTER (event_error IS NOT NULL), arg_min(error_code, i) FILTER (error_code IS NOT NULL),
                arg_min(thread_error, i) FILTER (thread_error IS NOT NULL AND cls = 'thread')) FROM (
                SELECT node.t, node.cls, error_type, event_error, error_code, thread_error,
                    row_number() OVER (PARTITION BY node.t ORDER BY node.depth, node.st, node.s) AS i
                FROM as_span AS node JOIN spans ON spans.rowid = node.r
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
