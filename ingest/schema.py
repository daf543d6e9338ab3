"""Canonical columns of the store: name, dtype, unit, meaning.

The DuckDB tables and the Polars schemas are both derived from the tuples below, and from nothing else.
Null is "not known"; 0 is "measured, and zero". Instants and durations are integer nanoseconds, UTC.

History of SCHEMA_VERSION:
    1  first layout
    2  table repeats: rows that an upload told though another upload's stand
    3  tables rolled_*: what is kept of days whose raw rows were dropped (schema_rolled); uploads.n_rolled;
       requests.token_gaps_ns
    4  uploads.run_ns
    5  table spans has a column of a field once a span has told it (store/span_width); earlier stores have all of them
    6  rolled_verdicts: sums of figures
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

SCHEMA_VERSION = 6
ADDED: dict[str, tuple[str, ...]] = {  # columns that older stores lack
    "uploads": ("n_rolled", "run_ns"),
    "requests": ("token_gaps_ns",),
    "rolled_verdicts": ("figures", "numerator", "denominator"),
}
NS_PER_S = 1_000_000_000

Kind = Literal["text", "int", "float", "bool", "money", "sum", "json", "texts", "ints"]

SQL_TYPES: dict[str, str] = {
    "text": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "money": "DECIMAL(38,12)",
    "sum": "DECIMAL(38,12)",
    "json": "VARCHAR",
    "texts": "VARCHAR[]",
    "ints": "BIGINT[]",
}

POLARS_TYPES: dict[str, pl.DataType] = {
    "text": pl.String(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "bool": pl.Boolean(),
    "money": pl.Int64(),  # read as integer pico-USD (1e-12 USD); never as a Polars Decimal
    "sum": pl.Int128(),  # pico-USD of many rows, which may be more than 63 bits hold
    "json": pl.String(),
    "texts": pl.List(pl.String()),
    "ints": pl.List(pl.Int64()),
}


@dataclass(frozen=True)
class Column:
    """One column of a table; `unit` is empty for text, counts and flags."""

    name: str
    kind: Kind
    says: str
    unit: str = ""
    required: bool = False

    @property
    def sql(self) -> str:
        return f'"{self.name}" {SQL_TYPES[self.kind]}{" NOT NULL" if self.required else ""}'

    @property
    def dtype(self) -> pl.DataType:
        return POLARS_TYPES[self.kind]


SPAN_FIELDS: dict[Kind, str] = {  # fields of spans picked from attributes, names set apart by blanks
    "text": """own_id response_id call_id provider provider_model model request_model model_group routed_model parameters
        usage_langfuse usage_mlflow usage_litellm service_tier first_at queue_text inference_text total_text
        per_token_text finish_reason level error_type error_code thread_error outcome user tenant metadata team session
        scenario workflow agent trace_name route region deployment_version replica cost_langfuse cost_mlflow
        operation kind_ai_sdk kind_logfire rank""",
    "int": """input_tokens output_tokens cached_input_tokens cache_write_tokens cache_write_ai_sdk reasoning_tokens
        audio_input_tokens         audio_output_tokens sequences http_status other_status retries""",
    "float": """first_s first_engine_s first_emitter first_ms first_us caller_ttft_ms queue_s prefill_s decode_s total_s
        kv_transfer_s batch_size queue_depth kv_cache_usage preemptions itl_max_s""",
    "bool": "streaming degraded cold_start",
    "money": "cost",
}

STAGES: tuple[str, ...] = (  # in the order of time, as charts and tables show them
    "gateway",
    "network",
    "guardrail",
    "retrieval",
    "rerank",
    "queue",
    "prefill",
    "decode",
    "tool",
    "postprocess",
    "model",
    "before_first_token",
    "after_first_token",
    "unattributed",
)

STATUS_CLASSES: tuple[str, ...] = (
    "ok",
    "truncated",
    "error",
    "timeout",
    "shed",
    "rejected",
    "cancelled",
    "open",
)

REQUESTS: tuple[Column, ...] = (
    Column(
        "request_key",
        "text",
        "identity of the request within the store: trace id, or source and request id, or row hash",
        required=True,
    ),
    Column("upload_id", "text", "upload whose rows made or last changed the request", required=True),
    Column("source", "text", "format the request was read from (ingest/formats/catalog)", required=True),
    Column("vantage", "text", "where arrival and first token were measured: client, gateway or server"),
    Column("trace_id", "text", "32 lower-case hex digits"),
    Column("request_id", "text", "id given by the caller or the server"),
    Column("root", "text", "name of the highest span present"),
    # identity and dimensions
    Column("model", "text", "model that served the last call"),
    Column("requested_model", "text", "model the caller asked for"),
    Column("provider", "text", "provider, lower case"),
    Column("scenario", "text", "kind of workload: chat, rag, batch"),
    Column("tenant", "text", "organization or team that pays"),
    Column("user", "text", "person or end user behind the request"),
    Column("session", "text", "conversation or session"),
    Column("route", "text", "HTTP route with placeholders"),
    Column("region", "text", "region that served the request"),
    Column("replica", "text", "replica of the last call"),
    Column("deployment_version", "text", "version of the deployment that served"),
    Column("streaming", "bool", "whether the answer was streamed to the caller; null where no source says"),
    Column("degraded", "bool", "answered by a fallback: another model, a cut context"),
    Column("cold_start", "bool", "served by a replica that was still starting"),
    Column("dimensions", "json", "promoted attributes of the mapping file, as one JSON object of text"),
    # times
    Column(
        "started_ns",
        "int",
        "arrival at the measuring point; null where the source has no wall clock",
        "ns since 1970 UTC",
    ),
    Column("ended_ns", "int", "last output or error", "ns since 1970 UTC"),
    Column("e2e_ns", "int", "start to last output or error", "ns"),
    Column("ttft_ns", "int", "start of the request to the first token of its LAST call, queue inside", "ns"),
    Column("ttfa_ns", "int", "start of the request to the first token of the answer, reasoning left out", "ns"),
    Column("call_ttft_ns", "int", "start of the last call to its first token", "ns"),
    Column(
        "generation_ns",
        "int",
        "time over which the tokens after the first were made, summed over calls; null where TPOT is undefined",
        "ns",
    ),
    Column("generation_basis", "text", "engine, last_token or response_end: how generation_ns was measured"),
    Column("itl_max_ns", "int", "longest gap between two tokens or chunks", "ns"),
    Column("itl_basis", "text", "token or chunk: what itl_max_ns is a gap between"),
    Column(
        "token_gaps_ns", "ints", "all of these gaps in order, the first from the first token; null where not told", "ns"
    ),
    *(Column(f"{stage}_ns", "int", f"time in stage {stage}; null where it was not measured", "ns") for stage in STAGES),
    # tokens
    Column("input_tokens", "int", "all of the prompt, cached parts included, summed over calls", "tokens"),
    Column("cached_input_tokens", "int", "part of the input read from a prompt cache", "tokens"),
    Column("cache_write_tokens", "int", "part of the input written to a prompt cache", "tokens"),
    Column("output_tokens", "int", "all of the completion, reasoning included", "tokens"),
    Column("reasoning_tokens", "int", "part of the output spent on reasoning", "tokens"),
    Column(
        "cache_write_1h_tokens",
        "int",
        "part of cache_write_tokens kept for an hour, which is dearer; null: none",
        "tokens",
    ),
    Column("audio_input_tokens", "int", "part of the input that was audio, not cached; null: none", "tokens"),
    Column("image_input_tokens", "int", "part of the input that was images, not cached; null: none", "tokens"),
    Column("audio_output_tokens", "int", "part of the output that was audio; null: none", "tokens"),
    Column("service_tier", "text", "tier the provider billed: flex, priority, batch; null: the standard one"),
    # counts
    Column("llm_calls", "int", "model calls after merging duplicates"),
    Column("tool_calls", "int", "tool steps of an agent"),
    Column("attempts", "int", "tries of the request, retries included; 1 where no retry is known"),
    # engine
    Column("batch_size", "float", "sequences decoding together, mean over the request"),
    Column("queue_depth", "float", "waiting requests found on arrival"),
    Column("kv_cache_usage", "float", "share of the KV cache in use at admission", "ratio"),
    Column("preemptions", "float", "times the engine put the request back"),
    Column("cold_start_ns", "int", "time the request waited for a starting replica", "ns"),
    # outcome
    Column("status_class", "text", "ok, truncated, error, timeout, shed, rejected, cancelled or open", required=True),
    Column("http_status", "int", "status of the served request"),
    Column("error_type", "text", "class of the error as the source names it"),
    Column("finish_reason", "text", "finish reason of the last call, lower case"),
    Column("response_cached", "bool", "answered from a response cache: no tokens were made, nothing is charged"),
    Column("source_cost_usd", "money", "cost as the source states it", "USD"),
    Column("quality", "float", "quality score, where the source carries one"),
    Column(
        "sampling_rate",
        "float",
        "share of requests that the source kept; counts and sums are divided by it",
        "ratio",
        required=True,
    ),
    Column(
        "n_call_rows", "int", "rows of this request in table calls; 0 if the request is its one call", required=True
    ),
    Column("flags", "texts", "what a reader should notice: ttft_missing, clock_skew, timing_invalid, ..."),
    Column("attributes", "json", "attributes that no column holds, without prompts, answers and credentials"),
)

LONG: tuple[str, ...] = ("attributes", "token_gaps_ns")  # of requests: read only where they are needed
REPEATED: tuple[
    str, ...
] = (  # text of requests and calls whose values are few beside the rows: codes hold them in a quarter
    *("upload_id", "source", "vantage", "model", "requested_model", "provider", "scenario", "tenant", "user", "route"),
    *("region", "replica", "deployment_version", "generation_basis", "itl_basis", "service_tier", "status_class"),
    *("error_type", "finish_reason"),
)

CALLS: tuple[Column, ...] = (
    Column("request_key", "text", "request the call belongs to", required=True),
    Column("call_index", "int", "order of the call within the request, from 0", required=True),
    Column("upload_id", "text", "upload whose rows made or last changed the call", required=True),
    Column("span_id", "text", "outermost span of the call"),
    Column("request_id", "text", "id of the model call"),
    Column("model", "text", "model that served the call"),
    Column("requested_model", "text", "model asked for"),
    Column("provider", "text", "provider, lower case"),
    Column("replica", "text", "replica that served the call"),
    Column("started_ns", "int", "start of the call", "ns since 1970 UTC"),
    Column("ended_ns", "int", "end of the call", "ns since 1970 UTC"),
    Column("ttft_ns", "int", "start of the call to its first token", "ns"),
    Column("queue_ns", "int", "waiting in the engine", "ns"),
    Column("prefill_ns", "int", "prompt processing", "ns"),
    Column("decode_ns", "int", "token generation after the first token", "ns"),
    Column("input_tokens", "int", "all of the prompt, cached parts included", "tokens"),
    Column("cached_input_tokens", "int", "part of the input read from a prompt cache", "tokens"),
    Column("cache_write_tokens", "int", "part of the input written to a prompt cache", "tokens"),
    Column("output_tokens", "int", "all of the completion, reasoning included", "tokens"),
    Column("reasoning_tokens", "int", "part of the output spent on reasoning", "tokens"),
    Column(
        "cache_write_1h_tokens",
        "int",
        "part of cache_write_tokens kept for an hour, which is dearer; null: none",
        "tokens",
    ),
    Column("audio_input_tokens", "int", "part of the input that was audio, not cached; null: none", "tokens"),
    Column("image_input_tokens", "int", "part of the input that was images, not cached; null: none", "tokens"),
    Column("audio_output_tokens", "int", "part of the output that was audio; null: none", "tokens"),
    Column("service_tier", "text", "tier the provider billed: flex, priority, batch; null: the standard one"),
    Column("batch_size", "float", "sequences decoding together"),
    Column("status_class", "text", "as in requests"),
    Column("error_type", "text", "class of the error as the source names it"),
    Column("finish_reason", "text", "finish reason, lower case"),
    Column("source_cost_usd", "money", "cost as the source states it", "USD"),
)

SPANS: tuple[Column, ...] = (
    Column("trace_id", "text", "32 lower-case hex digits"),
    Column("span_id", "text", "16 lower-case hex digits"),
    Column("parent_id", "text", "span id of the parent; null for a root"),
    Column("upload_id", "text", "upload whose telling of the span stands here", required=True),
    Column("source", "text", "format the span was read from"),
    Column("name", "text", "name of the span"),
    Column("kind", "int", "1 internal, 2 server, 3 client, 4 producer, 5 consumer"),
    Column("started_ns", "int", "start", "ns since 1970 UTC"),
    Column("ended_ns", "int", "end; null while the span is open", "ns since 1970 UTC"),
    Column("status_code", "int", "0 unset, 1 ok, 2 error"),
    Column("scope", "text", "instrumentation scope"),
    Column("class", "text", "what kind of step it is (ingest/formats/stages)"),
    Column("emitter", "text", "whose convention the class was judged by"),
    Column("marks", "int", "bits: encoding and telling (ingest/store/span_columns.MARKS)"),
    Column("n_attributes", "int", "attributes told"),
    Column("content_key", "int", "hash of what was told: equal for equal tellings"),
    Column("shape_key", "int", "hash of the list of attribute names"),
    Column("sampling_rate", "float", "share of traces that the source kept", "ratio"),
    Column("service", "text", "service name of the resource"),
    Column("resource_namespace", "text", "service namespace of the resource"),
    Column("resource_region", "text", "region of the resource"),
    Column("resource_version", "text", "service version of the resource"),
    Column("resource_replica", "text", "instance or pod of the resource"),
    Column("event_first_ns", "int", "first first-token event", "ns since 1970 UTC"),
    Column("event_gap_ns", "int", "longest gap between two chunk events", "ns"),
    Column("event_error", "text", "type of the recorded exception"),
    Column("event_finish", "text", "finish reason told by an event"),
    Column("slice_from_ns", "int", "begin of a slice told by a pair of events", "ns since 1970 UTC"),
    Column("slice_to_ns", "int", "end of that slice", "ns since 1970 UTC"),
    *(  # fields picked from attributes, as told and not yet judged (ingest/formats/attributes.PICKS)
        Column(name, kind, "attribute as told") for kind, names in SPAN_FIELDS.items() for name in names.split()
    ),
    Column("dimensions", "json", "promoted attributes, as one JSON object of text"),
    Column("attributes", "json", "attributes that no column holds, without prompts, answers and credentials"),
    Column("raw_names", "texts", "attribute names of a span whose list of names is not yet learned; else null"),
    Column("raw_values", "texts", "their values"),
    Column("refused", "text", "why the span cannot be; null in every stored span"),
)

PENDING_TRACES: tuple[Column, ...] = (
    Column("trace_id", "text", "trace that got or lost a span since its request was last made", required=True),
    Column("first_ns", "int", "earliest start of those spans", "ns since 1970 UTC"),
    Column("last_ns", "int", "latest start of those spans", "ns since 1970 UTC"),
)

REPEATS: tuple[Column, ...] = (
    Column("upload_id", "text", "upload that told a row which another upload had told", required=True),
    Column("told", "text", "table of the row: requests, spans or replica_hours", required=True),
    Column("row_key", "text", "key of the row within that table (ingest/store/repeats.KEYS)", required=True),
)

REPLICA_HOURS: tuple[Column, ...] = (
    Column("replica", "text", "name of the replica", required=True),
    Column("hour_ns", "int", "start of the hour", "ns since 1970 UTC", required=True),
    Column("upload_id", "text", "upload the row came from", required=True),
    Column("model", "text", "model the replica serves"),
    Column("region", "text", "region of the replica"),
    Column("deployment_version", "text", "version deployed"),
    Column("up_s", "float", "time the replica was up within the hour", "s"),
    Column("busy_s", "float", "time with any step running", "s"),
    Column("mean_batch_size", "float", "mean number of sequences decoding together"),
    Column("preemptions", "float", "preemptions within the hour"),
    Column("cost_usd", "money", "cost of the replica within the hour", "USD"),
)

UPLOADS: tuple[Column, ...] = (
    Column("upload_id", "text", "id of the upload", required=True),
    Column("name", "text", "file name as given", required=True),
    Column("sha256", "text", "hash of the bytes as given"),
    Column("size_bytes", "int", "size as given", "bytes"),
    Column("format", "text", "format the file was read as"),
    Column("state", "text", "waiting, reading, done, failed, cancelled", required=True),
    Column("n_read", "int", "rows or spans read"),
    Column("n_accepted", "int", "rows or spans stored"),
    Column("n_duplicate", "int", "rows or spans that stood already"),
    Column("n_rejected", "int", "rows or spans refused, each with a reason"),
    Column("sampling_rate", "float", "share of requests that the source kept", "ratio"),
    Column("received_ns", "int", "when the upload began", "ns since 1970 UTC", required=True),
    Column("finished_ns", "int", "when it was done", "ns since 1970 UTC"),
    Column("message", "text", "why it failed, or what a reader should know"),
    Column("receipt", "json", "counts by reason, notes, names not understood"),
    Column("n_rolled", "int", "rows or spans of it that were rolled up and dropped by retention; null: none"),
    Column("run_ns", "int", "how long the load test took whose requests it holds, as the file says it", "ns"),
)

REJECTS: tuple[Column, ...] = (
    Column("upload_id", "text", "upload the row came from", required=True),
    Column("line", "int", "line from 1, blank lines counted; null where there are no lines"),
    Column("byte_offset", "int", "offset in the unpacked source; null where unknown", "bytes"),
    Column("reason", "text", "stable id of the reason (errors.REJECT_REASONS)", required=True),
    Column("head", "text", "first 200 characters"),
)

REPORTS: tuple[Column, ...] = (
    Column("report_id", "text", "id of the report", required=True),
    Column("made_ns", "int", "when it was made", "ns since 1970 UTC", required=True),
    Column("title", "text", "what a list shows"),
    Column("selection", "json", "the selection it was made for"),
    Column("revision", "int", "version of the report of this selection, from 1", required=True),
    Column("result", "json", "the result record", required=True),
)

JOBS: tuple[Column, ...] = (
    Column("job_id", "text", "id of the job", required=True),
    Column("kind", "text", "upload or report", required=True),
    Column("state", "text", "waiting, running, done, failed, cancelled", required=True),
    Column("subject", "text", "upload id or report id"),
    Column("parameters", "json", "what the job was asked to do"),
    Column("done_bytes", "int", "progress", "bytes"),
    Column("total_bytes", "int", "size", "bytes"),
    Column("created_ns", "int", "when it was asked for", "ns since 1970 UTC", required=True),
    Column("finished_ns", "int", "when it ended", "ns since 1970 UTC"),
    Column("message", "text", "why it failed"),
)


def polars_schema(columns: tuple[Column, ...]) -> dict[str, pl.DataType]:
    """Polars schema of a table, in column order."""
    return {column.name: column.dtype for column in columns}
