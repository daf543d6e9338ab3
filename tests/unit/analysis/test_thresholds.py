"""Limits: constants, tables by input length, lines in the tokens."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from analysis.errors import ObjectivesError
from analysis.metrics.catalog import BY_ID
from analysis.thresholds import read_threshold

TTFT = BY_ID["ttft"]


Lengths = tuple[int | None, int | None, int | None]


def limits(value: object, rows: Sequence[Lengths], metric: str = "ttft") -> list[float | None]:
    types = {"input_tokens": pl.Int64, "cached_input_tokens": pl.Int64, "output_tokens": pl.Int64}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    threshold = read_threshold(value, BY_ID[metric])
    return frame.with_columns(threshold.limit().alias("limit")).get_column("limit").to_list()


def test_a_constant_is_the_same_for_all() -> None:
    assert limits("2100ms", [(1, 0, 1)]) == [2.1]
    assert limits("0.0039 USD", [(1, 0, 1)], "cost") == [0.0039]
    assert limits("1%", [(1, 0, 1)], "error_rate") == [0.01]
    assert limits("12", [(1, 0, 1)], "requests_per_second") == [12.0]


def test_a_table_holds_its_lower_edges_and_falls_back_to_else() -> None:
    table = {"<2k": "800ms", "2k-8k": "2s", "else": "500ms + 0.5ms/token"}
    rows = [(2047, 0, 1), (2048, 0, 1), (8191, 0, 1), (8192, 0, 1), (10_000, 2000, 1), (None, None, 1)]
    assert limits(table, rows) == [0.8, 2.0, 2.0, 4.596, 4.5, None]


def test_a_line_counts_uncached_input_and_all_of_it_where_the_cache_is_unknown() -> None:
    assert limits("500ms + 0.4ms/token", [(1000, 400, 1), (1000, None, 1), (None, 0, 1)]) == pytest.approx(
        [0.74, 0.9, None]
    )
    assert limits("1s + 10ms/output_token", [(1000, 400, 50)], "e2e") == [1.5]
    assert limits("1s+10ms/output_token", [(1000, 400, 50)], "e2e") == [1.5]
    assert limits("1s + 1ms/input_token", [(1000, 400, 50)]) == [2.0]


def test_a_request_outside_all_bands_has_no_limit() -> None:
    threshold = read_threshold({"<2k": "800ms"}, TTFT)
    frame = pl.DataFrame({"input_tokens": [10, 4000, None]})
    assert frame.select(threshold.limit()).to_series().to_list() == [0.8, None, None]
    assert frame.select(threshold.has_limit()).to_series().to_list() == [True, False, None]


def test_the_text_of_the_user_is_kept() -> None:
    assert read_threshold({"<2k": "800ms", "else": "2s"}, TTFT).text == "<2k: 800ms; else: 2s"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("500", "500 has no unit. Write 500ms or 0.5s"),
        ("1 USD", "1 USD is no duration. Write 500ms, 0.5s, 4h or 28d"),
        ({"2-1": "1s"}, 'band "2-1" is empty'),
        ({"short": "1s"}, '"short" is no band of input length. Write <2k, 2k-8k, >=8k or else'),
        ({"<2k": "1s", "1k-4k": "2s"}, "two bands of the threshold table overlap"),
        ({"else": "1s"}, "a threshold table needs at least one band such as <2k"),
        ("1ms/token + 2ms/token", "has two parts per token"),
    ],
)
def test_what_is_no_limit_is_refused_with_a_remedy(value: object, message: str) -> None:
    with pytest.raises(ObjectivesError) as raised:
        read_threshold(value, TTFT)
    assert message in raised.value.message
