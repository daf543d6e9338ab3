"""What the fields of one span mean: told values -> figures, as SQL expressions over table spans.

Output: JUDGED, column -> SQL, used wherever the assembly looks at a span. Every rule about one span stands here once:
units by emitter, usage told in JSON or Python text, figures of an engine that contradict one another.
Every parse of text is guarded, so that a span without it pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ingest.bounds import FAR_NS, MAX_COST_USD, MAX_TOKENS
from ingest.formats.attributes import PROVIDERS
from ingest.schema import SPANS

_TOLERANCE = "total_ns * 1.02 + 1000000"  # engine parts may exceed the total by 2 % + 1 ms: other clocks, rounding
_DAY_NS = "86400000000000"


def _json_count(text: str, *paths: str) -> str:
    found = ", ".join(f"TRY_CAST(json_extract_string(json_told({text}), '$.{path}') AS BIGINT)" for path in paths)
    return f"sane(coalesce({found}, NULL))"


def _python_count(text: str, name: str) -> str:
    return f"sane(TRY_CAST(nullif(regexp_extract({text}, '[''\"]{name}[''\"]: *([0-9]+)', 1), '') AS BIGINT))"


def _usage(attribute: str, paths: tuple[str, ...], python: str, buckets: str = "") -> str:
    """SQL of a token count: the attribute, else the usage told as text."""
    langfuse = _json_count("usage_langfuse", *paths)
    if buckets:
        langfuse = f"coalesce({langfuse}, sane(bucket_sum(json_told(usage_langfuse), '{buckets}')))"
    return f"""coalesce("{attribute}", CASE WHEN usage_langfuse IS NOT NULL THEN {langfuse} END,
        CASE WHEN usage_mlflow IS NOT NULL THEN {_json_count("usage_mlflow", *paths)} END,
        CASE WHEN usage_litellm IS NOT NULL THEN {_python_count("usage_litellm", python)} END)"""


_CACHED = _usage(
    "cached_input_tokens",
    (
        *("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "cache_read_input_tokens"),
        *("input_cached_tokens", "input_cache_read"),
    ),
    "cached_tokens",
)
_WRITTEN = _usage(
    "cache_write_tokens", ("cache_creation_input_tokens", "input_cache_creation"), "cache_creation_input_tokens"
)
_WRITTEN = f"coalesce({_WRITTEN}, nullif(cache_write_ai_sdk, 0))"
_INPUT = _usage("input_tokens", ("prompt_tokens", "input_tokens"), "prompt_tokens", "input")

_PROVIDER = (
    "CASE lower({0}) WHEN 'strands-agents' THEN NULL "
    + " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in PROVIDERS.items())
    + " ELSE lower({0}) END"
)
_FIRST_TOLD = """CASE
    WHEN first_s IS NOT NULL THEN seconds_ns(first_s)
    WHEN first_emitter IS NOT NULL AND provider = 'strands-agents' THEN TRY_CAST(round(first_emitter * 1e6) AS BIGINT)
    WHEN first_emitter IS NOT NULL THEN seconds_ns(first_emitter)
    WHEN first_ms IS NOT NULL THEN TRY_CAST(round(first_ms * 1e6) AS BIGINT)
    WHEN first_us IS NOT NULL THEN TRY_CAST(round(first_us * 1e3) AS BIGINT)
    WHEN first_at IS NOT NULL THEN instant_ns(trim(first_at, '"')) - started_ns
    WHEN event_first_ns IS NOT NULL AND marks & 16 = 0 AND NOT (emitter = 'envoy'
        AND ended_ns - event_first_ns <= greatest(1000000, (ended_ns - started_ns) // 100)) THEN event_first_ns - started_ns
    END"""
_STREAMED = """coalesce(streaming, CASE WHEN kind_ai_sdk LIKE '%.doStream' THEN true
    WHEN kind_ai_sdk LIKE '%.doGenerate' THEN false
    WHEN parameters IS NOT NULL THEN TRY_CAST(json_extract_string(json_told(parameters), '$.stream') AS BOOLEAN)
    WHEN name = 'generate_stream' THEN true END)"""
_FINISH = """CASE WHEN coalesce(finish_reason, event_finish) IS NOT NULL THEN
    finish_word(coalesce(finish_reason, event_finish)) END"""
_COST = """coalesce(cost, CASE WHEN cost_langfuse IS NOT NULL THEN TRY_CAST(json_extract_string(json_told(cost_langfuse), '$.total') AS DECIMAL(38,12)) END,
    CASE WHEN cost_mlflow IS NOT NULL THEN coalesce(TRY_CAST(cost_mlflow AS DECIMAL(38,12)),
        TRY_CAST(json_extract_string(json_told(cost_mlflow), '$.total_cost') AS DECIMAL(38,12))) END)"""
_COST = f"CASE WHEN abs({_COST}) <= {MAX_COST_USD} THEN {_COST} END"

# Figures of an engine, before it is known whether they are sound.
_ENGINE = {
    "queue_ns": "CASE WHEN queue_s IS NOT NULL THEN seconds_ns(queue_s) WHEN queue_text IS NOT NULL THEN text_ns(queue_text) END",
    "prefill_ns": "CASE WHEN emitter NOT IN ('sglang', 'tensorrt_llm') THEN seconds_ns(prefill_s) END",
    "decode_ns": "seconds_ns(decode_s)",
    "inference_ns": "CASE WHEN inference_text IS NOT NULL THEN text_ns(inference_text) END",
    "transfer_ns": "CASE WHEN slice_to_ns > slice_from_ns AND emitter = 'tensorrt_llm' THEN slice_to_ns - slice_from_ns END",
    "engine_first_ns": "seconds_ns(first_engine_s)",
    "told_total_ns": "CASE WHEN total_s IS NOT NULL THEN seconds_ns(total_s) WHEN total_text IS NOT NULL THEN text_ns(total_text) END",
}

# SQL of one judged figure of a call or engine span; every column of table spans may be used.
JUDGED: dict[str, str] = {
    "own_id": "own_id",
    "call_id": "coalesce(response_id, call_id)",
    "provider": f"""coalesce({_PROVIDER.format("CASE WHEN emitter = 'ai_sdk' THEN split_part(provider, '.', 1) ELSE provider END")},
        lower(nullif(split_part(provider_model, '/', 1), provider_model)))""",
    "provider_model": "CASE WHEN provider_model IS NOT NULL THEN regexp_replace(provider_model, '^[^/]*/', '') END",
    "model": "model",
    "request_model": "trim(request_model, '\"')",
    "parameter_model": "CASE WHEN parameters IS NOT NULL THEN json_extract_string(json_told(parameters), '$.model') END",
    "routed_model": "routed_model",
    "input_told": _INPUT,
    "cached_input_tokens": _CACHED,
    "cache_write_tokens": _WRITTEN,
    "output_tokens": f"""coalesce({_usage("output_tokens", ("completion_tokens", "output_tokens"), "completion_tokens", "output")},
        CASE WHEN per_token_text IS NOT NULL THEN TRY_CAST(round(text_ns(inference_text) / nullif(text_ns(per_token_text), 0)) AS BIGINT) END)""",
    "reasoning_tokens": _usage(
        "reasoning_tokens",
        (
            *("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"),
            "output_reasoning_tokens",
        ),
        "reasoning_tokens",
    ),
    "audio_input_tokens": "audio_input_tokens",
    "audio_output_tokens": "audio_output_tokens",
    "service_tier": "CASE WHEN lower(service_tier) NOT IN ('default', 'standard', 'auto') THEN lower(service_tier) END",
    "first_told": _FIRST_TOLD,
    "streamed": _STREAMED,
    "finish": _FINISH,
    "failed": "status_code = 2 OR coalesce(level = 'ERROR', false)",
    "cost": _COST,
    "is_suspect": "emitter = 'envoy' AND event_first_ns IS NOT NULL AND ended_ns - event_first_ns <= greatest(1000000, (ended_ns - started_ns) // 100)",
    "is_derived": "per_token_text IS NOT NULL AND output_tokens IS NULL",
    "sequences": "sequences",
    **_ENGINE,
    "batch_size": "batch_size",
    "queue_depth": "queue_depth",
    "kv_cache_usage": "kv_cache_usage",
    "preemptions": "preemptions",
    "itl_max_ns": "coalesce(seconds_ns(CASE WHEN itl_max_s > 0 AND itl_max_s < 86400 THEN itl_max_s END), CASE WHEN marks & 16 = 0 THEN event_gap_ns END)",
    "itl_basis": "CASE WHEN itl_max_s <> 0 THEN 'token' WHEN event_gap_ns IS NOT NULL AND marks & 16 = 0 THEN 'chunk' END",
    "replica": "coalesce(replica, CASE WHEN \"class\" = 'engine' OR kind = 2 THEN resource_replica END)",
}


_WORD = re.compile(r"\b[a-z_]+\b")
USED: tuple[str, ...] = tuple(  # columns of table spans that the judged figures are made of
    column.name
    for column in SPANS
    if column.name != "emitter" and any(column.name in _WORD.findall(sql) for sql in JUDGED.values())
)


def columns_sql(names: Iterable[str], told: frozenset[str], relation: str, function: str = "") -> str:
    """SQL of columns of table spans; those that hold nothing anywhere are typed nulls, which cost nothing.

    Args:
        told: columns that hold anything.
        relation: name of the relation that has them.
        function: aggregate around each, if any.
    """
    types = {column.name: column.sql.split(" ", 1)[1].removesuffix(" NOT NULL") for column in SPANS}
    return ", ".join(
        f'{function}({relation}."{name}") AS "{name}"' if name in told else f'NULL::{types[name]} AS "{name}"'
        for name in names
    )


def judged_sql(relation: str, keep: str) -> str:
    """SQL of the judged figures of the spans of a relation, with the columns `keep` in front.

    Adds input_tokens (the cached parts in it in any case), is_input_mended, first_ns, total_ns and is_sound.
    """
    figures = ", ".join(f'{sql} AS "j_{name}"' for name, sql in JUDGED.items())
    plain = ", ".join(f'"j_{name}" AS "{name}"' for name in JUDGED if name not in ("output_tokens",))
    return f"""
SELECT * REPLACE (CASE WHEN is_sound THEN queue_ns END AS queue_ns, CASE WHEN is_sound THEN prefill_ns END AS prefill_ns,
        CASE WHEN is_sound AND output_tokens IS DISTINCT FROM 0 THEN decode_ns END AS decode_ns,
        CASE WHEN is_sound AND output_tokens IS DISTINCT FROM 0 THEN engine_first_ns END AS engine_first_ns,
        CASE WHEN is_sound THEN inference_ns END AS inference_ns)
FROM (SELECT *,
    is_engine AND least(coalesce(queue_ns, 0), coalesce(prefill_ns, 0), coalesce(decode_ns, 0), coalesce(engine_first_ns, 0),
        coalesce(told_total_ns, 0)) >= 0
        AND coalesce(queue_ns, 0)::HUGEINT + coalesce(prefill_ns, 0) + coalesce(decode_ns, 0) + coalesce(inference_ns, 0) <= {_TOLERANCE}
        AND coalesce(engine_first_ns, 0) <= {_TOLERANCE} AS is_sound
FROM (SELECT {keep}, {plain}, j_output_tokens AS output_tokens,
    CASE WHEN j_input_told < coalesce(j_cached_input_tokens, 0) + coalesce(j_cache_write_tokens, 0)
        AND j_input_told < greatest(coalesce(j_cached_input_tokens, 0), coalesce(j_cache_write_tokens, 0))
        THEN j_input_told + coalesce(j_cached_input_tokens, 0) + coalesce(j_cache_write_tokens, 0) ELSE j_input_told END AS input_tokens,
    coalesce(j_input_told < greatest(coalesce(j_cached_input_tokens, 0), coalesce(j_cache_write_tokens, 0)), false) AS is_input_mended,
    CASE WHEN j_output_tokens IS DISTINCT FROM 0 AND j_streamed IS DISTINCT FROM false AND j_first_told >= 0
        AND (en IS NULL OR j_first_told <= en - st) THEN j_first_told END AS first_ns,
    j_streamed IS NOT DISTINCT FROM false AND j_first_told IS NOT NULL AS is_first_ignored,
    CASE WHEN j_told_total_ns BETWEEN 0 AND {_DAY_NS} AND j_told_total_ns <= (en - st) * 1.02 + 1000000 THEN j_told_total_ns ELSE en - st END AS total_ns
FROM (SELECT {keep}, {figures} FROM ({relation}))))"""


MACROS: tuple[str, ...] = (
    # text that an emitter cut in the middle is no JSON any more, and tells nothing
    "CREATE OR REPLACE TEMP MACRO json_told(x) AS CASE WHEN json_valid(x) THEN x END",
    f"CREATE OR REPLACE TEMP MACRO seconds_ns(x) AS CASE WHEN x IS NOT NULL THEN CAST(round(greatest(-{FAR_NS}, least(x * 1e9, {FAR_NS}))) AS BIGINT) END",
    f"CREATE OR REPLACE TEMP MACRO sane(x) AS CASE WHEN x BETWEEN 0 AND {MAX_TOKENS} THEN x END",
    f"CREATE OR REPLACE TEMP MACRO near_ns(x) AS CASE WHEN abs(x) < {FAR_NS} THEN CAST(round(x) AS BIGINT) END",
    # a duration told as text with its unit: 512.3ms, 80.1µs, 1.2s, 900ns
    """CREATE OR REPLACE TEMP MACRO text_ns(x) AS near_ns(TRY_CAST(regexp_extract(x, '^([0-9.eE+-]+) *(ns|µs|μs|us|ms|s)$', 1) AS DOUBLE)
        * CASE regexp_extract(x, '(ns|µs|μs|us|ms|s)$', 1) WHEN 'ns' THEN 1 WHEN 'ms' THEN 1e6 WHEN 's' THEN 1e9 ELSE 1e3 END)""",
    """CREATE OR REPLACE TEMP MACRO instant_ns(x) AS epoch_ns(TRY_CAST(regexp_replace(x, '(Z|[+]00:?00)$', '') AS TIMESTAMP_NS))""",
    # disjoint buckets of a free usage record: the named one and all of its parts
    """CREATE OR REPLACE TEMP MACRO bucket_sum(usage, side) AS CASE WHEN json_exists(usage, '$.' || side) THEN
        list_sum(list_transform(list_filter(json_keys(usage), lambda k: k = side OR starts_with(k, side || '_')
                OR (side = 'input' AND k IN ('cache_read_input_tokens', 'cache_creation_input_tokens'))),
            lambda k: sane(TRY_CAST(json_extract_string(usage, '$."' || k || '"') AS BIGINT))))::BIGINT END""",
    """CREATE OR REPLACE TEMP MACRO finish_spelling(x) AS CASE x WHEN 'tool_call' THEN 'tool_calls' WHEN 'tool-calls' THEN 'tool_calls'
        WHEN 'tool_use' THEN 'tool_calls' WHEN 'end_turn' THEN 'stop' WHEN 'max_tokens' THEN 'length' ELSE nullif(x, '') END""",
    # first element of a list, of JSON text of a list, or of quoted text; one word for one thing
    """CREATE OR REPLACE TEMP MACRO finish_word(x) AS finish_spelling(lower(CASE
        WHEN starts_with(x, '{"values"') THEN json_extract_string(json_told(x), '$.values[0].*')[1]
        WHEN starts_with(x, '[') THEN coalesce(json_extract_string(json_told(x), '$[0]'), x) ELSE trim(x, '"') END))""",
)
