"""Assembly, second part: which model and engine spans are one call, and the figures of each call.

Input: as_span, as_slice, as_made (assembly_tree); table spans for the wide rows.
Output: temporary tables
    as_member  r -> call (row of one of its spans), for every model and engine span
    as_call    one row per call with its figures; times relative to its own start, parts as its engines measured them

Spans nested in each other are one call, and so are those of one trace that share the id of a call. Its interval is the
outermost model span's, its tokens come from one span, its model is named from the inside out, all else from the
outside in.
"""

from __future__ import annotations

import duckdb

from ingest.store.span_judgement import USED, columns_sql, judged_sql

_OUTER = ("own_id", "call_id", "streamed", "finish", "cost", "service_tier", "failed")
_INNER = ("provider", "provider_model", "model", "request_model", "parameter_model", "routed_model", "replica")
_TOKENS = (
    *("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"),
    *("audio_input_tokens", "audio_output_tokens", "is_input_mended", "is_derived"),
)
_ENGINE_SUMS = ("queue_ns", "prefill_ns", "decode_ns", "inference_ns", "transfer_ns", "preemptions")
_LARGEST = ("batch_size", "queue_depth", "kv_cache_usage", "itl_max_ns", "itl_basis", "sequences")


def build(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Makes the tables of this part."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_member AS
        SELECT r, t, top AS call, depth, cls = 'engine' AS is_engine, st, en, s, pr, emitter FROM as_span
        WHERE cls IN ('call', 'engine')""")
    _join_by_id(cursor)
    _figures(cursor, told)
    _first_token_spans(cursor)
    _join_pairs(cursor)
    _calls(cursor)


def _join_by_id(cursor: duckdb.DuckDBPyConnection) -> None:
    """Calls of one trace that share an id become one; not two model spans that follow one another, where the id is
    one constant for every answer."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_many AS
        SELECT t FROM as_member GROUP BY t HAVING min(call) <> max(call)""")
    if not _count(cursor, "SELECT count(*) FROM as_many"):
        return
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_id AS
        SELECT r, t, st, en, is_engine, unnest(list_distinct([response_id, spans.call_id])) AS id
        FROM as_member JOIN as_source AS spans ON spans.row_id = as_member.r
        WHERE t IN (SELECT t FROM as_many) AND coalesce(response_id, spans.call_id) IS NOT NULL""")
    for _ in range(2):
        cursor.execute("""CREATE OR REPLACE TEMP TABLE as_joined AS
            WITH told AS (SELECT as_id.t, id, call, as_id.st, as_id.en, as_id.is_engine FROM as_id JOIN as_member USING (r) WHERE id IS NOT NULL),
            shared AS (SELECT t, id, min(call) AS target FROM told GROUP BY t, id HAVING min(call) <> max(call)
                AND (count(DISTINCT call) FILTER (NOT is_engine) < 2
                    OR sum(en - st) FILTER (NOT is_engine) > max(en) FILTER (NOT is_engine) - min(st) FILTER (NOT is_engine)))
            SELECT call, min(target) AS target FROM told JOIN shared USING (t, id) GROUP BY call HAVING min(target) < call""")
        if not _count(cursor, "SELECT count(*) FROM as_joined"):
            break
        cursor.execute("UPDATE as_member SET call = target FROM as_joined WHERE as_member.call = as_joined.call")


