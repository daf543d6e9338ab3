"""How long a load test took, as its own file says it.

Input: a measured frame with `upload_id`, `started_ns`, `e2e_ns`; the table of uploads. Output: seconds, or None.
Source: metric definitions, section 3: load generators divide by the duration that they measured.
"""

from __future__ import annotations

import polars as pl

from ingest.schema import NS_PER_S


def run_seconds(frame: pl.DataFrame, uploads: pl.DataFrame) -> float | None:
    """Time that the runs took of which the frame holds all requests and no others; None where it cannot be said.

    It is said only of whole uploads that all state it: of each, every row that was read must stand in the frame.
    Several runs count one after another, so runs that lay side by side in time have no such figure.
    """
    if frame.is_empty():
        return None
    ends = pl.col("started_ns") + pl.col("e2e_ns").fill_null(0)
    held = frame.group_by(pl.col("upload_id").cast(pl.String)).agg(
        pl.len().cast(pl.Int64).alias("held"),
        pl.col("started_ns").min().alias("first"),
        ends.max().alias("last"),
    )
    runs = held.join(uploads.select("upload_id", "run_ns", "n_read", "n_accepted"), on="upload_id", how="left")
    whole = (pl.col("run_ns") > 0) & (pl.col("held") == pl.col("n_read")) & (pl.col("held") == pl.col("n_accepted"))
    if not runs.select(whole.fill_null(value=False).all()).item():
        return None
    if runs.height > 1 and not _is_in_a_row(runs):
        return None
    return float(runs.get_column("run_ns").sum()) / NS_PER_S


def _is_in_a_row(runs: pl.DataFrame) -> bool:
    if runs.get_column("first").has_nulls():
        return False
    told = runs.sort("first", "upload_id")
    return bool(told.select((pl.col("first") >= pl.col("last").shift(1)).all(ignore_nulls=True)).item())
