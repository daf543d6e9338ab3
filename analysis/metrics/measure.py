"""Requests with their figures: one Float64 column per request metric, and the dimensions that are computed.

Input: rows of `requests`, priced or not. Output: the same rows and order, with the columns of REQUEST_METRICS
(`Metric.column`: the id, but `model_time` and `cold_start_time` where a dimension has that name) in seconds, ratios,
counts and USD, null where unknown; and

    cache_state     hit if a part of the input was cached, miss if none was, null if not known
    input_bucket, output_bucket   label of the length, null without it
    hour, weekday   0 to 23, 1 (Monday) to 7, in the time zone of the objectives
    weight          1 / sampling_rate: how many requests the row stands for
    votes           the same in whole numbers and without their common measure: 1 where one rate holds for all rows
    is_failed, is_valid   by status class and policy
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from analysis.metrics.catalog import REQUEST_METRICS
from analysis.metrics.outcome import FAILED
from analysis.metrics.votes import votes_of
from analysis.settings import Policy, Settings, bucket_labels
from ingest import schema

DERIVED = (
    "cache_state",
    "input_bucket",
    "output_bucket",
    "hour",
    "weekday",
    "weight",
    "votes",
    "is_failed",
    "is_valid",
)


def measure(
    requests: pl.DataFrame, settings: Settings | None = None, metrics: Collection[str] | None = None
) -> pl.DataFrame:
    """The requests with one column per metric and the derived dimensions.

    Shape: (n, columns given + REQUEST_METRICS + DERIVED), order kept. Columns of the schema that are missing are null.

    Args:
        requests: rows of `requests`, priced or not.
        settings: time zone, buckets and policy.
        metrics: columns of the metrics that are told; None: all.
    """
    settings = settings or Settings()
    local = (
        pl.from_epoch("started_ns", time_unit="ns").dt.replace_time_zone("UTC").dt.convert_time_zone(settings.timezone)
    )
    rows = with_columns_of_schema(requests)
    votes = votes_of(rows.get_column("sampling_rate"))
    alike = rows.height and votes.min() == votes.max()
    return (
        rows.with_columns(pl.lit(votes.item(0), pl.Int64).alias("votes") if alike else votes)
        .lazy()
        .with_columns(
            pl.when(pl.col("cached_input_tokens") > 0)
            .then(pl.lit("hit"))
            .when(pl.col("cached_input_tokens") == 0)
            .then(pl.lit("miss"))
            .cast(pl.Categorical)
            .alias("cache_state"),
            bucket("input_tokens", settings.buckets.input).cast(pl.Categorical).alias("input_bucket"),
            bucket("output_tokens", settings.buckets.output).cast(pl.Categorical).alias("output_bucket"),
            local.dt.hour().alias("hour"),
            local.dt.weekday().alias("weekday"),
            (1.0 / pl.col("sampling_rate").fill_null(1.0)).alias("weight"),
            *status_flags(settings.policy),
            *(
                metric.expr.cast(pl.Float64).alias(metric.column)
                for metric in REQUEST_METRICS
                if metric.expr is not None and (metrics is None or metric.column in metrics)
            ),
        )
        .collect()
    )


def with_columns_of_schema(requests: pl.DataFrame) -> pl.DataFrame:
    """The frame with every column of `requests` but lists, and `cost_pico`; what was missing is null."""
    missing = [c for c in schema.REQUESTS if c.name not in requests.columns and c.kind != "ints"]
    extra = [pl.lit(None, column.dtype).alias(column.name) for column in missing]
    if "cost_pico" not in requests.columns:
        extra.append(pl.lit(None, pl.Int64()).alias("cost_pico"))
    return requests.with_columns(extra) if extra else requests


def bucket(column: str, edges: tuple[int, ...]) -> pl.Expr:
    """Label of the bucket of a length; a bucket holds its lower edge and not its upper."""
    labels = bucket_labels(edges)
    expr: pl.Expr = pl.lit(labels[-1])
    for edge, label in reversed(list(zip(edges, labels, strict=False))):
        expr = pl.when(pl.col(column) < edge).then(pl.lit(label)).otherwise(expr)
    return pl.when(pl.col(column).is_not_null()).then(expr)


def status_flags(policy: Policy) -> tuple[pl.Expr, pl.Expr]:
    """Columns `is_failed` and `is_valid` of a status class under a policy, as availability counts them."""
    status = pl.col("status_class")
    failed = set(FAILED)
    excluded = {"rejected", "cancelled", "open"}
    for key, name in (("on_shed", "shed"), ("on_truncated", "truncated")):
        if getattr(policy, key) == "excluded":
            failed.discard(name)
            excluded.add(name)
    for key, name in (
        ("on_caller_fault", "rejected"),
        ("on_client_cancel", "cancelled"),
        ("on_open", "open"),
    ):
        if getattr(policy, key) == "bad":
            excluded.discard(name)
            failed.add(name)
    is_failed = status.is_in(sorted(failed))
    if policy.on_degraded == "bad":
        is_failed = is_failed | ((status == "ok") & pl.col("degraded").fill_null(value=False))
    is_excluded = status.is_in(sorted(excluded))
    if policy.on_response_cached == "excluded":
        is_excluded = is_excluded | (~is_failed & pl.col("response_cached").fill_null(value=False))
    return is_failed.alias("is_failed"), (~is_excluded).alias("is_valid")
