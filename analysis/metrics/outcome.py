"""Shares of requests: availability, failures, cancellations, degradation, cold starts.

Over all requests of the selection, nothing excluded, except availability, which leaves out what policy excludes.
Source: metric definitions, section 3. `is_valid` and `is_failed` are columns of a measured frame.
"""

from __future__ import annotations

import polars as pl

from analysis.metrics.metric import Better, Kind, Metric, Unit

FAILED: tuple[str, ...] = ("truncated", "error", "timeout", "shed")
_ALL = pl.lit(1, pl.Int64)


def _marked(column: str) -> pl.Expr:
    """Whether a request is marked; many sources mark what is so and say nothing of the rest."""
    return pl.when(pl.col(column).is_not_null().any()).then(pl.col(column).fill_null(value=False))


def _share(
    metric_id: str,
    title: str,
    numerator: pl.Expr,
    says: str,
    *,
    denominator: pl.Expr = _ALL,
    better: Better = Better.LOWER,
    needs: tuple[str, ...] = ("status_class",),
) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=Unit.RATIO,
        better=better,
        kind=Kind.RATIO,
        needs=needs,
        numerator=numerator.cast(pl.Int64),
        denominator=denominator,
        says=says,
        source="site-reliability practice: good over valid; rates over all requests",
    )


OUTCOME: tuple[Metric, ...] = (
    _share(
        "availability",
        "Availability",
        pl.col("is_valid") & ~pl.col("is_failed"),
        "Valid requests that did not fail; caller faults and cancellations are not valid.",
        denominator=pl.col("is_valid").cast(pl.Int64),
        better=Better.HIGHER,
    ),
    _share(
        "error_rate",
        "Error rate",
        pl.col("status_class").is_in(FAILED),
        "Requests that ended in an error, a time limit, a refusal for load, or a broken answer, of all.",
    ),
    _share("timeout_rate", "Timeout rate", pl.col("status_class") == "timeout", "Requests over a time limit, of all."),
    _share(
        "cancel_rate", "Cancellation rate", pl.col("status_class") == "cancelled", "Requests given up by the caller."
    ),
    _share(
        "degraded_rate",
        "Degradation rate",
        _marked("degraded"),
        "Requests answered by a fallback, of all; unknown where no request says either way.",
        needs=("degraded",),
    ),
    _share(
        "cold_start_rate",
        "Cold start rate",
        _marked("cold_start"),
        "Requests served by a replica that was still starting, of all; unknown where no request says either way.",
        needs=("cold_start",),
    ),
)
