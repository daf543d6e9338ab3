"""Assembly, last part: one row of requests per trace, one row of calls per call of a request with several.

Input: the tables of the parts before; table spans for the wide rows of roots and calls.
Output: rows in requests and calls in place of those of the same traces.
"""

from __future__ import annotations

import duckdb

from ingest.schema import REQUESTS, STAGES
from ingest.store.assembly_stages import PARTS
from ingest.store.span_columns import MARKS
from ingest.store.span_judgement import USED, columns_sql, judged_sql

_TOKENS = (
    *("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"),
    *("audio_input_tokens", "audio_output_tokens"),
)
_USAGE = ("input_tokens", "output_tokens", "usage_langfuse", "usage_mlflow", "usage_litellm")
_LLM_ROUTE = "(?i)completion|chat|embedding|message|response|generate|infer|rerank"


def build(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> tuple[int, int]:
    """Numbers of request rows and call rows written; `told`: columns of table spans that hold anything."""
    _stages(cursor)
    _totals(cursor, told)
    _traits(cursor)
    cursor.execute("DELETE FROM requests WHERE request_key IN (SELECT trace_id FROM as_wanted)")
    cursor.execute("DELETE FROM calls WHERE request_key IN (SELECT trace_id FROM as_wanted)")
    requests = _written(cursor, f"INSERT INTO requests BY NAME {_request_sql()}")
    calls = 0
    if _count(cursor, "SELECT count(*) FROM as_total WHERE llm_calls > 1"):
        calls = _written(cursor, f"INSERT INTO calls BY NAME {_call_sql()}")
    return requests, calls


def _written(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _stages(cursor: duckdb.DuckDBPyConnection) -> None:
    """Time per stage of every trace: of its spans by label, of its calls by part."""
    of_calls = ", ".join(f"sum({part}) AS {part}" for part in PARTS)
    of_spans = ", ".join(f"sum(len) FILTER (label = '{stage}') AS {stage}" for stage in STAGES)

    def both(stage: str) -> str:
        called, spanned = f"called.{stage}", f"spanned.{stage}"
        if stage not in PARTS:
            return f"{spanned}::BIGINT AS {stage}"
        return (
            f"CASE WHEN {called} IS NULL THEN {spanned} ELSE {called} + coalesce({spanned}, 0) END::BIGINT AS {stage}"
        )

    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_stage AS
        SELECT root.t, {", ".join(both(stage) for stage in STAGES)} FROM as_root AS root
        LEFT JOIN (SELECT t, {of_spans} FROM as_piece WHERE label IS NOT NULL AND len > 0 GROUP BY t) AS spanned ON spanned.t = root.t
        LEFT JOIN (SELECT t, {of_calls} FROM as_call_stage GROUP BY t) AS called ON called.t = root.t""")


def _totals(cursor: duckdb.DuckDBPyConnection, told: frozenset[str]) -> None:
    """Sums over the calls of a trace; usage of a span around them only where no call has any."""
    tokens = ", ".join(f"sum({name})::BIGINT AS {name}" for name in _TOKENS)
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_total AS
        SELECT told.t, count(*) AS llm_calls, {tokens}, sum(cost) AS cost,
            CASE WHEN count(*) = 1 THEN
                CASE WHEN max(sequences) > 1 OR coalesce(max(output_tokens), 0) < 2 THEN NULL WHEN bool_and(has_all_decode) THEN max(decode_ns)
                    WHEN bool_and(has_model) AND bool_and(streamed IS DISTINCT FROM false) THEN max(en - st - first_ns)
                    WHEN bool_and(NOT has_model) THEN max(engine_total_ns - first_ns) END
                WHEN bool_and(has_all_decode) AND coalesce(max(sequences), 1) < 2 AND sum(output_tokens) > count(*) AND count(output_tokens) = count(*)
                    THEN sum(decode_ns) END::BIGINT AS generation_ns,
            CASE WHEN bool_and(has_all_decode) THEN 'engine' ELSE 'response_end' END AS generation_basis,
            coalesce(sum(batch_size * decode_ns) / nullif(sum(decode_ns) FILTER (batch_size IS NOT NULL), 0), avg(batch_size)) AS batch_size,
            max(queue_depth) AS queue_depth, max(kv_cache_usage) AS kv_cache_usage, sum(preemptions) AS preemptions,
            max(itl_max_ns) AS itl_max_ns, arg_max(itl_basis, itl_max_ns) AS itl_basis,
            bool_or(is_unsound) AS is_unsound, bool_or(coalesce(is_input_mended, false)) AS is_input_mended,
            bool_or(coalesce(is_derived, false)) AS is_derived, coalesce(max(sequences) > 1, false) AS has_sequences,
            bool_or(n_engines > 1) AS has_engines, bool_or(is_pair) AS has_pair, bool_or(is_suspect) AS is_suspect,
            bool_or(is_first_ignored) AS is_first_ignored, bool_or(is_alias) AS is_alias,
            bool_or(engine IN ('triton', 'tgi')) AND count(output_tokens) = 0 AS has_no_tokens,
            count(*) FILTER (failed AND output_tokens IS NULL AND told.call <> last.call) AS n_retried
        FROM as_call AS told JOIN as_last AS last ON last.t = told.t GROUP BY told.t""")
    keep = "r, t, depth, is_engine, st, en, s, emitter"
    usage = [name for name in _USAGE if name in told]
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_around AS
        SELECT {keep.replace("is_engine", "false AS is_engine")} FROM as_span
        WHERE t NOT IN (SELECT t FROM as_total WHERE coalesce(input_tokens, output_tokens) IS NOT NULL)
            AND (cls IN ('container', 'gateway') OR cls IS NULL)
            -- a wrapper of the AI SDK has a call below it; where it has none, that one was told in another trace
            AND NOT (coalesce(emitter = 'ai_sdk', false) AND t NOT IN (SELECT t FROM as_total))""")
    if not usage or not _count(cursor, "SELECT count(*) FROM as_around"):
        tokens = ", ".join(f"{name} BIGINT" for name in _TOKENS)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_usage_around (t UBIGINT, {tokens}, is_input_mended BOOLEAN)")
        return
    around = f"""SELECT {", ".join(f"around.{name}" for name in keep.split(", "))}, {columns_sql(USED, told, "spans")}
        FROM as_around AS around JOIN as_source AS spans ON spans.row_id = around.r WHERE {" OR ".join(f"{name} IS NOT NULL" for name in usage)}"""
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_usage_around AS
        SELECT * FROM ({judged_sql(around, keep)}) WHERE coalesce(input_tokens, output_tokens) IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY t ORDER BY depth, st, s) = 1""")


