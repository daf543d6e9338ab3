"""Slices of some bytes as a column, without a copy: a slice above twelve bytes is told by its place.

Input: bytes, places and sizes. Output: a Polars series of Binary that keeps the bytes.
Source: Arrow columnar format, variable-size binary view; Arrow C data interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

INLINE = 12  # bytes of a slice that stand in the column itself
BLOCK = 1 << 13  # slices that are looked at at once: their arrays stay in the cache of a core
MARGIN = 16  # bytes behind the last slice that are read, and not told

_Ints = npt.NDArray[np.int64]
_FIRST, _SECOND = (  # masks of the bytes of a slice by its size: its first four, the eight behind them
    np.array([(1 << 8 * min(max(size - at, 0), n)) - 1 for size in range(INLINE + 1)], np.uint64).view(np.int64)
    for at, n in ((0, 4), (4, 8))
)
_BINARY, _TEXT, _LISTS = b"vz", b"vu", b"+L"  # views of bytes, views of texts, lists with ends of 64 bits
_WORDS = np.dtype("c16")  # a view as one thing, of which many are put at once
_ZERO = np.zeros(1, np.int64)
_held: dict[int, tuple[Any, ...]] = {}  # what Arrow arrays that are not yet released point to
_numbers = count(1)


class _Schema(ctypes.Structure):
    _fields_: ClassVar[list[Any]] = [
        *(("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p)),
        *(("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p)),
        *(("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)),
    ]


class _Array(ctypes.Structure):
    _fields_: ClassVar[list[Any]] = [
        *(("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64)),
        *(("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p)),
        *(("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    ]


def _release(told: Any) -> None:
    """Lets go of an array and of those within it, which a reader is through with."""
    child = _held.pop(told.contents.private_data)[0]
    if child is not None:
        _let_go(child)
    told.contents.release = None


def _let_go(told: Any) -> None:
    """Calls the release of a schema or array that another library made."""
    if told.release:
        ctypes.CFUNCTYPE(None, ctypes.POINTER(type(told)))(told.release)(ctypes.byref(told))


_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))(_release)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def slices(data: bytes, views: _Ints) -> pl.Series:
    """The bytes at some places, (n,) in their order.

    Args:
        data: below 2 GiB.
        views: of the same data, as of `views_of`.
    """
    return pl.Series(_Views(views, [np.frombuffer(data, np.uint8)], _BINARY))


class Texts:
    """A column of texts that come in parts, each for some of its rows.

    Args:
        n: rows; each is told once.
        data: bytes that views of parts may point to.
    """

    def __init__(self, n: int, data: bytes) -> None:
        self._views = np.empty((n, 2), np.int64)
        self._words = self._views.view(_WORDS)[:, 0]
        self._buffers: list[npt.NDArray[Any]] = [np.frombuffer(data, np.uint8)]

    def put_views(self, at: _Ints, views: _Ints) -> None:
        """Texts that stand in the data, as UTF-8."""
        self._words[at] = views.view(_WORDS)[:, 0]

    def put(self, at: _Ints, texts: pl.Series) -> None:
        """Texts of a column."""
        views, buffers = _parts_of(texts.rechunk())
        views[:, 1] += (views[:, 0] & 0xFFFFFFFF > INLINE) * len(self._buffers)
        self._words[at] = views.view(_WORDS)[:, 0]
        self._buffers += buffers

    def column(self) -> pl.Series:
        """All of them, (n,)."""
        return pl.Series(_Views(self._views, self._buffers, _TEXT))


def views_of(data: bytes, starts: _Ints, sizes: _Ints) -> _Ints:
    """Views of the bytes at each of these places, (n, 2) words.

    Args:
        data: with MARGIN bytes behind the last slice.
    """
    words: npt.NDArray[Any] = np.ndarray(
        (len(data) - 7,), "V8", data, strides=(1,)
    )  # untyped gathers are twice as fast
    views = np.empty((len(starts), 2), np.int64)
    for at in range(0, len(starts), BLOCK):
        start, size = starts[at : at + BLOCK], sizes[at : at + BLOCK]
        first = words[start].view("<i8")
        first <<= 32
        second = start << 32  # place in the first of its buffers
        short = np.flatnonzero(size <= INLINE)
        if len(short):
            few = size[short]
            first[short] &= _FIRST[few] << 32
            second[short] = words[start[short] + 4].view("<i8") & _SECOND[few]
        first |= size
        views[at : at + BLOCK, 0], views[at : at + BLOCK, 1] = first, second
    return views


def lists(values: pl.Series, counts: _Ints) -> pl.Series:
    """The values in their order as lists of so many each, (len(counts),)."""
    with closing(_Lists(values.rechunk(), counts)) as told:
        return pl.Series(told).alias(values.name)


class _Stream(ctypes.Structure):
    _fields_: ClassVar[list[Any]] = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Schema))),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Array))),
        *(("get_last_error", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)),
    ]


def _capsules(schema: _Schema, array: _Array, child: _Array | None, *holds: object) -> tuple[object, object]:
    """Schema and array as a reader takes them over; what the array points to is held until it is released."""
    array.release, array.private_data = ctypes.cast(_RELEASE, ctypes.c_void_p), next(_numbers)
    _held[array.private_data] = (child, array, *holds)
    return (
        _capsule(ctypes.addressof(schema), b"arrow_schema", None),
        _capsule(ctypes.addressof(array), b"arrow_array", None),
    )


class _Views:
    """An Arrow array of views into some buffers, for one reader."""

    def __init__(self, views: _Ints, buffers: Sequence[npt.NDArray[np.uint8]], form: bytes) -> None:
        self._views, self._buffers = views, buffers
        self._schema = _Schema(format=form, name=b"")  # readers look at it, and leave it to its owner

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Schema and array, which the reader takes over."""
        lengths = np.array([len(buffer) for buffer in self._buffers], np.int64)
        parts: tuple[npt.NDArray[Any], ...] = (self._views, *self._buffers, lengths)
        places = [None, *(part.ctypes.data for part in parts)]
        buffers = (ctypes.c_void_p * len(places))(*places)
        array = _Array(length=len(self._views), n_buffers=len(places), buffers=ctypes.addressof(buffers))
        return _capsules(self._schema, array, None, buffers, self._views, self._buffers, lengths)


