"""Concurrency from intervals, Little's law, burstiness, balance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from analysis.aggregates.load import arrivals_fano, load, with_concurrency
from analysis.aggregates.windows import Span
from analysis.metrics.measure import measure
from analysis.result import CountBucket, HourCell, Load
from analysis.settings import Settings
from ingest.schema import NS_PER_S
from tests.support.builders import MONDAY_NS, frame, replica_hours, request


def loaded(rows: list[dict[str, object]], seconds: int, hours: pl.DataFrame | None = None) -> Load:
    measured = measure(frame(rows)).with_columns(pl.lit("good").alias("good_verdict"))
    return load(measured, Span(MONDAY_NS, MONDAY_NS + seconds * NS_PER_S), Settings(), hours)


def test_concurrency_counts_a_request_from_its_arrival_to_its_end() -> None:
    rows = [
        request(1, at_s=0, e2e_ms=10_000),
        request(2, at_s=5, e2e_ms=10_000),
        request(3, at_s=10, e2e_ms=1000),
        request(4, at_s=40, e2e_ms=0),
    ]
    found = with_concurrency(measure(frame(rows)))
    assert found.get_column("concurrency").to_list() == [1.0, 2.0, 2.0, 0.0]  # one ends as the third arrives


def test_mean_concurrency_and_littles_law_agree_when_all_ends_inside() -> None:
    rows = [request(i, at_s=i * 10, e2e_ms=5000) for i in range(10)]
    found = loaded(rows, 100)
    assert (found.mean_concurrency, found.littles_law, found.max_concurrency) == (0.5, 0.5, 1)


def test_a_sampled_request_stands_for_many_at_once() -> None:
    rows = [request(i, at_s=i, e2e_ms=5000, sampling_rate=0.1) for i in range(10)]
    assert loaded(rows, 100).max_concurrency == 50


def test_latency_is_told_by_concurrency() -> None:
    rows = [
        request(i, at_s=i // 2 * 100, ttft_ms=100 if i % 2 == 0 else 900, tpot_ms=10, queue_ms=1) for i in range(40)
    ]
    points = loaded(rows, 4000).by_concurrency
    assert [(p.concurrency_from, p.concurrency_to, p.n, p.ttft_p50) for p in points] == [
        (1.0, 1.0, 20, 0.1),
        (2.0, 2.0, 20, 0.9),
    ]


def test_replicas_show_their_share_and_use() -> None:
    hours = replica_hours([{"replica": "a", "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 3600.0, "busy_s": 900.0}])
    rows = [
        request(i, replica="a" if i < 3 else "b", queue_ms=10, status="error" if i == 0 else "ok") for i in range(4)
    ]
    found = loaded(rows, 3600, hours)
    assert [(r.replica, r.n, r.share, r.error_rate, r.utilization) for r in found.replicas] == [
        ("a", 3, 0.75, 1 / 3, 0.25),
        ("b", 1, 0.25, 0.0, None),
    ]
    assert found.gpu_utilization == 0.25


def test_batch_sizes_are_counted_in_powers_of_two() -> None:
    rows = [request(i, batch_size=size) for i, size in enumerate((0.4, 1.0, 2.0, 3.4, 3.6, 8.0, None))]
    assert loaded(rows, 100).batch_sizes == [
        CountBucket("1", 2, 2 / 6),
        CountBucket("2-3", 2, 2 / 6),
        CountBucket("4-7", 1, 1 / 6),
        CountBucket("8-15", 1, 1 / 6),
    ]


def test_steady_arrivals_have_no_variance_and_poisson_ones_as_much_as_their_mean() -> None:
    span = Span(MONDAY_NS, MONDAY_NS + 100_000 * NS_PER_S)
    steady = measure(frame(request(i, at_s=i * 10 + 1) for i in range(10_000)))
    assert arrivals_fano(steady, span) == 0.0
    times = np.sort(np.random.default_rng(5).uniform(0, 100_000, 50_000))
    base = [request(0)]
    poisson = measure(frame(base * len(times))).with_columns(
        (MONDAY_NS + pl.Series((times * NS_PER_S).astype(np.int64))).alias("started_ns")
    )
    assert arrivals_fano(poisson, span) == pytest.approx(1.0, abs=0.05)
    burst = poisson.with_columns((pl.col("started_ns") // (1000 * NS_PER_S) * (1000 * NS_PER_S)).alias("started_ns"))
    thinned = burst.filter(pl.Series(np.random.default_rng(6).random(burst.height) < 0.2)).with_columns(
        pl.lit(5.0).alias("weight")
    )
    whole = arrivals_fano(burst, span)
    assert whole is not None
    assert arrivals_fano(thinned, span) == pytest.approx(whole, rel=0.05)


def test_hours_are_cells_of_weekday_and_hour() -> None:
    assert loaded([request(1, at_s=3600), request(2, at_s=3700), request(3, at_s=86_400)], 90_000).hours == [
        HourCell(1, 1, 2, 2, 0, 2.0, 0.0),
        HourCell(2, 0, 1, 1, 0, 1.0, 0.0),
    ]


def test_without_a_clock_there_is_no_load() -> None:
    rows = measure(frame([request(1, e2e_ms=5) | {"started_ns": None}])).with_columns(
        pl.lit("good").alias("good_verdict")
    )
    found = load(rows, Span(None, None), Settings(), None)
    assert (found.mean_concurrency, found.max_concurrency, found.arrivals_fano, found.by_concurrency, found.hours) == (
        None,
        None,
        None,
        [],
        [],
    )
