"""Where the time went: shares that sum to one, the slowest, the bad, and clocks apart."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.aggregates.stages import skewed, stage_shares
from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def test_shares_are_time_weighted_and_sum_to_one() -> None:
    rows = [
        request(1, e2e_ms=1000, queue_ms=100, prefill_ms=200, decode_ms=600),
        request(2, e2e_ms=3000, queue_ms=1500, decode_ms=1000),
    ]
    shares = stage_shares(measure(frame(rows)))
    assert [(s.stage, s.seconds, s.share, s.n, s.mean_seconds) for s in shares] == [
        ("queue", 1.6, 0.4, 2, 0.8),
        ("prefill", 0.2, 0.05, 1, 0.2),
        ("decode", 1.6, 0.4, 2, 0.8),
        ("unattributed", 0.6, 0.15, 2, 0.3),
    ]
    assert sum(s.share or 0 for s in shares) == pytest.approx(1.0, abs=1e-12)


def test_the_slowest_five_percent_lie_above_p95() -> None:
    rows = [request(i, e2e_ms=1000, decode_ms=1000) for i in range(95)]
    rows += [request(100 + i, e2e_ms=10_000, decode_ms=1000, queue_ms=9000) for i in range(5)]
    shares = {s.stage: s for s in stage_shares(measure(frame(rows)))}
    assert shares["queue"].share == 45 / 145
    assert shares["queue"].share_slowest_5_percent == 0.9
    assert shares["queue"].mean_seconds_slowest_5_percent == 9.0
    assert shares["decode"].share_slowest_5_percent == 0.1


def test_the_request_at_p99_is_composed_of_its_neighbours() -> None:
    rows = [request(i, e2e_ms=1000 + i, decode_ms=1000 + i) for i in range(980)]
    rows += [request(2000 + i, e2e_ms=5000 + i, queue_ms=4000, decode_ms=1000 + i) for i in range(20)]
    shares = {s.stage: s.share_p99 for s in stage_shares(measure(frame(rows)))}
    assert shares["queue"] == pytest.approx(4000 / 5009.0, rel=1e-3)  # ranks 985 to 995


def test_without_a_request_above_p95_there_is_no_such_share() -> None:
    shares = stage_shares(measure(frame([request(1, e2e_ms=1000, decode_ms=1000)])))
    assert [s.share_slowest_5_percent for s in shares] == [None, None]


def test_bad_requests_have_shares_of_their_own() -> None:
    rows = measure(frame([request(1, e2e_ms=1000, queue_ms=800), request(2, e2e_ms=1000, queue_ms=0)]))
    rows = rows.with_columns(pl.Series("good_verdict", ["bad", "good"]))
    queue = stage_shares(rows)[0]
    assert (queue.stage, queue.share_bad, queue.mean_seconds_bad) == ("queue", 0.8, 0.8)


def test_ttft_has_shares_over_requests_of_one_call() -> None:
    rows = [
        request(1, ttft_ms=1000, e2e_ms=5000, queue_ms=600, prefill_ms=300, decode_ms=4000),
        request(2, ttft_ms=9000, e2e_ms=9500, queue_ms=100, prefill_ms=100, decode_ms=9000, llm_calls=3),
    ]
    shares = {s.stage: s.share_of_ttft for s in stage_shares(measure(frame(rows)))}
    assert shares == {"queue": 0.6, "prefill": 0.3, "decode": None, "unattributed": None}


def test_stages_longer_than_the_request_are_counted_and_left_out() -> None:
    rows = [
        request(1, e2e_ms=1000, queue_ms=500),
        request(2, e2e_ms=1000, queue_ms=1500),
        request(3, e2e_ms=1000, queue_ms=600, decode_ms=400.9),  # within what rounding explains
        request(4, queue_ms=500),
    ]
    measured = measure(frame(rows))
    assert measured.select(skewed().sum()).item() == 1
    assert [(s.stage, s.n) for s in stage_shares(measured)] == [("queue", 2), ("decode", 1), ("unattributed", 2)]


def test_no_duration_no_table() -> None:
    assert stage_shares(measure(frame([request(1, queue_ms=5)]))) == []


def test_shares_of_ttft_stay_within_one_where_a_stage_goes_on_after_the_first_token() -> None:
    rows = [request(n, ttft_ms=100.0, e2e_ms=400.0, network_ms=80.0, queue_ms=60.0, decode_ms=200.0) for n in range(3)]
    shares = {line.stage: line.share_of_ttft for line in stage_shares(measure(frame(rows)))}
    assert shares["network"] == pytest.approx(80 / 140)
    assert shares["queue"] == pytest.approx(60 / 140)
    assert shares["decode"] is None
