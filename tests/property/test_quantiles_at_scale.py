"""Quantiles of a million values: four engines, one answer."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest

from analysis.aggregates.statistics import quantile, quantile_expr
from ingest.store.frames import ArrowFrame


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 1000, 99_999, 1_000_000])
def test_polars_duckdb_and_numpy_agree_from_one_row_to_a_million(n: int) -> None:
    draws = np.random.default_rng(n)
    values = np.round(draws.lognormal(0, 2, n), 2)  # ties
    series = pl.Series("x", values)
    frame = series.to_frame().with_columns(pl.when(pl.int_range(n) % 7 != 3).then(pl.col("x")).alias("x"))
    known = frame["x"].drop_nulls().to_numpy()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x DOUBLE)")
    connection.register("given", ArrowFrame(frame))
    connection.execute("INSERT INTO t SELECT x FROM given")
    for p in ("0.5", "0.9", "0.95", "0.99", "0.995", "0.999"):
        ours = quantile(frame["x"], Fraction(p))
        assert ours == float(np.quantile(known, float(p), method="inverted_cdf"))
        assert frame.select(quantile_expr("x", Fraction(p))).item() == ours
        assert connection.execute(f"SELECT quantile_disc(x, {p}) FROM t").fetchone() == (ours,)
    connection.close()
