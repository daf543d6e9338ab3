"""Slices of bytes as a column: every length around those that stand in the column itself; the bytes live as long as it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from ingest.formats import byte_slices
from ingest.formats.byte_slices import BLOCK, INLINE, MARGIN, Texts, lists, slices, views_of
from ingest.formats.otlp_compiled import views_of as compiled_views_of
from ingest.formats.otlp_wire import Ints

Views = Callable[[bytes, Ints, Ints], Ints]


@pytest.fixture(params=[views_of, compiled_views_of], ids=["arrays", "compiled"])
def views(request: pytest.FixtureRequest) -> Views:
    found: Views = request.param
    return found


def test_slices_of_every_length_are_the_bytes(views: Views) -> None:
    data = os.urandom(4_000) + bytes(MARGIN)
    sizes = np.array([*range(3 * INLINE), 0, 255, 4_000])
    starts = np.array([*(7 * i for i in range(3 * INLINE)), 4_000, 3_745, 0])
    expected = [data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    assert slices(data, views(data, starts, sizes)).to_list() == expected


def test_there_may_be_none_and_more_than_are_looked_at_at_once(views: Views) -> None:
    nothing = np.zeros(0, np.int64)
    assert slices(bytes(MARGIN), views(bytes(MARGIN), nothing, nothing)).to_list() == []
    starts = np.arange(BLOCK + 3)
    data = np.arange(BLOCK + 3).astype(np.uint8).tobytes() + bytes(MARGIN)
    assert slices(data, views(data, starts, np.ones_like(starts))).to_list() == [
        data[i : i + 1] for i in range(BLOCK + 3)
    ]


def test_the_bytes_are_let_go_with_the_column() -> None:
    before = len(byte_slices._held)
    data = b"a text that is longer than twelve bytes" + bytes(MARGIN)
    column = slices(data, views_of(data, np.array([2]), np.array([30])))
    part = column.head(1).cast(pl.Binary)
    del column
    gc.collect()
    assert len(byte_slices._held) > before
    assert part.to_list() == [b"text that is longer than twelv"]
    del part
    gc.collect()
    assert len(byte_slices._held) == before


def test_texts_that_come_in_parts_are_one_column_in_their_order() -> None:
    data = "ab\u00e9 a text of more than twelve bytes".encode() + bytes(MARGIN)
    size = len(data) - MARGIN
    texts = Texts(7, data)
    texts.put_views(np.array([0, 5]), views_of(data, np.array([0, 4]), np.array([4, size - 4])))
    texts.put(np.array([6, 1]), pl.Series(["the last, which is longer than twelve bytes", "one"]))
    texts.put(np.array([4, 2, 3]), pl.Series(["no", "two " * 9, "three \u2603" * 9, ""]).slice(1))
    expected = ["ab\u00e9", "one", "three \u2603" * 9, "", "two " * 9, " a text of more than twelve bytes"]
    assert texts.column().to_list() == [*expected, "the last, which is longer than twelve bytes"]


def test_values_are_put_in_lists_and_let_go_with_them() -> None:
    gc.collect()
    before = len(byte_slices._held)
    values = pl.Series("vals", [f"value {i} of some length" for i in range(6)])
    column = lists(values, np.array([0, 2, 0, 3, 1, 0]))
    told = values.to_list()
    assert column.to_list() == [[], told[:2], [], told[2:5], told[5:], []]
    assert (column.name, column.dtype) == ("vals", pl.List(pl.String()))
    part = column.slice(3, 1)
    del column, values
    gc.collect()
    assert (part.to_list(), len(byte_slices._held)) == ([told[2:5]], before + 1)
    del part
    gc.collect()
    assert len(byte_slices._held) == before
    assert lists(pl.Series("vals", [], dtype=pl.String()), np.zeros(2, np.int64)).to_list() == [[], []]
