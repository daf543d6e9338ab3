"""Fewer columns before rows are picked: a measured frame is wide, and a filter copies all it is given."""

from __future__ import annotations

import polars as pl


def narrow(frame: pl.DataFrame, *needs: pl.Expr | str) -> pl.DataFrame:
    """The frame with the columns that the expressions read, in its own order."""
    names: set[str] = set()
    for need in needs:
        names.update([need] if isinstance(need, str) else need.meta.root_names())
    return frame.select(name for name in frame.columns if name in names)
