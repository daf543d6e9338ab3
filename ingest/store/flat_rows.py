"""SQL text of flat tables, second half: fields -> figures -> request rows, each with the reason why it cannot be.

Input: the field layer of flat_sql. Output: SELECT of the columns of table requests with `reason` in front (null: the
row is sound). Source: metric definitions, sections 1-3 (queue inside TTFT, status classes, TPOT by decode); stages sum
to E2E, and what no stage explains is unattributed, split at a client's first token, or one piece (`model`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingest.bounds import FIGURE_FLAG, MAX_FIGURE
from ingest.store.flat_sql import (
    DAY_NS,
    DURATIONS,
    ENGINE_STAGES,
    FIELDS,
    FIRST_NS,
    MEASURED_STAGES,
    NOTHING,
    RATE,
    RESIDUAL_NS,
    TOKENS,
    Plan,
    TimeForm,
    fields_layer,
    name,
    text,
    within,
)
from ingest.store.retention import REASON

UNREADABLE = "unreadable"  # every column is null: the line is no object, or none of its names is known
PRE_STAGES = ("gateway_ns", "network_ns", "guardrail_ns", "retrieval_ns", "rerank_ns")
PSEUDO = ("first_output_ns", "tpot_ns", "status", "retries", "identity")  # fields that are no column
ROUNDING_NS = 10_000  # sums of stages written to the microsecond are off by a few of them
# words of a status column, lower case; a word not listed says nothing
STATUS_WORDS: dict[str, tuple[str, ...]] = {
    "ok": ("ok", "success", "successful", "succeeded", "completed", "complete", "done", "finished"),
    "error": ("error", "failed", "failure", "fail", "exception", "internal_error", "server_error"),
    "timeout": ("timeout", "timed_out", "timedout", "deadline_exceeded"),
    "shed": ("shed", "rate_limited", "ratelimited", "throttled", "overloaded", "too_many_requests"),
    "rejected": ("rejected", "invalid", "bad_request", "invalid_request", "unauthorized", "forbidden", "not_found"),
    "cancelled": ("cancelled", "canceled", "aborted", "abort", "client_cancelled", "client_disconnected"),
    "truncated": ("truncated", "incomplete"),
    "open": ("open", "running", "pending", "in_progress", "started"),
}
# words within the name of an error, in this order; none of them: error
ERROR_WORDS: dict[str, tuple[str, ...]] = {
    "timeout": ("timeout", "timed out", "deadline"),
    "shed": ("ratelimit", "rate_limit", "rate limit", "toomanyrequests", "overloaded", "serviceunavailable"),
    "cancelled": ("cancel", "abort", "clientdisconnect"),
    "rejected": ("badrequest", "invalidrequest", "invalid_request", "authentication", "permissiondenied", "notfound"),
}


def rows_select(plan: Plan, columns: Sequence[str] = (), told: Mapping[str, str] = NOTHING) -> str:
    """SELECT of `reason` and the request columns of every source row; `columns` and `told`, see fields_layer, in front."""
    outcome = f"SELECT *, {_http()} AS http, {_word(plan)} AS word FROM ({fields_layer(plan, columns, told)})"
    judged = f"SELECT *, {_status()} AS class, coalesce(llm_calls, 1) AS calls FROM ({outcome})"
    timed = f"SELECT *, {_times()} FROM ({judged})"
    tokened = f"SELECT *, {_first_token()} FROM ({timed})"
    staged = f"SELECT *, {_stage_sums()} FROM ({tokened})"
    final = [f"{sql} AS {name(column)}" for column, sql in _final(plan).items()]
    return f"SELECT {', '.join([*columns, *told, f'{_reason(plan)} AS reason', *final])} FROM ({staged})"


def columns_of(plan: Plan) -> list[str]:
    """Names of the request columns in the order of rows_select."""
    return list(_final(plan))


def _http() -> str:
    code = "CASE WHEN length(status) = 3 AND status[1] BETWEEN '1' AND '5' THEN try_cast(status AS BIGINT) END"
    return f"coalesce(http_status, {code})"


def _word(plan: Plan) -> str:
    if not plan.has("status"):
        return "CAST(NULL AS VARCHAR)"
    arms = " ".join(
        f"WHEN {text(word)} THEN {text(status)}" for status, listed in STATUS_WORDS.items() for word in listed
    )
    return f"CASE replace(lower(status), ' ', '_') {arms} END"


def _status() -> str:
    named = " ".join(
        f"WHEN {' OR '.join(f'contains(lower(error_type), {text(mark)})' for mark in marks)} THEN {text(status)}"
        for status, marks in ERROR_WORDS.items()
    )
    return f"""CASE
        WHEN http IN (429, 503) THEN 'shed' WHEN http IN (504, 408) THEN 'timeout' WHEN http = 499 THEN 'cancelled'
        WHEN http >= 500 THEN 'error' WHEN http >= 400 THEN 'rejected'
        WHEN word IS NOT NULL THEN word
        WHEN error_type IS NOT NULL THEN CASE {named} ELSE 'error' END
        WHEN lower(finish_reason) = 'error' THEN 'truncated'
        WHEN lower(finish_reason) IN ('abort', 'cancelled', 'canceled') THEN 'cancelled'
        ELSE 'ok' END"""


def _times() -> str:
    return """
        nullif(coalesce(e2e_ns, ended_ns - started_ns, ttft_ns + generation_ns), 0) AS e2e,
        coalesce(started_ns, ended_ns - e2e_ns) AS started,
        coalesce(ended_ns, started_ns + coalesce(e2e_ns, ttft_ns + generation_ns)) AS ended,
        CASE WHEN output_tokens = 0 THEN NULL
             ELSE nullif(coalesce(ttft_ns, first_output_ns - started_ns), 0) END AS told_ttft"""


def _first_token() -> str:
    """A first token at the end is none, unless the one token of a stream; a later one cannot be."""
    return f"""
        CASE WHEN told_ttft < e2e OR e2e IS NULL OR (told_ttft = e2e AND streaming AND output_tokens = 1)
             THEN told_ttft END AS ttft,
        coalesce(told_ttft > e2e, false) AS is_ttft_late,
        {_is_any(ENGINE_STAGES)} AND calls > 0 AS is_engine,
        {" + ".join(f"coalesce({stage}, 0)" for stage in MEASURED_STAGES)} AS told_sum"""


def _is_any(stages: Sequence[str]) -> str:
    return f"coalesce({', '.join(stages)}) IS NOT NULL"


def _stage_sums() -> str:
    return f"""
        coalesce(told_sum - e2e > greatest({RESIDUAL_NS}, e2e // 100), false) AS is_overlong,
        CASE WHEN told_sum - e2e > greatest({RESIDUAL_NS}, e2e // 100) THEN e2e
             WHEN told_sum > e2e THEN 0 ELSE e2e - told_sum END AS rest"""


def _final(plan: Plan) -> dict[str, str]:
    """SQL of every request column that a flat table can fill."""
    columns = {
        "request_key": _key(plan),
        "upload_id": text(plan.upload_id),
        "source": text(plan.source),
        "trace_id": _trace(),
        "request_id": "request_id",
        "status_class": "class",
        "http_status": "http",
        RATE: f"coalesce({name(RATE)}, CAST({plan.sampling_rate!r} AS DOUBLE))",
        "n_call_rows": "0",
        "started_ns": "started",
        "ended_ns": "ended",
        "e2e_ns": "e2e",
        "ttft_ns": "ttft",
        "ttfa_ns": "nullif(ttfa_ns, 0)",
        "call_ttft_ns": _call_ttft(),
        "streaming": "coalesce(streaming, CASE WHEN NOT is_engine THEN told_ttft < e2e END)",
        "llm_calls": "calls",
        "attempts": "coalesce(attempts, retries + 1, 1)",
        "provider": "lower(provider)",
        "finish_reason": "lower(finish_reason)",
        "source_cost_usd": "CASE WHEN source_cost_usd <> 0 OR coalesce(input_tokens, output_tokens, 0) = 0 "
        "THEN source_cost_usd END",
        "itl_basis": "CASE WHEN itl_max_ns IS NOT NULL THEN 'token' END",
        "attributes": "made_attributes",
        "dimensions": "made_dimensions",
        "flags": _flags(plan),
    }
    if plan.vantage:
        columns["vantage"] = text(plan.vantage)
    columns |= _generation(plan) | _stages()
    plain = ({item.field for item in plan.inputs} | set(plan.constants)) - set(columns) - set(PSEUDO)
    return columns | {
        wanted: within(name(wanted), MAX_FIGURE) if FIELDS[wanted] == "float" else name(wanted)
        for wanted in sorted(plain)
    }


def _generation(plan: Plan) -> dict[str, str]:
    """Time over which the tokens after the first were made; only of answers that are whole."""
    several = "class = 'ok' AND output_tokens > calls"
    split = "ttft IS NOT NULL AND streaming IS NOT FALSE AND calls = 1 AND e2e > ttft"
    return {
        "generation_ns": f"""CASE WHEN {several} THEN CASE
            WHEN decode_ns IS NOT NULL AND calls > 0 THEN decode_ns
            WHEN generation_ns IS NOT NULL THEN generation_ns
            WHEN tpot_ns > 0 THEN CASE WHEN CAST(tpot_ns AS DOUBLE) * (output_tokens - calls) <= {DAY_NS}
                THEN tpot_ns * (output_tokens - calls) END
            WHEN {split} THEN greatest(e2e - ttft - coalesce(postprocess_ns, 0), 0) END END""",
        "generation_basis": f"""CASE WHEN {several} THEN CASE
            WHEN decode_ns IS NOT NULL AND calls > 0 THEN 'engine'
            WHEN generation_ns IS NOT NULL OR tpot_ns > 0 THEN {text(plan.generation_basis)}
            WHEN {split} THEN 'response_end' END END""",
    }


def _stages() -> dict[str, str]:
    columns = {
        stage: f"CASE WHEN NOT is_overlong{' AND calls > 0' if stage in ENGINE_STAGES else ''} THEN {stage} END"
        for stage in MEASURED_STAGES
    }
    columns["decode_ns"] = (
        "CASE WHEN NOT is_overlong AND calls > 0 AND coalesce(decode_ns > 0 OR output_tokens <> 0, true) THEN decode_ns END"
    )
    before = f"greatest(ttft - ({' + '.join(f'coalesce({stage}, 0)' for stage in PRE_STAGES)}), 0)"
    is_split = "rest IS NOT NULL AND NOT is_engine AND ttft IS NOT NULL AND calls = 1"
    is_whole = "NOT is_engine AND NOT (ttft IS NOT NULL AND calls = 1) AND calls > 0"
    return columns | {
        "before_first_token_ns": f"CASE WHEN {is_split} THEN least({before}, rest) END",
        "after_first_token_ns": f"CASE WHEN {is_split} THEN greatest(rest - {before}, 0) END",
        "model_ns": f"CASE WHEN {is_whole} THEN rest END",
        "unattributed_ns": "CASE WHEN is_engine OR calls = 0 THEN rest END",
    }


def _call_ttft() -> str:
    return """coalesce(call_ttft_ns, CASE WHEN calls = 1 AND ttft IS NOT NULL THEN
        CASE WHEN is_engine THEN queue_ns + prefill_ns ELSE ttft END END)"""


def _flags(plan: Plan) -> str:
    figures = [name(item.field) for item in plan.inputs if item.kind == "float"]
    flags = {
        "timing_invalid": "is_ttft_late OR is_overlong",
        "residual_negative": f"NOT is_overlong AND told_sum - e2e > {ROUNDING_NS}",
        "ttft_split": "NOT is_engine AND ttft IS NOT NULL AND calls = 1 AND e2e IS NOT NULL",
        "ttft_missing": "streaming AND class = 'ok' AND ttft IS NULL AND output_tokens > 0",
    }
    if figures:
        flags[FIGURE_FLAG] = " OR ".join(f"abs({figure}) > {MAX_FIGURE}" for figure in dict.fromkeys(figures))
    entries = ", ".join(f"CASE WHEN {sql} THEN {text(flag)} END" for flag, sql in flags.items())
    return f"list_filter([{entries}], lambda x: x IS NOT NULL)"


def _trace() -> str:
    bare = "lower(replace(trace_id, '-', ''))"
    is_hex = f"length({bare}) IN (16, 32) AND ltrim({bare}, '0123456789abcdef') = '' AND ltrim({bare}, '0') <> ''"
    return f"CASE WHEN {is_hex} THEN lpad({bare}, 32, '0') END"


def _key(plan: Plan) -> str:
    """Identity: trace id, or request id and start, or a hash of what the row says (`#`; equal rows are counted)."""
    names = ["identity"] if plan.has("identity") else list(dict.fromkeys(item.field for item in plan.inputs))
    parts = ", ".join(f"coalesce(CAST({name(column)} AS VARCHAR), '')" for column in names)
    by_content = f"concat({text(plan.source + '#')}, md5(concat_ws(chr(31), {parts}{'' if plan.has('identity') else ', made_attributes'})))"
    by_id = f"concat({text(plan.source + ':')}, coalesce(request_id, trace_id), '@', coalesce(CAST(started AS VARCHAR), ''))"
    row = f"CASE WHEN coalesce(request_id, trace_id) IS NOT NULL THEN {by_id} ELSE {by_content} END"
    return f"coalesce({_trace()}, {row})" if plan.key == "trace" else row


def _reason(plan: Plan) -> str:
    """Reason of errors.REJECT_REASONS, UNREADABLE for lines that a walk over the file has to judge, or null."""
    has_clock = any(item.field == "started_ns" and _tells(item.time) for item in plan.inputs)
    durations = [column for column in DURATIONS if plan.has(column)]
    tokens = [column for column in TOKENS if plan.has(column)]
    latest = plan.now_ns + DAY_NS
    cases = [("is_empty", UNREADABLE), ("is_bad", "bad_value")]
    if tokens:
        cases.append((f"least({', '.join(tokens)}) < 0", "negative_tokens"))
    if durations:
        cases.append((f"least({', '.join(durations)}) < 0", "negative_duration"))
        cases.append((f"greatest({', '.join(durations)}) > {DAY_NS}", "duration_too_long"))
    if has_clock:
        cases.append(("started IS NULL OR started = 0", "start_unset"))
    cases += [
        (f"started < {FIRST_NS} OR started > {latest} OR ended > {latest}", "time_out_of_range"),
        ("ended < started", "end_before_start"),
        (f"e2e > {DAY_NS}", "duration_too_long"),
        *([(plan.closed, REASON)] if plan.closed else []),
        ("coalesce(started, e2e, ttft, input_tokens, output_tokens) IS NULL", "no_time"),
    ]
    arms = " ".join(f"WHEN {condition} THEN {text(reason)}" for condition, reason in cases)
    return f"CASE {arms} END"


def _tells(form: object) -> bool:
    """Whether a time column gives instants: texts, or numbers that count from 1970 or a start that the user tells."""
    return isinstance(form, TimeForm) and not form.is_clockless and (form.has_texts or form.unit is not None)
