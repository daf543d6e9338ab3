"""Dimensions as text, and filters over them."""

from __future__ import annotations

from analysis.dimensions import dimension, grouped, matches
from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def rows() -> list[dict[str, object]]:
    return [
        request(1, at_s=3600, model="a", streaming=True, dimensions='{"team": "search", "x.y": "1"}'),
        request(2, at_s=90_000, model="b", streaming=False, dimensions=None),
        request(3, model=None, streaming=None, input_tokens=None),
    ]


def keys(*where: tuple[str, tuple[str, ...]]) -> list[str]:
    return measure(frame(rows())).filter(matches(where)).get_column("request_key").to_list()


def test_columns_computed_dimensions_and_promoted_ones_filter_alike() -> None:
    assert keys(("model", ("a", "b"))) == ["r-000001", "r-000002"]
    assert keys(("streaming", ("True",))) == ["r-000001"]
    assert keys(("hour", ("01",)), ("weekday", ("mon",))) == ["r-000001"]
    assert keys(("weekday", ("2",))) == ["r-000002"]
    assert keys(("team", ("search",))) == ["r-000001"]
    assert keys(("x.y", ("1",))) == ["r-000001"]
    assert keys(("input_bucket", ("<512",))) == ["r-000001", "r-000002"]
    assert keys() == ["r-000001", "r-000002", "r-000003"]


def test_a_value_that_is_not_known_matches_nothing_and_is_never_null() -> None:
    assert keys(("model", ("c",))) == []
    assert measure(frame(rows())).select(matches((("model", ("a",)),))).to_series().to_list() == [True, False, False]


def test_a_dimension_is_text() -> None:
    assert measure(frame(rows())).select(dimension("streaming")).to_series().to_list() == ["true", "false", None]


def test_pairs_of_one_dimension_mean_one_of_these() -> None:
    pairs = [("model", "a"), ("tenant", "t"), ("model", "b")]
    assert grouped(pairs) == (("model", ("a", "b")), ("tenant", ("t",)))