def _exported(values: pl.Series, schema: _Schema) -> _Array:
    """The column in one chunk, as its library hands it over; the schema is given back by `_let_go`, the array likewise."""
    capsule = values.__arrow_c_stream__()
    stream = ctypes.cast(_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream))
    array = _Array()
    if stream.contents.get_schema(stream, schema) or stream.contents.get_next(stream, array):
        raise MemoryError("a column could not be handed over")
    return array


def _parts_of(texts: pl.Series) -> tuple[_Ints, list[npt.NDArray[np.uint8]]]:
    """Views of the texts of a column in one chunk, and the bytes that they point to."""
    schema = _Schema()
    array = _exported(texts, schema)
    try:
        places = ctypes.cast(array.buffers, ctypes.POINTER(ctypes.c_void_p * array.n_buffers)).contents
        n_buffers = array.n_buffers - 3  # validity, views, lengths
        lengths = _copied(places[array.n_buffers - 1], 8 * n_buffers).view(np.int64)
        buffers = [_copied(places[2 + i], int(lengths[i])) for i in range(n_buffers)]
        return _copied(places[1] + 16 * array.offset, 16 * len(texts)).view(np.int64).reshape(-1, 2), buffers
    finally:
        _let_go(array)
        _let_go(schema)


def _copied(place: int | None, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(ctypes.string_at(place, size) if place and size else b"", np.uint8).copy()


class _Lists:
    """An Arrow array of lists of the values, for one reader."""

    def __init__(self, values: pl.Series, counts: _Ints) -> None:
        self._values, self._of_values = values, _Schema()
        self._ends = np.concatenate([_ZERO, np.cumsum(counts)])

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Schema and array, which the reader takes over."""
        child = _exported(self._values, self._of_values)
        schemas, arrays = ((ctypes.c_void_p * 1)(ctypes.addressof(told)) for told in (self._of_values, child))
        buffers = (ctypes.c_void_p * 2)(None, self._ends.ctypes.data)
        self._schema = _Schema(format=_LISTS, name=b"", n_children=1, children=ctypes.addressof(schemas))
        array = _Array(length=len(self._ends) - 1, n_buffers=2, buffers=ctypes.addressof(buffers), n_children=1)
        array.children = ctypes.addressof(arrays)
        return _capsules(self._schema, array, child, schemas, arrays, buffers, self._ends)

    def close(self) -> None:
        """Gives the schema of the values back."""
        _let_go(self._of_values)