def _figures(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Judged figures of every member, those of slices filled in."""
    keep = "r, t, depth, is_engine, st, en, s, pr, emitter"
    members = ", ".join(f"m.{name}" for name in keep.split(", "))
    relation = f"SELECT {members}, {columns_sql(USED, told, 'spans')} FROM as_member AS m JOIN as_source AS spans ON spans.row_id = m.r"
    if _count(cursor, "SELECT count(*) FROM as_made"):
        own = {"started_ns": "any_value(m.st)", "ended_ns": "any_value(m.en)", "class": "'engine'", "kind": "2"}
        own["event_first_ns"] = "min(event_first_ns)"
        merged = columns_sql([name for name in USED if name not in own], told, "spans", "max")
        fixed = ", ".join(f'{sql} AS "{name}"' for name, sql in own.items() if name in USED)
        any_member = ", ".join(f"any_value(m.{name}) AS {name}" for name in keep.split(", ")[1:])
        relation += f""" UNION ALL BY NAME SELECT m.r, {any_member}, {fixed}, {merged} FROM as_made
            JOIN as_member AS m ON m.r = as_made.eng JOIN as_source AS spans ON spans.row_id = as_made.r GROUP BY m.r"""
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_figure AS
        SELECT figure.* REPLACE (
            CASE WHEN is_sound THEN coalesce(figure.queue_ns, slice.queue_ns) END AS queue_ns,
            CASE WHEN is_sound THEN coalesce(figure.prefill_ns, slice.prefill_ns) END AS prefill_ns,
            CASE WHEN is_sound THEN coalesce(figure.decode_ns, slice.decode_ns) END AS decode_ns,
            CASE WHEN is_sound THEN coalesce(figure.transfer_ns, slice.network_ns) END AS transfer_ns,
            CASE WHEN is_sound AND output_tokens IS DISTINCT FROM 0 THEN coalesce(engine_first_ns, first_ns,
                CASE WHEN r < 0 THEN coalesce(slice.queue_ns, 0) + slice.prefill_ns END) END AS engine_first_ns)
        FROM ({judged_sql(relation, keep)}) AS figure LEFT JOIN as_slice AS slice ON slice.eng = figure.r""")


def _first_token_spans(cursor: duckdb.DuckDBPyConnection) -> None:
    """A span that lasts until the first token gives it to the model span around or beside it."""
    if not _count(cursor, "SELECT count(*) FROM as_span WHERE cls = 'first_token'"):
        return
    cursor.execute("""UPDATE as_figure SET first_ns = told.en - told.st FROM as_span AS told
        WHERE told.cls = 'first_token' AND told.t = as_figure.t AND (told.pr = as_figure.r OR told.pr = as_figure.pr)
            AND NOT is_engine AND first_ns IS NULL AND streamed IS DISTINCT FROM false AND output_tokens IS DISTINCT FROM 0""")


def _join_pairs(cursor: duckdb.DuckDBPyConnection) -> None:
    """A model span of no length with usage continues the one before it of the same parent that has none."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_pair AS
        SELECT * FROM (SELECT r, lag(r) OVER before AS first_r, st, en, output_tokens, lag(output_tokens) OVER before AS before_tokens
            FROM as_figure WHERE NOT is_engine AND t IN (SELECT t FROM as_figure WHERE en = st AND output_tokens IS NOT NULL AND NOT is_engine)
            WINDOW before AS (PARTITION BY t, pr ORDER BY st, s))
        WHERE en = st AND output_tokens IS NOT NULL AND first_r IS NOT NULL AND before_tokens IS NULL""")
    if not _count(cursor, "SELECT count(*) FROM as_pair"):
        return
    cursor.execute("""UPDATE as_member SET call = first.call FROM as_pair JOIN as_member AS first ON first.r = as_pair.first_r
        WHERE as_member.r = as_pair.r""")
    for table in ("as_member", "as_figure", "as_span"):
        cursor.execute(f"UPDATE {table} SET en = as_pair.en FROM as_pair WHERE {table}.r = as_pair.first_r")
    cursor.execute("UPDATE as_span SET cls = NULL FROM as_pair WHERE as_span.r = as_pair.r")


