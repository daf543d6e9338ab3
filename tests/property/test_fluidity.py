"""The fluidity index of any request: a share, no less under a wider limit, one where every token is early."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from analysis.aggregates.fluidity import deadlines
from tests.support.examples import tried
from tests.support.fluid import walk

MOST_NS = 3_000
GAPS = st.lists(st.integers(0, MOST_NS), min_size=1, max_size=30)
REQUEST = st.tuples(
    st.integers(1, 2 * MOST_NS), GAPS, st.integers(2, 60), st.integers(0, MOST_NS), st.integers(0, MOST_NS)
)
One = tuple[int, list[int], int, int, int]


def told(requests: list[One]) -> list[dict[str, Any]]:
    rows = [
        {
            "request_key": f"{number}",
            "ttft_ns": ttft,
            "token_gaps_ns": gaps,
            "output_tokens": len(gaps) + 1 if tokens > 30 else tokens,
            "ttft_limit": first / 1e9,
            "tpot_limit": each / 1e9,
        }
        for number, (ttft, gaps, tokens, first, each) in enumerate(requests)
    ]
    schema = {"token_gaps_ns": pl.List(pl.Int64())}
    return deadlines(pl.DataFrame(rows, schema_overrides=schema)).to_dicts()


@tried(150)
@given(st.lists(REQUEST, min_size=1, max_size=8))
def test_columns_agree_with_a_walk_over_the_tokens(requests: list[One]) -> None:
    for row, (ttft, gaps, tokens, first, each) in zip(told(requests), requests, strict=True):
        n = len(gaps) + 1 if tokens > 30 else tokens
        assert (row["fluid_met"], row["fluid_due"]) == walk(ttft, gaps, n, first, each)
        assert 0 <= row["fluid_met"] <= row["fluid_due"]
        assert row["fluid_by_chunk"] == (len(gaps) != n - 1)


@tried(100)
@given(REQUEST, st.integers(0, MOST_NS), st.integers(0, MOST_NS))
def test_a_wider_limit_keeps_no_fewer_deadlines(one: One, first: int, each: int) -> None:
    wider = (*one[:3], one[3] + first, one[4] + each)
    narrow, wide = told([one, wider])
    assert narrow["fluid_met"] <= wide["fluid_met"]


@tried(100)
@given(st.integers(1, MOST_NS), GAPS, st.integers(0, MOST_NS), st.integers(0, MOST_NS))
def test_all_tokens_early_keep_all_deadlines(ttft: int, gaps: list[int], slack: int, more: int) -> None:
    row = told([(ttft, gaps, 31, ttft + slack, max(gaps) + more)])[0]
    assert row["fluid_met"] == row["fluid_due"] == len(gaps) + 1
