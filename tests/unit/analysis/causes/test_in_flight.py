"""Sequences in flight, counted from starts and ends."""

from __future__ import annotations

import polars as pl

from analysis.causes.in_flight import counted_batch


def rows(*spans: tuple[float, float, float, str | None]) -> pl.DataFrame:
    """(arrival, time to first token, decode, replica); half of the first token's time is queue, half prefill."""
    return pl.DataFrame(
        [
            {
                "at": at, "m_ttft": first, "t_queue": first / 2, "t_prefill": first / 2, "t_before_first_token": None,
                "t_decode": decode, "t_after_first_token": None, "replica": replica,
            }
            for at, first, decode, replica in spans
        ],
        schema_overrides={"t_before_first_token": pl.Float64, "t_after_first_token": pl.Float64, "replica": pl.String},
    )  # fmt: skip


def test_a_request_alone_is_a_batch_of_one() -> None:
    assert counted_batch(rows((0.0, 1.0, 5.0, "a"))).to_list() == [1.0]


def test_requests_that_overlap_on_one_replica_count_each_other() -> None:
    found = counted_batch(rows((0.0, 1.0, 5.0, "a"), (1.0, 1.0, 5.0, "a"), (2.0, 1.0, 5.0, "a"), (20.0, 1.0, 5.0, "a")))
    assert found.to_list() == [1.0, 2.0, 3.0, 1.0]


def test_requests_on_another_replica_do_not_count() -> None:
    assert counted_batch(rows((0.0, 1.0, 5.0, "a"), (0.5, 1.0, 5.0, "b"))).to_list() == [1.0, 1.0]


def test_a_request_that_still_waits_is_not_in_the_batch() -> None:
    assert counted_batch(rows((0.0, 1.0, 1.0, "a"), (0.5, 10.0, 1.0, "a"))).to_list() == [1.0, 1.0]


def test_without_a_replica_nothing_is_counted() -> None:
    assert counted_batch(rows((0.0, 1.0, 5.0, None), (0.0, 1.0, 5.0, "a"))).to_list() == [None, 1.0]


def test_answers_that_only_a_clients_clock_timed_count_as_long() -> None:
    seen = rows((0.0, 1.0, 5.0, "a"), (1.0, 1.0, 5.0, "a"), (20.0, 1.0, 5.0, "a"))
    unknown = pl.lit(None, dtype=pl.Float64)
    halves = pl.col("t_decode").alias("t_after_first_token"), pl.col("m_ttft").alias("t_before_first_token")
    clocked = seen.with_columns(*halves)
    clocked = clocked.with_columns(t_decode=unknown, t_queue=unknown, t_prefill=unknown)
    assert counted_batch(clocked).to_list() == counted_batch(seen).to_list() == [1.0, 2.0, 1.0]
