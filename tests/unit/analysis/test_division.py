"""Division by a constant is rounded once, as the reciprocal of a scalar would not be."""

from __future__ import annotations

import polars as pl

from analysis.division import divided


def test_a_limit_in_milliseconds_is_met_by_as_many_nanoseconds() -> None:
    ns = pl.DataFrame({"ns": [300_000_000, 700_000_000, 128_459_000, None]})
    assert ns.select(divided(pl.col("ns"), 1e9)).to_series().to_list() == [0.3, 0.7, 0.128459, None]


def test_one_row_is_divided_like_many() -> None:
    for value in (300_000_000, 128_459_000, 1, 999_999_999_999):
        one = pl.DataFrame({"ns": [value]}).select(divided(pl.col("ns"), 1e9)).item()
        assert one == value / 1e9