def _calls(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_joint AS
        SELECT call FROM as_member GROUP BY call HAVING count(*) > 1""")
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_call AS {_single_sql()}")
    if _count(cursor, "SELECT count(*) FROM as_joint"):
        cursor.execute(f"INSERT INTO as_call BY NAME {_joint_sql()}")


def _single_sql() -> str:
    """Calls told by one span."""
    plain = (*_OUTER, *_INNER, *_TOKENS, *_ENGINE_SUMS, *_LARGEST)
    return f"""SELECT call, figure.t, r AS first_r, figure.st, figure.en, figure.depth, NOT figure.is_engine AS has_model,
        CASE WHEN figure.is_engine THEN 1 ELSE 0 END AS n_engines, {", ".join(plain)},
        CASE WHEN figure.is_engine THEN total_ns END AS engine_total_ns,
        CASE WHEN figure.is_engine THEN engine_first_ns ELSE first_ns END AS first_ns, engine_first_ns,
        figure.is_engine AND decode_ns IS NOT NULL AS has_all_decode, figure.is_engine AND NOT is_sound AS is_unsound,
        is_first_ignored AND NOT figure.is_engine AS is_first_ignored, coalesce(is_suspect, false) AS is_suspect, false AS is_pair,
        provider_model IS NOT NULL AS is_alias, CASE WHEN figure.is_engine THEN figure.emitter END AS engine
        FROM as_figure AS figure JOIN as_member USING (r) WHERE call NOT IN (SELECT call FROM as_joint)"""


def _joint_sql() -> str:
    """Calls told by several spans; `i` counts from the outside in, models before engines, fuller engines first."""
    outer = ", ".join(f"arg_min({name}, i) FILTER ({name} IS NOT NULL) AS {name}" for name in _OUTER)
    inner = ", ".join(f"arg_max({name}, i) FILTER ({name} IS NOT NULL) AS {name}" for name in _INNER)
    pack = ", ".join(f"{name} := {name}" for name in _TOKENS)
    tokens = ", ".join(f"tokens.{name} AS {name}" for name in _TOKENS)
    sums = ", ".join(
        f"sum({name}) FILTER (is_engine)::{'DOUBLE' if name == 'preemptions' else 'BIGINT'} AS {name}"
        for name in _ENGINE_SUMS
    )
    largest = ", ".join(f"max({name}) AS {name}" for name in _LARGEST)
    return f"""SELECT * EXCLUDE (tokens, client_first, engine_start, model_streamed), {tokens},
        CASE WHEN tokens.output_tokens = 0 OR model_streamed IS NOT DISTINCT FROM false THEN NULL
            WHEN client_first IS NOT NULL THEN client_first - st
            -- two clocks: the engine's span lies somewhere within the model span, as far as that leaves room for it
            ELSE greatest(0, least(engine_start - st, en - st - engine_total_ns)) + engine_first_ns END AS first_ns
    FROM (SELECT call, any_value(t) AS t, arg_min(r, i) AS first_r, arg_min(st, i) AS st, arg_min(en, i) AS en, min(depth) AS depth,
            bool_or(NOT is_engine) AS has_model, count(*) FILTER (is_engine) AS n_engines, {outer}, {inner}, {sums}, {largest},
            arg_min(struct_pack({pack}), i) FILTER (input_tokens IS NOT NULL OR output_tokens IS NOT NULL) AS tokens,
            arg_min(st + first_ns, i) FILTER (NOT is_engine AND first_ns IS NOT NULL) AS client_first,
            arg_min(streamed, i) FILTER (NOT is_engine AND streamed IS NOT NULL) AS model_streamed,
            sum(total_ns) FILTER (is_engine)::BIGINT AS engine_total_ns,
            arg_min(engine_first_ns, i) FILTER (is_engine AND engine_first_ns IS NOT NULL) AS engine_first_ns,
            arg_min(st, i) FILTER (is_engine AND engine_first_ns IS NOT NULL) AS engine_start,
            coalesce(bool_and(decode_ns IS NOT NULL) FILTER (is_engine), false) AS has_all_decode,
            coalesce(bool_or(NOT is_sound) FILTER (is_engine), false) AS is_unsound,
            coalesce(bool_or(is_first_ignored) FILTER (NOT is_engine), false) AS is_first_ignored,
            coalesce(bool_or(is_suspect), false) AS is_suspect,
            bool_or(r IN (SELECT r FROM as_pair)) AS is_pair,
            coalesce(bool_or(provider_model IS NOT NULL) FILTER (i = 1), false) AS is_alias, max(emitter) FILTER (is_engine) AS engine
        FROM (SELECT figure.*, call, row_number() OVER (PARTITION BY call ORDER BY figure.is_engine,
                CASE WHEN figure.is_engine THEN -coalesce(output_tokens, 0) ELSE 0 END, figure.depth, figure.st, figure.s) AS i
            FROM as_figure AS figure JOIN as_member USING (r) WHERE call IN (SELECT call FROM as_joint))
        GROUP BY call)"""


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
