"""Requests and tokens per second of wall clock, and the busiest minute.

Input: a measured frame, the span. Output: one Throughput record; null where the span has no length. Volumes of sampled
input are divided by its rate. Source: metric definitions, sections 2 and 5.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.windows import Span
from analysis.result import Throughput
from ingest.schema import NS_PER_S
from ingest.selection import to_iso

MINUTE_NS = 60 * NS_PER_S


def throughput(frame: pl.DataFrame, span: Span) -> Throughput:
    """Volumes per second; `tokens_per_second` is that of the metric: output tokens."""
    seconds = span.seconds
    weight = pl.col("weight")
    requests, tokens_in, tokens_out = frame.select(
        exact_sum(weight).alias("requests"),
        pl.when(pl.col("input_tokens").count() > 0).then(exact_sum(pl.col("input_tokens") * weight)).alias("in"),
        pl.when(pl.col("output_tokens").count() > 0).then(exact_sum(pl.col("output_tokens") * weight)).alias("out"),
    ).row(0)
    peak, at = _busiest_minute(frame)
    return Throughput(
        seconds=seconds,
        requests_per_second=_per(requests, seconds),
        input_tokens_per_second=_per(tokens_in, seconds),
        output_tokens_per_second=_per(tokens_out, seconds),
        tokens_per_second=_per(tokens_out, seconds),
        peak_requests_per_second=peak,
        peak_at=at,
    )


def _per(amount: float | None, seconds: float | None) -> float | None:
    return None if amount is None or not seconds else amount / seconds


def _busiest_minute(frame: pl.DataFrame) -> tuple[float | None, str | None]:
    """Requests per second of the minute (of UTC) with most arrivals, the first of equals."""
    minutes = (
        frame.select("started_ns", "weight")
        .filter(pl.col("started_ns").is_not_null())
        .group_by((pl.col("started_ns") // MINUTE_NS * MINUTE_NS).alias("minute_ns"))
        .agg(exact_sum(pl.col("weight")).alias("requests"))
        .sort(["requests", "minute_ns"], descending=[True, False])
    )
    if minutes.is_empty():
        return None, None
    minute, requests = minutes.row(0)
    return requests / 60, to_iso(minute)