def _traits(cursor: duckdb.DuckDBPyConnection) -> None:
    """What the tree itself tells of a trace."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_trait AS
        SELECT node.t, count(*) FILTER (node.cls = 'tool' AND NOT in_tool) AS tool_calls,
            bool_or(node.p IS NOT NULL AND node.pr IS NULL AND node.r >= 0) AS has_orphan,
            coalesce(bool_or(node.st < parent_st - 1000), false) AS is_skewed,
            coalesce(bool_or(node.cls = 'call' AND node.near = 'call'), false) AS is_nested,
            coalesce(bool_or(node.cls IN ('retrieval', 'rerank', 'guardrail', 'tool', 'postprocess', 'queue', 'prefill', 'decode')
                OR (node.cls = 'container' AND node.emitter <> 'http')), false) AS is_work,
            coalesce(bool_or(node.cls = 'gateway'), false) AS has_gateway
        FROM as_span AS node GROUP BY node.t""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_parallel AS
        SELECT DISTINCT t FROM (SELECT t, st, max(en) OVER (PARTITION BY t ORDER BY st, en, s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM as_span WHERE cls = 'tool' AND NOT in_tool) WHERE before > st""")
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_mark (t UBIGINT, marks BIGINT, upload_id VARCHAR)")
    if _count(cursor, "SELECT max(marks) > 0 OR min(upload_id) <> max(upload_id) FROM as_source"):
        cursor.execute("""INSERT INTO as_mark SELECT trace_key(trace_id), bit_or(marks), arg_max(upload_id, row_id) FROM as_source
            WHERE trace_id IN (SELECT trace_id FROM as_wanted) GROUP BY trace_id
            HAVING bit_or(marks) > 0 OR min(upload_id) <> max(upload_id)""")


