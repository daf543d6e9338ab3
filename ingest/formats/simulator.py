"""The service simulator's request rows, one JSON object a line.

Input: columns as `simulate.py` writes them, stages in ms that sum to `e2e_ms`. Output: request rows.
Stages outside the model call are 0 where they did not take place, and then have no span either: null. Queue, prefill
and decode belong to the model call, and 0 there is measured. `ttft_ms` is what the caller would have seen and is kept
for unstreamed answers as the source gives it. The trace id is the same as in the spans of a run: one request.
"""

from __future__ import annotations

from ingest.formats.contract import FlatReader, Format, Head, SourceColumn

_SAME = (
    *("request_id", "trace_id", "tenant", "scenario", "requested_model", "model", "deployment_version", "replica"),
    *("region", "streaming", "error_type", "degraded", "cold_start", "retries", "llm_calls", "input_tokens"),
    *("cached_input_tokens", "output_tokens", "batch_size", "queue_depth", "kv_cache_usage", "preemptions"),
)
_OUTER = ("gateway", "network", "guardrail", "retrieval", "rerank", "tool", "postprocess")
_INNER = ("queue", "prefill", "decode")

COLUMNS: tuple[SourceColumn, ...] = (
    *(SourceColumn(name, (name,)) for name in _SAME),
    SourceColumn("session", ("session_id",)),
    SourceColumn("user", ("user_id",)),
    SourceColumn("http_status", ("status_code",)),
    SourceColumn("started_ns", ("start_time",), "time"),
    SourceColumn("ended_ns", ("end_time",), "time"),
    SourceColumn("e2e_ns", ("e2e_ms",), "ms"),
    SourceColumn("ttft_ns", ("ttft_ms",), "ms"),
    SourceColumn("itl_max_ns", ("itl_max_ms",), "ms", is_zero_absent=True),
    *(SourceColumn(f"{stage}_ns", (f"{stage}_ms",), "ms", is_zero_absent=True) for stage in _OUTER),
    *(SourceColumn(f"{stage}_ns", (f"{stage}_ms",), "ms") for stage in _INNER),
)
_MARKS = frozenset({"request_id", "llm_calls", "gateway_ms", "network_ms", "guardrail_ms", "decode_ms", "e2e_ms"})


def sniff(head: Head) -> float:
    names = set(head.columns) | head.keys
    return 0.9 if names >= _MARKS and head.shape in ("json_lines", "csv", "parquet") else 0.0


FORMAT = Format(
    name="simulator",
    title="Simulated requests",
    says="request rows of the service simulator, with every stage",
    sniff=sniff,
    reader=FlatReader(lambda head: COLUMNS, key="trace", vantage="gateway"),  # noqa: ARG005  # the contract of readers
)
