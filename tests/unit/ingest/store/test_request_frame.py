"""The order of requests, and numbers that are held once."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from ingest.selection import Selection
from ingest.store.database import Store
from ingest.store.request_frame import held_once, order_of, taken


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


def requests(n: int) -> pl.DataFrame:
    said = {"upload_id": "u", "source": "s", "status_class": "ok", "sampling_rate": 1.0, "n_call_rows": 0}
    keys = [f"r-{number:04d}" for number in range(n)]
    return pl.DataFrame({"request_key": keys, "started_ns": range(n), **{k: [v] * n for k, v in said.items()}})


def test_one_request_in_so_many_is_the_same_however_it_is_read() -> None:
    rows = requests(1000)
    with Store.open() as store:
        store.append("requests", rows)
        chosen = rows.filter(taken(4))["request_key"].to_list()
        read = store.requests(Selection(), ["request_key", "started_ns"], one_in=4)
        late = store.requests(Selection(start_ns=500), ["request_key", "started_ns", "model"], one_in=4)
        assert store.n_requests(Selection(start_ns=500)) == 500
    assert 200 < len(chosen) < 300
    assert read["request_key"].to_list() == chosen
    assert late["request_key"].to_list() == [key for key in chosen if key >= "r-0500"]
    assert late.columns == ["request_key", "model", "started_ns"]


def test_parts_leave_out_columns_without_a_value() -> None:
    with Store.open() as store:
        (nothing,) = store.request_parts(Selection(), ["request_key", "started_ns", "model"])
        store.append("requests", requests(1).with_columns(model=pl.lit("m")))
        (one,) = store.request_parts(Selection(), ["request_key", "started_ns", "model", "region"], coded=["model"])
    assert (nothing.columns, nothing.height) == (["request_key", "started_ns"], 0)
    assert dict(one.schema) == {"request_key": pl.String, "model": pl.Categorical(), "started_ns": pl.Int64}
