"""Volumes per second of wall clock: requests, tokens, and those of them that were good.

Input: columns of a measured frame; `is_good` is added by the judge (analysis/aggregates/attainment). A volume of
sampled input is divided by its sampling rate.
Source: metric definitions, section 5: the denominator is the wall clock of the window, not first to last request.
"""

from __future__ import annotations

import polars as pl

from analysis.metrics.metric import Better, Kind, Metric, Unit

_ONE = pl.lit(1.0)


def _volume(metric_id: str, title: str, numerator: pl.Expr, needs: tuple[str, ...], says: str) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=Unit.PER_SECOND,
        better=Better.HIGHER,
        kind=Kind.VOLUME,
        needs=needs,
        numerator=numerator.cast(pl.Float64) * pl.col("weight"),
        says=says,
        source="counts over the wall clock of the window",
    )


VOLUME: tuple[Metric, ...] = (
    _volume("requests_per_second", "Requests per second", _ONE, ("request_key",), "Arrivals over wall clock."),
    _volume(
        "tokens_per_second",
        "Output tokens per second",
        pl.col("output_tokens"),
        ("output_tokens",),
        "Output tokens over wall clock.",
    ),
    _volume(
        "goodput",
        "Goodput",
        pl.col("is_good"),
        ("is_good",),
        "Requests per second that keep every objective which applies to them.",
    ),
    _volume(
        "goodput_tokens_per_second",
        "Goodput in output tokens",
        pl.when(pl.col("is_good")).then(pl.col("output_tokens")).otherwise(0),
        ("is_good", "output_tokens"),
        "Output tokens per second of the requests that keep every objective which applies to them.",
    ),
)
