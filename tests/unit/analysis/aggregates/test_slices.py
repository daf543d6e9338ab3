"""The same work on both sides."""

from __future__ import annotations

from fractions import Fraction

import polars as pl

from analysis.aggregates.slices import STRATUM, at_mix_of, slice_changes, stratum
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def side(short_ms: float, long_ms: float, short: int, long: int) -> pl.DataFrame:
    rows = [request(i, ttft_ms=short_ms + i, tpot_ms=1, model="m", scenario="chat") for i in range(short)]
    rows += [
        request(9000 + i, ttft_ms=long_ms + i, tpot_ms=1, model="m", scenario="chat", input_tokens=9000)
        for i in range(long)
    ]
    return measure(frame(rows)).with_columns(stratum())


def test_a_stratum_is_model_scenario_and_lengths() -> None:
    assert side(1, 1, 1, 1).get_column(STRATUM).to_list() == ["m / chat / <512 / <64", "m / chat / 8k-32k / <64"]


def test_only_the_slice_that_changed_is_marked() -> None:
    found = slice_changes(side(100, 1000, 50, 40), side(100, 2000, 50, 40))
    marked = {(one.metric, one.stratum): one.changed for one in found}
    assert marked["ttft", "m / chat / 8k-32k / <64"] is True
    assert marked["ttft", "m / chat / <512 / <64"] is False
    first = found[0]
    assert (first.stratum, first.n, first.n_baseline) == ("m / chat / 8k-32k / <64", 40, 40)


def test_small_slices_are_left_out() -> None:
    assert {one.stratum for one in slice_changes(side(1, 1, 29, 40), side(1, 1, 40, 40))} == {"m / chat / 8k-32k / <64"}


def test_a_percentile_at_the_mix_of_the_other_side_ignores_the_shift_of_work() -> None:
    before, after = side(100, 1000, 90, 10), side(100, 1000, 10, 90)
    ttft, median = BY_ID["ttft"], Fraction(1, 2)
    assert at_mix_of(after, before, ttft, median) == 0.105  # 90 % short again: rank 5.6 of the ten short ones
    assert at_mix_of(before, before, ttft, median) == 0.149
    assert at_mix_of(before, before.clear(), ttft, median) is None
