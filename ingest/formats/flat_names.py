"""Names under which houses write what a request table holds: canonical column -> names, best first.

Names are compared in plain form: camel case cut apart, lower case, everything but letters and digits an underscore
(`Prompt Tokens`, `promptTokens` and `prompt_tokens` are one). A dot leads into a JSON object. A duration needs its
unit at the end of its name (`ttft_ms`, `latency_seconds`): without one nobody can say what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Unit = Literal["s", "ms", "us", "ns"]

TEXTS: Mapping[str, tuple[str, ...]] = {
    "request_id": ("request_id", "req_id", "x_request_id", "call_id", "completion_id", "response_id", "uuid", "id"),
    "trace_id": ("trace_id", "traceid", "trace"),
    "model": ("model", "response_model", "model_name", "model_id", "served_model", "llm_model"),
    "requested_model": ("requested_model", "request_model", "model_requested", "model_alias", "model_group"),
    "provider": ("provider", "llm_provider", "custom_llm_provider", "api_provider", "vendor", "provider_name"),
    "scenario": ("scenario", "use_case", "usecase", "workload", "task", "task_type", "feature", "application", "app"),
    "tenant": (
        *("tenant", "tenant_id", "team", "team_id", "org", "org_id", "organization", "organization_id"),
        *("organisation", "customer", "customer_id", "account", "account_id", "project", "project_id", "department"),
        *("cost_center",),
    ),
    "user": ("user", "user_id", "userid", "end_user", "end_user_id", "enduser", "username", "user_name", "uid"),
    "session": ("session", "session_id", "conversation_id", "conversation", "chat_id", "thread_id"),
    "route": ("route", "endpoint", "url_path", "api_route", "path"),
    "region": ("region", "cloud_region", "zone", "datacenter", "dc", "location"),
    "replica": (
        *("replica", "replica_id", "instance", "instance_id", "pod", "pod_name", "worker", "worker_id"),
        *("node", "hostname", "host"),
    ),
    "deployment_version": ("deployment_version", "deployment", "model_version", "version", "revision", "release"),
    "error_type": ("error_type", "error_code", "error_class", "error", "exception", "failure_reason"),
    "finish_reason": ("finish_reason", "stop_reason", "completion_reason", "response.finish_reason"),
    "service_tier": ("service_tier", "tier"),
    "status": ("status", "outcome", "request_status", "state"),
}
FLAGS: Mapping[str, tuple[str, ...]] = {
    "streaming": ("streaming", "stream", "is_streaming", "is_stream", "streamed", "is_streamed"),
    "degraded": ("degraded", "is_degraded", "fallback", "is_fallback", "used_fallback"),
    "cold_start": ("cold_start", "is_cold_start", "coldstart", "was_cold"),
    "response_cached": ("response_cached", "response_cache_hit", "semantic_cache_hit", "from_cache"),
}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "input_tokens": (
        *("input_tokens", "prompt_tokens", "tokens_in", "input_token_count", "prompt_token_count", "n_input_tokens"),
        *("num_input_tokens", "num_prompt_tokens", "number_input_tokens", "n_prompt_tokens", "input_length"),
        *("prompt_length", "input_len", "prompt_len", "request_tokens", "context_tokens", "isl"),
        *("usage.prompt_tokens", "usage.input_tokens"),
    ),
    "output_tokens": (
        *("output_tokens", "completion_tokens", "tokens_out", "output_token_count", "completion_token_count"),
        *("n_output_tokens", "num_output_tokens", "number_output_tokens", "generated_tokens", "generation_tokens"),
        *("num_generated_tokens", "output_length", "output_len", "response_tokens", "osl"),
        *("usage.completion_tokens", "usage.output_tokens"),
    ),
    "cached_input_tokens": (
        *("cached_input_tokens", "cached_tokens", "cache_read_input_tokens", "cache_read_tokens"),
        *("cached_prompt_tokens", "prompt_cached_tokens"),
        *("usage.prompt_tokens_details.cached_tokens", "usage.input_tokens_details.cached_tokens"),
    ),
    "cache_write_tokens": (
        *("cache_write_tokens", "cache_creation_input_tokens", "cache_write_input_tokens", "cache_creation_tokens"),
    ),
    "cache_write_1h_tokens": ("cache_write_1h_tokens",),
    "reasoning_tokens": (
        *("reasoning_tokens", "thinking_tokens", "reasoning_output_tokens"),
        *("usage.completion_tokens_details.reasoning_tokens", "usage.output_tokens_details.reasoning_tokens"),
    ),
    "audio_input_tokens": ("audio_input_tokens",),
    "image_input_tokens": ("image_input_tokens",),
    "audio_output_tokens": ("audio_output_tokens",),
    "llm_calls": ("llm_calls", "n_llm_calls", "num_llm_calls", "model_calls", "n_calls"),
    "tool_calls": ("n_tool_calls", "num_tool_calls", "tool_call_count"),
    "attempts": ("attempts", "n_attempts", "num_attempts", "attempt_count"),
    "retries": ("retries", "n_retries", "num_retries", "retry_count"),
    "http_status": ("http_status", "status_code", "http_status_code", "response_code", "http_code"),
}
FIGURES: Mapping[str, tuple[str, ...]] = {
    "batch_size": ("batch_size", "mean_batch_size", "avg_batch_size"),
    "queue_depth": ("queue_depth", "queue_length", "queue_len", "waiting_requests"),
    "kv_cache_usage": ("kv_cache_usage", "kv_usage", "kv_cache_utilization", "gpu_cache_usage"),
    "preemptions": ("preemptions", "n_preemptions", "num_preemptions"),
    "source_cost_usd": ("cost_usd", "total_cost_usd", "spend_usd", "price_usd", "cost", "total_cost", "spend"),
    "quality": ("quality", "quality_score"),
    "sampling_rate": ("sampling_rate", "sampling_ratio", "sampling_probability"),  # sample_rate: 1 in N, or of audio
}
TIMES: Mapping[str, tuple[str, ...]] = {
    "started_ns": (
        *("start_time", "started_at", "request_start", "request_start_time", "start_timestamp", "arrival_time"),
        *("arrived_at", "arrival_timestamp", "received_at", "launch_time", "begin_time", "started", "start"),
        *("timestamp", "ts", "time", "datetime", "event_time", "created_at", "created", "date"),
    ),
    "ended_ns": (
        *("end_time", "ended_at", "request_end", "request_end_time", "end_timestamp", "finish_time", "finished_at"),
        *("completed_at", "stop_time", "ended", "end"),
    ),
    "first_output_ns": (
        *("first_token_time", "first_token_at", "first_token_timestamp", "first_output_time", "first_chunk_at"),
        *("completion_start_time",),
    ),
}
DURATIONS: Mapping[str, tuple[str, ...]] = {
    "e2e_ns": (
        *("e2e", "latency", "duration", "e2e_latency", "end_to_end_latency", "total_latency", "request_latency"),
        *("request_duration", "total_duration", "total_time", "elapsed", "elapsed_time", "response_time"),
        *("openai_processing",),
    ),
    "ttft_ns": ("ttft", "time_to_first_token", "first_token_latency", "first_token", "time_to_first_chunk"),
    "ttfa_ns": ("ttfa", "ttfo", "time_to_first_output_token", "time_to_first_answer"),
    "tpot_ns": ("tpot", "time_per_output_token", "avg_itl", "mean_itl", "inter_token_latency"),
    "generation_ns": ("generation_time", "generation"),
    "itl_max_ns": ("itl_max", "max_itl", "max_inter_token_latency"),
    "cold_start_ns": ("cold_start", "cold_start_time"),
    "gateway_ns": ("gateway", "gateway_overhead"),
    "network_ns": ("network", "network_latency", "network_time"),
    "guardrail_ns": ("guardrail", "guardrails", "moderation", "safety"),
    "retrieval_ns": ("retrieval", "vector_search", "search"),
    "rerank_ns": ("rerank", "reranking"),
    "queue_ns": ("queue", "queue_time", "queue_wait", "time_in_queue", "queueing", "queuing", "queued", "wait"),
    "prefill_ns": ("prefill", "time_in_model_prefill", "prompt_eval", "prompt_processing"),
    "decode_ns": ("decode", "time_in_model_decode", "decoding"),
    "tool_ns": ("tool", "tools"),
    "postprocess_ns": ("postprocess", "post_process", "postprocessing", "post_processing"),
}
UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), "ns"),
}
# Names whose values are prompts, answers, credentials or addresses: never kept
CONTENT = frozenset(
    (
        *("prompt", "prompts", "messages", "message", "input", "inputs"),
        *("output", "outputs", "completion", "completions", "response", "responses"),
        *("request",),
        *("body", "request_body", "response_body", "content", "contents", "text"),
        *("answer", "question", "query", "system_prompt", "system_message"),
        *("instructions", "documents", "chunks", "context", "tools", "functions"),
        *("tool_calls", "choices", "generated_text", "gen_text", "input_text"),
        *("output_text", "prompt_text", "headers", "request_headers", "response_headers", "authorization"),
        *("cookie", "cookies", "api_key", "apikey"),
        *("key", "access_token", "auth_token", "bearer_token", "token", "secret"),
        *("password", "credentials", "client_ip", "ip", "ip_address", "remote_addr"),
        *("remote_address", "requester_ip_address", "client_address", "email", "e_mail", "user_email"),
        *("phone",),
    )
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^a-z0-9.]+")
_UNIT_END = re.compile(r"^(.*?)_(?:in_)?([a-z]+)$")
_FILLER = re.compile(r"_(?:time|latency|duration|delay)$")


def plain(name: str) -> str:
    """The name in plain form: lower case words joined by underscores; dots stay."""
    return _OTHER.sub("_", _CAMEL.sub("_", name).lower()).strip("_")


def split_unit(name: str) -> tuple[str, Unit | None]:
    """A plain name without the unit at its end, and the unit."""
    found = _UNIT_END.match(name)
    if found and found[2] in UNITS:
        return found[1], UNITS[found[2]]
    return name, None


def is_content(name: str) -> bool:
    """Whether values of that name may be prompts, answers, credentials or addresses."""
    words = plain(name).rpartition(".")[2]
    return words in CONTENT or words.endswith(("_api_key", "_password", "_secret", "_email"))


def without_filler(name: str) -> str:
    """`queue_time` -> `queue`: words that say no more than that it is a duration."""
    return _FILLER.sub("", name)
