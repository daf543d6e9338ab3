"""Texts of the values of attributes of protobuf spans, told as OTLP JSON tells them.

Input: bytes of spans, places of values. Output: a column of texts. Bytes that are not UTF-8 become replacement
characters, for an exporter that cuts a prompt in the middle of a character has told the rest of the message well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ingest.formats import otlp_wire as wire
from ingest.formats.byte_slices import Texts, slices
from ingest.formats.otlp_kernel import Kernel
from ingest.formats.otlp_library import text_of
from ingest.formats.otlp_wire import Data, Ints

# a double between these is written alike by everyone; beyond, the exponent is not
_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16
_NOTHING: Ints = np.zeros(0, np.int64)


def texts_of_values(
    kernel: Kernel, data: Data, told: dict[int, tuple[Ints, Ints, Ints]], odd: Ints, others: list[str]
) -> pl.Series:
    """Texts of the values of all attributes.

    Args:
        told: kind -> where among them attributes of it are, and their places and sizes, as of otlp_alike.Attributes.
        odd: where those are of which `others` are the texts.
    """
    nothing = (_NOTHING, _NOTHING, _NOTHING)
    strings, whole, real, flags = (told.get(k, nothing) for k in (wire.STRING, wire.INT, wire.DOUBLE, wire.BOOL))
    at, starts, sizes = _in_order(*strings)
    texts = Texts(sum(map(len, (at, whole[0], real[0], flags[0], odd))), data.bytes)
    views = kernel.views(data.bytes, starts, sizes)
    told_texts = slices(data.bytes, views)
    if _is_text(told_texts):
        texts.put_views(at, views)
    else:
        texts.put(at, decoded(told_texts))
    if len(whole[0]):
        texts.put(whole[0], pl.Series(whole[2]).cast(pl.String))
    if len(real[0]):
        texts.put(real[0], _figures(data.doubles(real[1])))
    if len(flags[0]):
        texts.put(flags[0], pl.Series(["false", "true"]).gather(pl.Series(data.word(flags[1]) & 1)))
    if len(odd):
        texts.put(odd, pl.Series(others, dtype=pl.String))
    return texts.column()


def decoded(texts: pl.Series) -> pl.Series:
    """Bytes as text."""
    try:
        return texts.cast(pl.String)
    except pl.exceptions.ComputeError:  # some of them are not UTF-8
        return pl.Series(texts.name, list(map(text_of, texts)), dtype=pl.String)


def _is_text(texts: pl.Series) -> bool:
    """Whether all of them are UTF-8."""
    try:
        texts.cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return True


def _in_order(at: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The same in the order in which they lie in memory, which is several times faster to read."""
    if (at[1:] > at[:-1]).all():
        return at, starts, sizes
    n = int(at.max(initial=-1)) + 1
    start, size = np.full(n, -1), np.zeros(n, np.int64)
    start[at], size[at] = starts, sizes
    at = np.flatnonzero(start >= 0)
    return at, start[at], size[at]


def _figures(numbers: Any) -> pl.Series:
    size = np.abs(numbers)
    texts = pl.Series(numbers).cast(pl.String)
    odd = np.flatnonzero(~((size >= _PLAIN_FROM) & (size < _PLAIN_BELOW) | (size == 0)))
    return texts.scatter(pl.Series(odd), list(map(repr, numbers[odd].tolist()))) if len(odd) else texts
