"""Sequences in flight per replica, counted from starts and ends where no source measured the batch.

Input: prepared rows with replica, `m_ttft`, `m_e2e` and stage times. Output: one Float64 column: how many requests of the
same replica were past their queue when this one began to decode, itself included.
"""

from __future__ import annotations

import polars as pl

MIN_RATE = 0.5  # a thinned source shows only a part of what runs beside a request


def counted_batch(frame: pl.DataFrame) -> pl.Series:
    """In-flight count per row, null where replica or times are unknown.

    A run of several calls is taken as one stretch that ends with its last token.
    """
    queue, prefill, before = (pl.col(f"t_{name}").fill_null(0.0) for name in ("queue", "prefill", "before_first_token"))
    answer = pl.coalesce("t_decode", "t_after_first_token", pl.lit(0.0))
    first = pl.col("at") + pl.coalesce("m_ttft", queue + prefill + before)
    spans = frame.select(
        pl.col("replica").to_physical() if frame.schema["replica"] == pl.Categorical else pl.col("replica"),
        begin=first - prefill,
        middle=first,
        end=pl.max_horizontal(first + answer, first),
    ).with_row_index("row")
    known = spans.drop_nulls()
    begins = known.select("replica", time="begin", delta=pl.lit(1))
    ends = known.select("replica", time="end", delta=pl.lit(-1))
    running = (
        pl.concat([begins, ends])
        .sort("time", "delta")
        .with_columns(running=pl.col("delta").cum_sum().over("replica"))
        .select("replica", "time", "running")
    )
    met = known.sort("middle").join_asof(
        running, left_on="middle", right_on="time", by="replica", check_sortedness=False
    )
    joined = spans.select("row").join(met.select("row", "running"), on="row", how="left", maintain_order="left")
    return joined["running"].cast(pl.Float64).clip(lower_bound=1.0).alias("batch_size")
