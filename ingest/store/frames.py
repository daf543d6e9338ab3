"""Polars frames that SQL reads, without pyarrow, and what of them outlives the reading: nothing.

Input: a cursor, a name, a frame. Output: a relation of that name, until it is given back.
The catalog keeps what was registered within a transaction until that ends; the rows are let go of before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import polars as pl


class ArrowFrame:
    """Polars frame as DuckDB takes it without pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_schema__(self) -> object:
        """Asked for before every statement; without it a stream is, which copies a frame in several chunks."""
        return self._frame.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def let_go(self) -> None:
        """Holds the columns from now on, and no rows."""
        self._frame = self._frame.clear()


@contextmanager
def lent(cursor: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> Iterator[None]:
    """The frame is a relation of that name for the SQL of a cursor at rest; afterwards neither it nor its rows are."""
    held = ArrowFrame(frame)
    cursor.register(name, held)
    try:
        yield
    finally:
        cursor.unregister(name)
        held.let_go()
