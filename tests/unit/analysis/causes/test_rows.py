"""Request rows as the method reads them."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.causes.rows import prepare, thinned
from analysis.causes.settings import CauseSettings
from analysis.metrics.measure import measure
from tests.support.builders import MONDAY_NS, frame, request


def test_the_clock_counts_from_the_first_request_and_rows_are_in_its_order() -> None:
    rows = prepare(measure(frame([request(2, at_s=90.0, ttft_ms=100.0), request(1, at_s=30.0, ttft_ms=100.0)])))
    assert rows.frame.select("request_key", "at").rows() == [("r-000001", 0.0), ("r-000002", 60.0)]
    assert rows.start_ns == MONDAY_NS + 30 * 10**9


def test_requests_without_a_start_are_left_out() -> None:
    rows = prepare(measure(frame([request(1), request(2) | {"started_ns": None}])))
    assert rows.frame.height == 1


def test_columns_that_no_request_carries_are_absent() -> None:
    rows = prepare(measure(frame([request(1, queue_ms=5.0, replica="a"), request(2)])))
    assert rows.has("replica", "queue_ns")
    assert rows.missing("replica", "batch_size", "region") == ["batch_size", "region"]
    assert rows.lacks("no_column_of_ours")


def test_a_batch_of_zero_everywhere_was_not_measured() -> None:
    rows = prepare(measure(frame([request(1, batch_size=0.0), request(2, batch_size=0.0)])))
    assert not rows.has("batch_size")
    assert rows.batch_basis is None


def test_the_pool_is_model_and_region_as_far_as_they_are_known() -> None:
    both = prepare(measure(frame([request(1, model="m", region="r")])))
    model = prepare(measure(frame([request(1, model="m")])))
    neither = prepare(measure(frame([request(1)])))
    assert [rows.frame["pool"].cast(str)[0] for rows in (both, model, neither)] == ["m|r", "m", "all"]


def test_uncached_tokens_are_all_of_the_input_where_the_cache_is_not_known() -> None:
    known = prepare(measure(frame([request(1, input_tokens=100, cached_input_tokens=40)])))
    unknown = prepare(measure(frame([request(1, input_tokens=100)])))
    assert (known.frame["uncached"][0], unknown.frame["uncached"][0]) == (60.0, 100.0)


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_the_sampling_rate_is_that_of_the_rows(rate: float) -> None:
    assert prepare(measure(frame([request(1) | {"sampling_rate": rate}]))).sampling_rate == rate


def test_promoted_attributes_are_dimensions_too() -> None:
    rows = prepare(measure(frame([request(1) | {"dimensions": '{"team": "search"}'}])))
    assert "team" in rows.dimensions
    assert rows.frame["team"].cast(str).to_list() == ["search"]


def test_of_very_many_requests_one_in_so_many_is_taken_and_the_rate_says_so() -> None:
    whole = measure(frame([request(at, sampling_rate=0.5) for at in range(200)]))
    settings = CauseSettings(max_rows=50, min_bad=10)
    taken, one_in = thinned(whole, 40, settings)
    again, _ = thinned(whole.reverse(), 40, settings)
    assert one_in == 4
    assert 25 < taken.height < 80
    assert taken["sampling_rate"].unique().to_list() == [0.125]
    assert again["request_key"].sort().to_list() == taken["request_key"].sort().to_list()


@pytest.mark.parametrize(("fewest_bad", "one_in"), [(39, 3), (19, 1), (0, 1)])
def test_a_sample_keeps_enough_bad_requests_of_every_objective(fewest_bad: int, one_in: int) -> None:
    whole = measure(frame([request(at) for at in range(200)]))
    assert thinned(whole, fewest_bad, CauseSettings(max_rows=50, min_bad=10))[1] == one_in


def test_the_batch_that_nobody_measured_is_counted_over_all_requests_before_some_are_taken() -> None:
    whole = measure(frame([request(at, at_s=at / 10, ttft_ms=100.0, e2e_ms=5000.0, replica="a") for at in range(200)]))
    taken, one_in = thinned(whole, 100, CauseSettings(max_rows=100, min_bad=10))
    found, expected = (prepare(rows).frame.select("request_key", "batch_size") for rows in (taken, whole))
    assert one_in == 2
    assert prepare(taken).batch_basis == "counted"
    assert not prepare(taken).has("batch_size")
    assert found.rows() == expected.filter(pl.col("request_key").is_in(found["request_key"].to_list())).rows()
