"""Slices of some bytes as a column, without a copy: a slice above twelve bytes is told by its place.

Input: bytes, places and sizes. Output: a Polars series of Binary that keeps the bytes.
Source: Arrow columnar format, variable-size binary view; Arrow C data interface.
"""

from __future__ import annotations

import ctypes
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
_FORMAT = b"vz"  # binary views
_held: dict[int, object] = {}  # what Arrow arrays that are not yet released point to
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


def _releases(kind: Any) -> Any:
    def release(told: Any) -> None:
        _held.pop(told.contents.private_data, None)
        told.contents.release = None

    return ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))(release)


_RELEASE_SCHEMA, _RELEASE_ARRAY = _releases(_Schema), _releases(_Array)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def slices(data: bytes, starts: _Ints, sizes: _Ints) -> pl.Series:
    """The bytes at each of these places, (n,) in their order.

    Args:
        data: below 2 GiB, with MARGIN bytes behind the last slice.
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
    return pl.Series(_Views(data, views))


class _Views:
    """An Arrow array of views into the data, for one reader."""

    def __init__(self, data: bytes, views: _Ints) -> None:
        self._data, self._views = np.frombuffer(data, np.uint8), views

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Schema and array, which the reader takes over."""
        lengths = np.array([len(self._data)], np.int64)
        buffers = (ctypes.c_void_p * 4)(None, *(b.ctypes.data for b in (self._views, self._data, lengths)))
        self._schema = _Schema(format=_FORMAT, name=b"", release=ctypes.cast(_RELEASE_SCHEMA, ctypes.c_void_p))
        array = _Array(length=len(self._views), n_buffers=4, buffers=ctypes.addressof(buffers))
        array.release, array.private_data = ctypes.cast(_RELEASE_ARRAY, ctypes.c_void_p), next(_numbers)
        _held[array.private_data] = (array, buffers, self._data, self._views, lengths)
        return (
            _capsule(ctypes.addressof(self._schema), b"arrow_schema", None),
            _capsule(ctypes.addressof(array), b"arrow_array", None),
        )
