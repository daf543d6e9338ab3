"""Logarithmic buckets: order is kept, and what stands for a bucket is near to all of it."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from analysis.rollups.buckets import ERROR, bucket_of, percentile, value_of


def buckets(*values: float | None) -> list[int | None]:
    return (
        pl.DataFrame({"x": values}, schema={"x": pl.Float64()}).select(bucket_of(pl.col("x")).alias("b"))["b"].to_list()
    )


def test_zero_and_unknown_values_have_buckets_of_their_own() -> None:
    assert buckets(0.0, None, float("nan"), float("inf")) == [0, None, None, None]
    assert value_of(0) == 0.0


def test_buckets_rise_with_the_value_across_zero_and_all_sizes() -> None:
    values = [-1e9, -2.0, -1.0, -1e-12, -5e-324, 0.0, 5e-324, 1e-12, 0.98, 1.0, 1.03, 2.0, 1e9, 1e300]
    found = [bucket for bucket in buckets(*values) if bucket is not None]
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert [value_of(bucket) < 0 for bucket in found] == [value < 0 for value in values]


@pytest.mark.parametrize("value", [1e-9, 0.0999999, 0.1, 0.5, 1.0, 1.0000001, 59.999, 86_400.0, 1e12])
def test_the_value_of_a_bucket_is_within_one_percent(value: float) -> None:
    (bucket,) = buckets(value)
    assert bucket is not None
    assert abs(value_of(bucket) - value) <= ERROR * value


def test_a_percentile_is_that_of_the_rank_and_counts_of_parts_are_added() -> None:
    counts = pl.DataFrame({"bucket": [50_000, 50_010, 50_000], "n": [94, 5, 1]})
    assert percentile(counts, Fraction(95, 100)) == value_of(50_000)
    assert percentile(counts, Fraction(96, 100)) == value_of(50_010)
    assert percentile(counts.clear(), Fraction(1, 2)) is None
