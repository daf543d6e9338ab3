"""Rows of requests out of the simulator's and the generator's flat files, without the readers under test."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from ingest.schema import REQUESTS, polars_schema

_STAGES = (
    "gateway",
    "network",
    "retrieval",
    "rerank",
    "guardrail",
    "queue",
    "prefill",
    "decode",
    "tool",
    "postprocess",
)
_CLASSES = {"200": "ok", "429": "shed", "499": "cancelled", "500": "error", "503": "shed", "504": "timeout"}


def _ns(column: str) -> pl.Expr:
    return (pl.col(column) * 1_000_000).round().cast(pl.Int64)


def _full(frame: pl.DataFrame) -> pl.DataFrame:
    types = polars_schema(REQUESTS)
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in types.items() if name not in frame.columns]
    return frame.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in types.items())


def simulator_rows(folder: Path) -> pl.DataFrame:
    """Requests of a case of the simulator, in the columns of the schema."""
    rate = json.loads((folder / "run.json").read_text()).get("sampling_rate") or 1.0
    path = next(path for path in (folder / "requests.jsonl.gz", folder / "requests.jsonl") if path.exists())
    raw = pl.read_ndjson(path, infer_schema_length=None)
    moment = [
        pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us").dt.epoch("us") * 1000
        for name in ("start_time", "end_time")
    ]
    calls = pl.col("llm_calls").clip(lower_bound=1)
    return _full(
        raw.select(
            pl.col("trace_id").alias("request_key"),
            pl.lit("u-1").alias("upload_id"),
            pl.lit("simulator").alias("source"),
            pl.lit("gateway").alias("vantage"),
            "trace_id",
            "request_id",
            *("model", "requested_model", "scenario", "tenant", "region", "replica", "deployment_version"),
            *("streaming", "degraded", "cold_start", "error_type"),
            pl.col("user_id").alias("user"),
            pl.col("session_id").alias("session"),
            moment[0].alias("started_ns"),
            moment[1].alias("ended_ns"),
            _ns("e2e_ms").alias("e2e_ns"),
            _ns("ttft_ms").alias("ttft_ns"),
            pl.when(pl.col("output_tokens") > calls).then(_ns("decode_ms")).alias("generation_ns"),
            pl.lit("engine").alias("generation_basis"),
            _ns("itl_max_ms").alias("itl_max_ns"),
            *(_ns(f"{stage}_ms").alias(f"{stage}_ns") for stage in _STAGES),
            *("input_tokens", "cached_input_tokens", "output_tokens", "llm_calls"),
            (pl.col("retries") + 1).alias("attempts"),
            *("batch_size", "queue_depth", "kv_cache_usage", "preemptions"),
            pl.col("status_code").cast(pl.String).replace_strict(_CLASSES).alias("status_class"),
            pl.col("status_code").alias("http_status"),
            pl.lit(rate).alias("sampling_rate"),
            pl.lit(0).alias("n_call_rows"),
        )
    ).sort("started_ns", "request_key")


def generated_rows(folder: Path) -> pl.DataFrame:
    """Requests of tools/gen_traces.py --format parquet, in the columns of the schema; TPOT of one token is unknown."""
    raw = pl.read_parquet(folder / "*.parquet")
    stages = ("gateway", "retrieval", "queue", "prefill", "decode", "postprocess")
    return _full(
        raw.select(
            pl.col("trace_id").alias("request_key"),
            pl.lit("u-1").alias("upload_id"),
            pl.lit("generated").alias("source"),
            *("trace_id", "request_id", "model", "provider", "scenario", "tenant", "region", "replica"),
            pl.col("user_id").alias("user"),
            pl.col("stream").alias("streaming"),
            pl.col("start_time_ns").alias("started_ns"),
            (pl.col("start_time_ns") + _ns("e2e_ms")).alias("ended_ns"),
            _ns("e2e_ms").alias("e2e_ns"),
            _ns("ttft_ms").alias("ttft_ns"),
            pl.when(pl.col("output_tokens") > 1).then(_ns("decode_ms")).alias("generation_ns"),
            *(_ns(f"{stage}_ms").alias(f"{stage}_ns") for stage in stages),
            "input_tokens",
            pl.col("cached_tokens").alias("cached_input_tokens"),
            "output_tokens",
            pl.lit(1).alias("llm_calls"),
            pl.lit(1).alias("attempts"),
            pl.col("status").alias("status_class"),
            pl.lit(1.0).alias("sampling_rate"),
            pl.lit(0).alias("n_call_rows"),
        )
    ).sort("started_ns", "request_key")