def _request_sql() -> str:
    counted = ", ".join(
        f"CASE WHEN coalesce(total.input_tokens, total.output_tokens) IS NULL THEN around.{name} ELSE total.{name} END AS {name}"
        for name in _TOKENS
    )
    stages = ", ".join(f"stage.{name} AS {name}_ns" for name in STAGES if name != "unattributed")
    known = " + ".join(f"coalesce({name}_ns, 0)" for name in STAGES if name != "unattributed")
    marks = ", ".join(f"CASE WHEN marks & {bit} > 0 THEN '{flag}' END" for flag, bit in MARKS.items())
    columns = ", ".join(f'"{column.name}"' for column in REQUESTS if column.name in _ROW_COLUMNS)
    return f"""
SELECT {columns} FROM (SELECT *, CASE WHEN e2e_ns IS NOT NULL THEN greatest(0, e2e_ns - ({known})) END AS unattributed_ns,
    list_filter([CASE WHEN before_first_token_ns IS NOT NULL THEN 'ttft_split' END,
        CASE WHEN streaming AND ttft_ns IS NULL AND NOT is_suspect AND output_tokens IS DISTINCT FROM 0 THEN 'ttft_missing' END,
        CASE WHEN is_suspect THEN 'ttft_suspect' END, CASE WHEN is_first_ignored THEN 'ttft_ignored_not_streaming' END,
        CASE WHEN is_unsound THEN 'timing_invalid' END, CASE WHEN llm_calls > 0 AND model IS NULL AND NOT is_failed THEN 'model_missing' END,
        CASE WHEN is_alias THEN 'model_from_provider_model' END, CASE WHEN has_orphan THEN 'orphan_parent' END,
        CASE WHEN is_nested THEN 'nested_llm_merged' END, CASE WHEN llm_calls = 0 THEN 'no_llm_call' END,
        CASE WHEN has_sequences THEN 'multi_sequence' END, CASE WHEN has_engines THEN 'prefill_decode_split' END,
        CASE WHEN is_parallel THEN 'parallel_tools' END, CASE WHEN has_pair THEN 'stream_span_pair_merged' END,
        CASE WHEN has_no_tokens THEN 'no_tokens' END, CASE WHEN is_derived THEN 'output_tokens_derived' END,
        CASE WHEN is_skewed THEN 'clock_skew' END, CASE WHEN is_input_mended THEN 'input_below_cached' END,
        CASE WHEN is_usage_around THEN 'usage_from_agent' END, {marks}], lambda flag: flag IS NOT NULL) AS flags
FROM (SELECT spans.trace_id AS request_key, coalesce(mark.upload_id, spans.upload_id) AS upload_id, spans.source AS source,
    CASE WHEN root.cls = 'engine' THEN 'server' WHEN root.cls = 'gateway' OR spans.kind = 2 THEN 'gateway' ELSE 'client' END AS vantage,
    spans.trace_id AS trace_id, coalesce(spans.own_id, CASE WHEN total.llm_calls = 1 THEN coalesce(last.call_id, who.id_around) END) AS request_id,
    spans.name AS root, coalesce(last.provider_model, last.model, last.request_model, last.parameter_model, last.routed_model,
        CASE WHEN total.llm_calls > 0 THEN who.model_around END) AS model,
    coalesce(who.asked_group, who.asked_model, CASE WHEN last.provider_model IS NULL THEN last.request_model END) AS requested_model,
    last.provider AS provider, coalesce(who.scenario, agent.agent, who.trace_name) AS scenario,
    coalesce(who.tenant, spans.resource_namespace, called.resource_namespace) AS tenant, who."user" AS "user", who.session AS session,
    who.route AS route, coalesce(who.region, called.resource_region, spans.resource_region) AS region, last.replica AS replica,
    coalesce(who.deployment_version, called.resource_version, spans.resource_version) AS deployment_version,
    coalesce(last.streamed, who.told_streaming, CASE WHEN last.is_pair OR (last.has_model AND last.first_ns IS NOT NULL) THEN true END) AS streaming,
    who.degraded AS degraded, who.cold_start AS cold_start, dimension.dimensions AS dimensions,
    root.st AS started_ns, CASE WHEN spans.ended_ns IS NOT NULL THEN root.st + {_E2E} END AS ended_ns,
    CASE WHEN spans.ended_ns IS NOT NULL THEN {_E2E} END AS e2e_ns,
    CASE WHEN spans.caller_ttft_ms >= 0 THEN CAST(round(spans.caller_ttft_ms * 1e6) AS BIGINT)
        ELSE greatest(0, last.st - root.st) + last.first_ns END AS ttft_ns,
    last.first_ns AS call_ttft_ns, total.generation_ns AS generation_ns,
    CASE WHEN total.generation_ns IS NOT NULL THEN total.generation_basis END AS generation_basis,
    total.itl_max_ns AS itl_max_ns, total.itl_basis AS itl_basis, {stages}, {counted}, last.service_tier AS service_tier,
    coalesce(total.llm_calls, 0) AS llm_calls, trait.tool_calls AS tool_calls, coalesce(who.retries, total.n_retried, 0) + 1 AS attempts,
    total.batch_size AS batch_size, total.queue_depth AS queue_depth, total.kv_cache_usage AS kv_cache_usage, total.preemptions AS preemptions,
    ending.status_class AS status_class, ending.http_status AS http_status,
    CASE WHEN ending.is_failed THEN ending.error_type END AS error_type, last.finish AS finish_reason,
    coalesce(total.cost, who.cost_around) AS source_cost_usd, coalesce(who.kept, spans.sampling_rate, 1.0) AS sampling_rate,
    CASE WHEN total.llm_calls > 1 AND around.t IS NULL THEN total.llm_calls ELSE 0 END AS n_call_rows,
    {_ATTRIBUTES} AS attributes,
    coalesce(total.is_suspect, false) AS is_suspect, coalesce(total.is_first_ignored, false) AS is_first_ignored,
    coalesce(total.is_unsound, false) AS is_unsound, coalesce(total.is_alias, false) AS is_alias, coalesce(total.has_sequences, false) AS has_sequences,
    coalesce(total.has_engines, false) AS has_engines, coalesce(total.has_pair, false) AS has_pair, coalesce(total.has_no_tokens, false) AS has_no_tokens,
    coalesce(total.is_derived, false) AS is_derived, coalesce(total.is_input_mended, around.is_input_mended, false) AS is_input_mended,
    around.t IS NOT NULL AS is_usage_around, trait.has_orphan AS has_orphan, trait.is_nested AS is_nested, trait.is_skewed AS is_skewed,
    parallel.t IS NOT NULL AS is_parallel, ending.is_failed AS is_failed, coalesce(mark.marks, 0) AS marks
FROM as_root AS root JOIN as_wide AS spans ON spans.r = root.r JOIN as_stage AS stage ON stage.t = root.t JOIN as_trait AS trait ON trait.t = root.t
    JOIN as_end AS ending ON ending.t = root.t LEFT JOIN as_last ON as_last.t = root.t LEFT JOIN as_call AS last ON last.call = as_last.call
    LEFT JOIN as_wide AS called ON called.r = last.first_r LEFT JOIN as_who AS who ON who.t = root.t
    LEFT JOIN as_total AS total ON total.t = root.t LEFT JOIN as_usage_around AS around ON around.t = root.t
    LEFT JOIN as_agent AS agent ON agent.t = root.t LEFT JOIN as_mark AS mark ON mark.t = root.t
    LEFT JOIN as_dimension AS dimension ON dimension.t = root.t LEFT JOIN as_parallel AS parallel ON parallel.t = root.t
WHERE total.llm_calls > 0 OR trait.is_work OR (trait.has_gateway AND regexp_matches(coalesce(who.route, spans.name), '{_LLM_ROUTE}'))))"""


