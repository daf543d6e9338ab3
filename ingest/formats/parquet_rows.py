"""Rows of a Parquet source as mappings, a slice at a time.

Input: an opened source. Output: one dictionary per row, values as Python ones (instants as datetimes, structures as
dictionaries). Memory: one slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from ingest.errors import UnreadableInput
from ingest.formats.contract import Source

SLICE_ROWS = 10_000


def parquet_rows(source: Source) -> Iterator[dict[str, Any]]:
    """The rows of the source.

    Raises:
        UnreadableInput: the file is no whole Parquet file.
    """
    try:
        lazy = pl.scan_parquet(source.path)
        start = 0
        while (part := lazy.slice(start, SLICE_ROWS).collect()).height:
            start += part.height
            for row in part.iter_rows(named=True):
                yield row if source.unread is None else source.unread.watched(row)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableInput(f"{source.name} is no whole Parquet file: {error}") from error
