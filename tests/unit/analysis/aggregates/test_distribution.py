"""Latency lines: percentiles with counts and intervals, streamed and unstreamed apart."""

from __future__ import annotations

import polars as pl

from analysis.aggregates.distribution import CURVE_POINTS, curve, distribution, distributions
from analysis.aggregates.weighted import Sorted
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.result import Distribution, RankPair
from tests.support.builders import frame, request

E2E_MS = (23_200, 7_800, 39_700, 15_200, 31_000, 12_500, 27_400, 19_900)


def test_percentiles_of_eight_requests_are_requests_that_occurred() -> None:
    rows = measure(frame(request(i, e2e_ms=ms, streaming=False) for i, ms in enumerate(E2E_MS)))
    assert distribution(rows, BY_ID["e2e"]) == Distribution(
        metric="e2e",
        title="End-to-end latency",
        unit="s",
        streaming="all",
        n=8,
        mean=22.0875,
        p50=19.9,
        p95=39.7,
        p99=39.7,
        max=39.7,
        intervals={
            "p50": (12.197524752475251, 31.559900990099003),
            "p95": None,
            "p99": None,
        },
        success_share=1.0,
        too_few=["p95", "p99"],
        note="n = 8 is too small for P95 and P99 (needed: P95 72, P99 368); where it was measured is not known: 8",
        curve=[
            (7.8, 0.125),
            (12.5, 0.25),
            (15.2, 0.375),
            (19.9, 0.5),
            (23.2, 0.625),
            (27.4, 0.75),
            (31.0, 0.875),
            (39.7, 1.0),
        ],
        p95_with_failures=39.7,
        p99_with_failures=39.7,
        ranks={"p50": RankPair(1, 8, 1 - 2 / 256), "p95": None, "p99": None},
        n_effective=8,
    )


def test_streamed_unstreamed_and_unknown_are_rows_of_their_own() -> None:
    rows = [
        request(1, ttft_ms=100, tpot_ms=10),
        request(2, ttft_ms=300, e2e_ms=900, streaming=False),
        request(3, ttft_ms=500, e2e_ms=900, streaming=None),
        request(4, ttft_ms=9000, status="error"),
        request(5, e2e_ms=900, streaming=False, status="rejected"),
    ]
    lines = [line for line in distributions(measure(frame(rows))) if line.metric == "ttft"]
    assert [(line.streaming, line.n, line.p50, line.success_share) for line in lines] == [
        ("all", 3, 0.3, 0.75),
        (True, 1, 0.1, 0.5),
        (False, 1, 0.3, 1.0),
        (None, 1, 0.5, 1.0),
    ]


def test_failures_count_as_slower_than_all_beside_the_plain_percentile() -> None:
    rows = [request(i, e2e_ms=10 * (i + 1), status="error" if i >= 97 else "ok") for i in range(100)]
    line = distribution(measure(frame(rows)), BY_ID["e2e"])
    assert (line.p95, line.p95_with_failures) == (0.93, 0.95)
    assert (line.p99, line.p99_with_failures) == (0.97, None)  # three of a hundred failed


def test_the_six_latencies_are_always_told_and_stages_only_where_measured() -> None:
    lines = distributions(measure(frame([request(1, queue_ms=5)])))
    assert [(line.metric, line.n) for line in lines if line.streaming == "all"] == [
        ("ttft", 0), ("ttfa", 0), ("tpot", 0), ("itl_max", 0), ("e2e", 0), ("perceived", 0), ("queue", 1),
    ]  # fmt: skip


def test_the_basis_of_a_figure_is_told() -> None:
    rows = [
        request(1, ttft_ms=1, tpot_ms=10, generation_basis="engine", vantage="gateway"),
        request(2, ttft_ms=1, tpot_ms=10, generation_basis="response_end", vantage="gateway"),
    ]
    measured = measure(frame(rows))
    notes = [distribution(measured, BY_ID[name]).note or "" for name in ("tpot", "ttft")]
    assert notes[0].endswith("measured by engine: 1, response_end: 1")
    assert notes[1].endswith("measured at gateway: 2")


def test_the_curve_of_many_values_is_thinned_and_keeps_the_percentiles() -> None:
    points = curve(Sorted(pl.Series(range(1, 10_001), dtype=pl.Float64)))
    assert CURVE_POINTS <= len(points) <= CURVE_POINTS + 3
    assert points[-1] == (10_000.0, 1.0)
    assert (5000.0, 0.5) in points
    assert (9500.0, 0.95) in points
    assert (9900.0, 0.99) in points
    assert curve(Sorted(pl.Series([1.0, 1.0, 2.0, 2.0]))) == [(1.0, 0.5), (2.0, 1.0)]
    assert curve(Sorted(pl.Series([], dtype=pl.Float64))) == []