_E2E = "CASE WHEN root.cls = 'engine' AND last.first_r = root.r AND root.en = root.own_en THEN last.engine_total_ns ELSE root.en - root.st END"
_ATTRIBUTES = """CASE WHEN called.attributes IS NULL OR called.r = root.r THEN spans.attributes WHEN spans.attributes IS NULL THEN called.attributes
        ELSE rtrim(spans.attributes, '}') || ',' || ltrim(called.attributes, '{') END"""
_ROW_COLUMNS = frozenset(column.name for column in REQUESTS) - {
    *("ttfa_ns", "cache_write_1h_tokens", "image_input_tokens", "cold_start_ns", "response_cached", "quality"),
    "token_gaps_ns",
}


def _call_sql() -> str:
    """Calls of requests with several, in order of their start."""
    plain = ("provider", "replica", *_TOKENS, "service_tier", "batch_size")
    columns = ", ".join(f"told.{name} AS {name}" for name in plain)
    return f"""
SELECT request.request_key AS request_key, row_number() OVER (PARTITION BY told.t ORDER BY told.st, told.en, told.call) - 1 AS call_index,
    request.upload_id AS upload_id, spans.span_id AS span_id, told.call_id AS request_id,
    coalesce(told.provider_model, told.model, told.request_model, told.parameter_model, told.routed_model) AS model,
    told.request_model AS requested_model, {columns}, told.st AS started_ns, told.en AS ended_ns, told.first_ns AS ttft_ns,
    told.queue_ns AS queue_ns, told.prefill_ns AS prefill_ns, told.decode_ns AS decode_ns,
    CASE WHEN told.failed THEN 'error' ELSE 'ok' END AS status_class,
    CASE WHEN told.failed THEN coalesce(spans.error_type, spans.event_error) END AS error_type, told.finish AS finish_reason, told.cost AS source_cost_usd
FROM as_call AS told JOIN as_total AS total ON total.t = told.t AND total.llm_calls > 1 JOIN as_root AS root ON root.t = told.t
    JOIN as_wide AS root_wide ON root_wide.r = root.r JOIN requests AS request ON request.request_key = root_wide.trace_id
    LEFT JOIN as_source AS spans ON spans.row_id = told.first_r
WHERE request.n_call_rows > 0"""


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0] or 0) if row else 0
