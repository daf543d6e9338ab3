"""Derived dimensions, weights and flags of the measured frame."""

from __future__ import annotations

import polars as pl

from analysis.metrics.catalog import REQUEST_METRICS
from analysis.metrics.measure import DERIVED, measure
from analysis.settings import Buckets, Policy, Settings
from tests.support.builders import frame, request


def test_every_metric_is_a_float_column_and_rows_keep_their_order() -> None:
    measured = measure(frame([request(2), request(1)]))
    assert {metric.column: measured.schema[metric.column] for metric in REQUEST_METRICS} == {
        metric.column: pl.Float64() for metric in REQUEST_METRICS
    }
    assert [name for name in DERIVED if name not in measured.columns] == []
    assert measured.get_column("request_key").to_list() == ["r-000002", "r-000001"]


def test_buckets_hold_their_lower_edge() -> None:
    lengths = [0, 511, 512, 2047, 2048, 32_768, None]
    measured = measure(frame(request(i, input_tokens=n, output_tokens=n) for i, n in enumerate(lengths)))
    assert measured.get_column("input_bucket").to_list() == ["<512", "<512", "512-2k", "512-2k", "2k-8k", ">=32k", None]
    assert measured.get_column("output_bucket").to_list() == ["<64", "256-1k", "256-1k", "1k-4k", "1k-4k", ">=4k", None]
    own = measure(frame([request(input_tokens=10)]), Settings(buckets=Buckets(input=(10, 20))))
    assert own.get_column("input_bucket").to_list() == ["10-20"]


def test_hour_and_weekday_are_local() -> None:
    rows = [request(at_s=0), request(at_s=23 * 3600)]  # Monday 2026-03-02 in UTC
    measured = measure(frame(rows), Settings(timezone="Asia/Kolkata"))
    assert measured.select("weekday", "hour").rows() == [(1, 5), (2, 4)]
    assert measure(frame([request() | {"started_ns": None}])).select("weekday", "hour").rows() == [(None, None)]


def test_cache_state_is_unknown_where_the_cached_part_is() -> None:
    rows = [request(cached_input_tokens=n) for n in (0, 5, None)]
    assert measure(frame(rows)).get_column("cache_state").to_list() == ["miss", "hit", None]


def test_a_row_of_a_sample_stands_for_many() -> None:
    rows = [request(sampling_rate=rate) for rate in (1.0, 0.05, None)]
    assert measure(frame(rows)).get_column("weight").to_list() == [1.0, 20.0, 1.0]


def test_status_flags_follow_policy() -> None:
    classes = ("ok", "truncated", "error", "timeout", "shed", "rejected", "cancelled", "open")
    rows = frame(request(i, status=name) for i, name in enumerate(classes))

    def flags(policy: Policy) -> dict[str, tuple[bool, bool]]:
        measured = measure(rows, Settings(policy=policy))
        return {
            name: (failed, valid)
            for name, failed, valid in measured.select("status_class", "is_failed", "is_valid").rows()
        }

    assert flags(Policy()) == {
        "ok": (False, True),
        "truncated": (True, True),
        "error": (True, True),
        "timeout": (True, True),
        "shed": (True, True),
        "rejected": (False, False),
        "cancelled": (False, False),
        "open": (False, False),
    }
    strict = flags(Policy(on_caller_fault="bad", on_client_cancel="bad", on_open="bad", on_shed="excluded"))
    assert [name for name, (failed, _) in strict.items() if failed] == [
        "truncated",
        "error",
        "timeout",
        "rejected",
        "cancelled",
        "open",
    ]
    assert [name for name, (_, valid) in strict.items() if not valid] == ["shed"]


def test_missing_columns_are_unknown_figures() -> None:
    bare = frame([request(ttft_ms=5)]).select("request_key", "status_class", "ttft_ns", "started_ns", "sampling_rate")
    row = measure(bare).row(0, named=True)
    assert (row["ttft"], row["e2e"], row["cost"], row["queue"]) == (0.005, None, None, None)
