"""Sums that become volumes once divided by seconds."""

from __future__ import annotations

import polars as pl

from analysis.aggregates.figures import figure, volume_sums
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def test_volumes_are_divided_by_the_sampling_rate() -> None:
    rows = measure(frame(request(i, output_tokens=10, sampling_rate=0.5) for i in range(3)))
    rows = rows.with_columns(pl.Series("is_good", [True, True, False]))
    assert {name: figure(volume_sums(rows, BY_ID[name], ())).value for name in
            ("requests_per_second", "tokens_per_second", "goodput", "goodput_tokens_per_second")} == {
        "requests_per_second": 6.0,
        "tokens_per_second": 60.0,
        "goodput": 4.0,
        "goodput_tokens_per_second": 40.0,
    }  # fmt: skip


def test_requests_without_token_counts_add_nothing_to_tokens() -> None:
    rows = measure(frame([request(1, output_tokens=7), request(2, output_tokens=None)]))
    assert figure(volume_sums(rows, BY_ID["tokens_per_second"], ())).value == 7.0
