"""How every chart looks."""

from __future__ import annotations

import re
from math import log10
from pathlib import Path

import pytest

from reports.charts import theme

TOKENS = set(re.findall(r"--([\w-]+):", (Path(theme.__file__).parents[1] / "assets" / "tokens.css").read_text()))


@pytest.mark.parametrize("stage", theme.STAGES)
def test_every_stage_has_a_token(stage: str) -> None:
    assert theme.stage_token(stage) in TOKENS


def test_every_token_named_here_is_defined() -> None:
    assert {*theme.SERIES, *theme.HEAT} - TOKENS == set()


def test_an_unknown_stage_is_drawn_as_unattributed_and_stands_last() -> None:
    assert theme.stage_token("teleport") == "stage-unattributed"
    assert sorted(["teleport", "decode", "queue"], key=theme.stage_order) == ["queue", "decode", "teleport"]


@pytest.mark.parametrize(("n", "kept"), [(0, 0), (1, 1), (2000, 2000), (2001, 2000), (10_000, 2000)])
def test_a_series_over_the_cap_is_thinned_and_keeps_its_ends(n: int, kept: int) -> None:
    points = theme.thinned(range(n))
    assert len(points) == kept
    assert list(points[:1] + points[-1:]) == ([0, n - 1] if n else [])
    assert list(points) == sorted(set(points))


def test_a_mark_on_a_logarithmic_axis_places_its_line_by_value_and_its_word_by_exponent() -> None:
    line, word = theme.mark(2.0, "2 s", vertical=True, log=True)
    assert (line["x0"], line["x1"], word["x"]) == (2.0, 2.0, log10(2.0))
