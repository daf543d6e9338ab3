"""Slices of bytes as a column: every length around those that stand in the column itself; the bytes live as long as it."""

from __future__ import annotations

import gc
import os

import numpy as np
import polars as pl

from ingest.formats import byte_slices
from ingest.formats.byte_slices import BLOCK, INLINE, MARGIN, slices


def test_slices_of_every_length_are_the_bytes() -> None:
    data = os.urandom(4_000) + bytes(MARGIN)
    sizes = np.array([*range(3 * INLINE), 0, 255, 4_000])
    starts = np.array([*(7 * i for i in range(3 * INLINE)), 4_000, 3_745, 0])
    expected = [data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    assert slices(data, starts, sizes).to_list() == expected


def test_there_may_be_none_and_more_than_are_looked_at_at_once() -> None:
    nothing = np.zeros(0, np.int64)
    assert slices(bytes(MARGIN), nothing, nothing).to_list() == []
    starts = np.arange(BLOCK + 3)
    data = np.arange(BLOCK + 3).astype(np.uint8).tobytes() + bytes(MARGIN)
    assert slices(data, starts, np.ones_like(starts)).to_list() == [data[i : i + 1] for i in range(BLOCK + 3)]


def test_the_bytes_are_let_go_with_the_column() -> None:
    before = len(byte_slices._held)
    column = slices(b"a text that is longer than twelve bytes" + bytes(MARGIN), np.array([2]), np.array([30]))
    part = column.head(1).cast(pl.Binary)
    del column
    gc.collect()
    assert len(byte_slices._held) > before
    assert part.to_list() == [b"text that is longer than twelv"]
    del part
    gc.collect()
    assert len(byte_slices._held) == before
