"""Figures of groups, and of an empty frame."""

from __future__ import annotations

from fractions import Fraction

import pytest

from analysis.aggregates.figures import (
    Figure,
    figure,
    mean_figures,
    percentile_figures,
    ratio_figures,
    sum_figures,
    volume_sums,
)
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import frame, request

ROWS = measure(
    frame(
        request(i, e2e_ms=1000 * (i % 5 + 1), model="a" if i < 60 else "b", status="error" if i == 0 else "ok")
        for i in range(100)
    )
)


def test_percentiles_per_group_carry_their_intervals() -> None:
    table = percentile_figures(ROWS, BY_ID["e2e"], Fraction(1, 2), ["model"])
    assert table.rows() == [("a", 59, 3.0, 2.0, 4.0), ("b", 40, 3.0, 2.0, 4.0)]


def test_means_take_answers_and_sums_take_all() -> None:
    mean = figure(mean_figures(ROWS, BY_ID["e2e"], ()))
    assert (mean.n, mean.value) == (99, 299 / 99)
    assert mean.interval == pytest.approx((299 / 99 - 0.2785, 299 / 99 + 0.2785), abs=1e-4)
    assert figure(sum_figures(ROWS, BY_ID["e2e"], ())) == Figure(100, 300.0, None)


def test_no_rows_no_figure() -> None:
    none = ROWS.clear()
    assert [
        figure(percentile_figures(none, BY_ID["e2e"], Fraction(1, 2), ())),
        figure(mean_figures(none, BY_ID["e2e"], ())),
        figure(sum_figures(none, BY_ID["e2e"], ())),
        figure(ratio_figures(none, BY_ID["error_rate"], ())),
        figure(volume_sums(none, BY_ID["requests_per_second"], ())),
    ] == [Figure(0, None, None)] * 5


def test_a_metric_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="ttft is no ratio"):
        ratio_figures(ROWS, BY_ID["ttft"], ())
    with pytest.raises(ValueError, match="mfu is no volume"):
        volume_sums(ROWS, BY_ID["mfu"], ())
