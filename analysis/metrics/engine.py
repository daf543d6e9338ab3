"""What the engine and the caller's retries tell of one request.

Source: attributes of the source; retries are further attempts of the same request (metric definitions, section 3).
"""

from __future__ import annotations

import polars as pl

from analysis.metrics.latency import seconds_of
from analysis.metrics.metric import Better, Kind, Metric, Unit


def _given(
    metric_id: str, title: str, says: str, *, unit: Unit = Unit.COUNT, better: Better = Better.LOWER, column: str = ""
) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=unit,
        better=better,
        kind=Kind.REQUEST,
        needs=(column or metric_id,),
        expr=pl.col(column or metric_id),
        says=says,
        source="as the source states it",
    )


ENGINE: tuple[Metric, ...] = (
    _given("batch_size", "Batch size", "Sequences decoding together, mean over the request.", better=Better.HIGHER),
    _given("queue_depth", "Queue depth", "Waiting requests found on arrival."),
    _given("kv_cache_usage", "KV cache in use", "Share of the KV cache in use at admission.", unit=Unit.RATIO),
    _given("preemptions", "Preemptions", "Times the engine put the request back."),
    Metric(
        id="retries",
        title="Retries",
        unit=Unit.COUNT,
        better=Better.LOWER,
        kind=Kind.REQUEST,
        needs=("attempts",),
        expr=(pl.col("attempts") - 1).clip(lower_bound=0),
        says="Attempts after the first.",
        source="attempts of one request",
    ),
    Metric(
        id="cold_start",
        title="Cold start",
        unit=Unit.SECOND,
        better=Better.LOWER,
        kind=Kind.REQUEST,
        needs=("cold_start_ns",),
        expr=seconds_of("cold_start_ns"),
        says="Time the request waited for a starting replica.",
        source="where a source measures it",
        column_name="cold_start_time",  # `cold_start` is the dimension
    ),
    _given("model_calls", "Model calls", "Model calls within the request.", column="llm_calls"),
    _given("tool_steps", "Tool steps", "Tool steps of an agent.", column="tool_calls"),
    _given("input_length", "Input tokens", "All of the prompt, cached parts included.", column="input_tokens"),
    _given("output_length", "Output tokens", "All of the completion, reasoning included.", column="output_tokens"),
    _given(
        "quality",
        "Quality score",
        "Score of the answer, where the source carries one.",
        unit=Unit.RATIO,
        better=Better.HIGHER,
    ),
)
