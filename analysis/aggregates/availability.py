"""Availability, failures, cancellations, degradation, cold starts and retries, each with its counts.

Input: a measured frame. Output: one Availability record. Rates are over all requests; degradation and cold starts
are unknown where no request says either way. Retry amplification is attempts over requests for which attempts are known.
Source: metric definitions, section 3.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.statistics import wilson
from analysis.aggregates.weighted import effective
from analysis.metrics.catalog import BY_ID
from analysis.result import Availability, Rate


def availability(frame: pl.DataFrame) -> Availability:
    """All shares of requests."""
    attempts, known = frame.select(
        exact_sum(pl.col("attempts") * pl.col("votes")).alias("attempts"),
        pl.col("votes").filter(pl.col("attempts").is_not_null()).sum().alias("known"),
    ).row(0)
    return Availability(
        availability=rate(frame, "availability"),
        error_rate=rate(frame, "error_rate"),
        timeout_rate=rate(frame, "timeout_rate"),
        cancel_rate=rate(frame, "cancel_rate"),
        degraded_rate=rate(frame, "degraded_rate"),
        cold_start_rate=rate(frame, "cold_start_rate"),
        retry_amplification=attempts / known if known else None,
        by_error_type=counts(frame.select("error_type").drop_nulls(), "error_type"),
        by_status_class=counts(frame, "status_class"),
    )


def rate(frame: pl.DataFrame, metric_id: str) -> Rate:
    """A share of requests with its counts and Wilson's interval; null where nothing is known.

    The counts are of rows; where sampling rates differ, the share and its interval weigh each row by its votes.
    """
    metric = BY_ID[metric_id]
    if metric.numerator is None or metric.denominator is None:
        raise ValueError(f"{metric_id} is no share of requests")
    both = frame.select(metric.numerator.alias("num"), metric.denominator.alias("den"), "votes").drop_nulls()
    num, den, votes = pl.col("num"), pl.col("den"), pl.col("votes")
    n, of, part, whole, squares = both.select(
        num.sum().alias("n"),
        den.sum().alias("of"),
        (num * votes).sum().alias("part"),
        (den * votes).sum().alias("whole"),
        (den * votes.cast(pl.Int128) ** 2).sum().alias("squares"),
    ).row(0)
    share = part / whole if whole else None
    return Rate(int(n), int(of), share, wilson(*effective(int(part), int(whole), int(squares))))


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Requests per value, the most frequent first, then by name."""
    table = frame.select(column).group_by(column).len().sort(["len", column], descending=[True, False])
    return {str(value): int(n) for value, n in table.iter_rows()}
