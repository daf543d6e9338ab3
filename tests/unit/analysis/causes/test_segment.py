"""The most concise slice that holds an excess."""

from __future__ import annotations

import polars as pl

from analysis.causes.segment import EVERYWHERE, concise_slice, moves_together
from analysis.causes.settings import CauseSettings

SETTINGS = CauseSettings()
DIMENSIONS = ("replica", "model", "region", "scenario")


def rows() -> pl.DataFrame:
    """720 requests, evenly over two models, two regions, three replicas each, three scenarios."""
    cells = [
        {"model": model, "region": region, "replica": f"{model}-{region}-{replica}", "scenario": scenario}
        for model in ("large", "small")
        for region in ("east", "west")
        for replica in range(3)
        for scenario in ("chat", "rag", "agent")
        for _ in range(20)
    ]
    return pl.DataFrame(cells)


def with_excess(where: pl.Expr) -> pl.DataFrame:
    return rows().with_columns(excess=pl.when(where).then(1.0).otherwise(0.0))


def test_a_value_that_holds_all_of_the_excess_is_the_slice() -> None:
    found = concise_slice(with_excess(pl.col("scenario") == "rag"), DIMENSIONS, SETTINGS)
    assert (found.pairs, found.share, found.n) == ((("scenario", "rag"),), 1.0, 240)


def test_the_narrowest_value_wins_over_a_wider_one_that_holds_it() -> None:
    found = concise_slice(with_excess(pl.col("replica") == "large-east-1"), DIMENSIONS, SETTINGS)
    assert found.pairs == (("replica", "large-east-1"),)


def test_a_pair_is_named_where_no_single_value_qualifies() -> None:
    chosen = (pl.col("model") == "large") & (pl.col("scenario") == "rag")
    found = concise_slice(with_excess(chosen), ("model", "scenario"), SETTINGS)
    assert found.pairs == (("scenario", "rag"),) or set(found.pairs) == {("model", "large"), ("scenario", "rag")}
    assert found.share == 1.0


def test_an_excess_everywhere_has_no_slice() -> None:
    assert concise_slice(with_excess(pl.lit(value=True)), DIMENSIONS, SETTINGS) == EVERYWHERE


def test_the_largest_value_is_no_slice_for_being_large() -> None:
    """Half of the requests hold half of the excess: concentration is not change."""
    even = rows().with_row_index().with_columns(excess=(pl.col("index") % 7 == 0).cast(pl.Float64))
    assert concise_slice(even, DIMENSIONS, SETTINGS) == EVERYWHERE


def test_fewer_requests_than_the_support_are_no_slice() -> None:
    few = pl.concat([rows().head(100), rows().head(5).with_columns(scenario=pl.lit("odd"))])
    few = few.with_columns(excess=(pl.col("scenario") == "odd").cast(pl.Float64))
    assert concise_slice(few, ("scenario",), SETTINGS) == EVERYWHERE


def test_no_excess_has_no_slice() -> None:
    assert concise_slice(with_excess(pl.lit(value=False)), DIMENSIONS, SETTINGS) == EVERYWHERE


def test_what_moves_together_is_told_beside_the_slice() -> None:
    assert moves_together(rows(), [("replica", "large-east-1")], DIMENSIONS) == {"model": ["large"], "region": ["east"]}
