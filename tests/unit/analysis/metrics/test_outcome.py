"""Shares of requests, worked out over ten."""

from __future__ import annotations

import polars as pl

from analysis.aggregates.figures import figure, ratio_figures
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import frame, request

CLASSES = ["ok"] * 4 + ["error", "timeout", "shed", "truncated", "rejected", "cancelled"]


def value(metric: str, rows: pl.DataFrame) -> tuple[int, float | None]:
    found = figure(ratio_figures(rows, BY_ID[metric], ()))
    return found.n, found.value


def test_rates_are_over_all_requests_and_availability_over_the_valid_ones() -> None:
    rows = measure(frame(request(i, status=name) for i, name in enumerate(CLASSES)))
    assert value("error_rate", rows) == (10, 0.4)
    assert value("timeout_rate", rows) == (10, 0.1)
    assert value("cancel_rate", rows) == (10, 0.1)
    assert value("availability", rows) == (8, 0.5)


def test_degradation_and_cold_starts_are_over_all_and_unknown_where_no_request_says() -> None:
    rows = measure(
        frame(request(i, degraded=flag, cold_start=None) for i, flag in enumerate([True, False, False, None]))
    )
    assert value("degraded_rate", rows) == (4, 0.25)
    assert value("cold_start_rate", rows) == (0, None)
