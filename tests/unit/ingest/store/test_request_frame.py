"""The order of requests, and numbers that are held once."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from ingest.store.request_frame import held_once, order_of


def frame(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"request_key": ["b", "a", "c"], **columns})


@pytest.mark.parametrize(
    ("started", "places"),
    [
        ([2, 1, 3], [1, 0, 2]),
        ([1, 1, 0], [2, 1, 0]),
        ([None, None, 5], [2, 1, 0]),
        ([1, 2, 3], None),
        ([1, 2, None], None),
    ],
)
def test_requests_stand_by_arrival_then_key_and_those_without_a_clock_last(
    started: list[int | None], places: list[int] | None
) -> None:
    found = order_of(frame(started_ns=started))
    assert (None if found is None else found.to_list()) == places


@pytest.mark.parametrize(
    ("values", "alike"), [([0.5, 0.5, 0.5], True), ([1, 1, 2], False), ([1, 1, None], False), (["x", "x", "x"], False)]
)
def test_a_number_that_is_the_same_in_all_rows_is_a_literal(values: list[Any], alike: bool) -> None:
    rows = frame(told=values)
    expr = held_once(rows, "told")
    assert (expr.meta.root_names() == []) is alike
    assert rows.select("request_key", expr).get_column("told").to_list() == values
    assert rows.select("request_key", expr).schema["told"] == rows.schema["told"]
