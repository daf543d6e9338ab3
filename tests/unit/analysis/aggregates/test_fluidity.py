"""Token deadlines of hand-made requests, worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis.aggregates.attainment import good_objectives
from analysis.aggregates.fluidity import fluidity, with_fluidity
from analysis.aggregates.statistics import wilson
from analysis.describe import definitions
from analysis.metrics.measure import measure
from analysis.objectives import Objectives, read_objectives
from analysis.result import Fluidity
from tests.support.builders import frame, ms, request

BOTH = "all_of: [{metric: ttft, threshold: 100ms}, {metric: tpot, threshold: 10ms}], target: 95%"
READ = read_objectives(f"objectives: [{{id: g, {BOTH}}}]")


def timed(number: int, *gaps_ms: float, **columns: Any) -> dict[str, Any]:
    """A request whose source lists its gaps; a token each, unless `output_tokens` says otherwise."""
    told = {"ttft_ms": 80, "output_tokens": len(gaps_ms) + 1} | columns
    return request(number, token_gaps_ns=[ms(gap) for gap in gaps_ms], **told)


def indexed(rows: list[dict[str, Any]], objectives: Objectives = READ) -> pl.DataFrame:
    told = frame(rows)
    lists = told.select("request_key", "token_gaps_ns").drop_nulls()
    parts = [lists.head(1), lists.tail(-1)]
    return with_fluidity(measure(told.drop("token_gaps_ns")), parts, good_objectives(objectives))


def deadlines_of(row: dict[str, Any], objectives: Objectives = READ) -> tuple[int | None, int | None]:
    found = indexed([row, timed(9, 10)], objectives).row(0, named=True)
    return found["fluid_met"], found["fluid_due"]


def record(rows: list[dict[str, Any]], objectives: Objectives = READ) -> Fluidity | None:
    return fluidity(indexed(rows, objectives), good_objectives(objectives))


@pytest.mark.parametrize(
    ("ttft", "gaps", "met"),
    [
        # due at 100; 110, 120; late at 125, so 135; 145: arrivals 80; 110, 125; 130; 145
        (80, (30, 15, 5, 15), 4),
        # the first is late, and those after it are counted on from it: 110, 120, 130
        (101, (10, 10, 10), 3),
        # an early answer saves up 80 ms, and one long gap spends it to the last
        (20, (90, 10, 10), 4),
        (20, (90.000001, 10, 10), 3),
        # all of them late, each by 1 ms after the one before
        (101, (11, 11, 11), 0),
        (100, (10, 10), 3),
        (1, (0, 0, 0, 0), 5),
    ],
)
def test_slack_carries_over_and_a_missed_deadline_restarts_from_the_late_token(
    ttft: float, gaps: tuple[float, ...], met: int
) -> None:
    assert deadlines_of(timed(1, *gaps, ttft_ms=ttft)) == (met, len(gaps) + 1)


@pytest.mark.parametrize(
    ("gaps", "tokens", "met"),
    [
        ((20, 20, 20), 7, 4),  # two tokens a chunk: 20 ms each
        ((41, 20, 20), 7, 3),  # 80 + 41 is 1 ms after 120
        ((0, 10, 10), 3, 4),  # a chunk without a token: 20 ms over three chunks
        ((26.7, 6.7, 6.7), 3, 1),  # 6.67 ms a chunk; the first token of the request alone is in time
    ],
)
def test_a_chunk_of_several_tokens_has_their_time(gaps: tuple[float, ...], tokens: int, met: int) -> None:
    assert deadlines_of(timed(1, *gaps, output_tokens=tokens)) == (met, 4)


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "error"},
        {"status": "cancelled"},
        {"output_tokens": 1},
        {"output_tokens": None},
        {"ttft_ms": None},
        {"llm_calls": 2},
        {"token_gaps_ns": None},
        {"token_gaps_ns": []},
    ],
)
def test_without_what_a_deadline_needs_there_is_no_index(columns: dict[str, Any]) -> None:
    told: dict[str, Any] = {"ttft_ms": 80, "output_tokens": 3, "token_gaps_ns": [1, 1]}
    assert deadlines_of(request(1, **(told | columns))) == (None, None)


def test_a_frame_without_lists_stays_as_it_is_and_has_no_record() -> None:
    measured = measure(frame([request(1, ttft_ms=80, tpot_ms=10)]))
    assert_frame_equal(with_fluidity(measured, [], good_objectives(READ)), measured)
    assert fluidity(measured, good_objectives(READ)) is None
    assert record([timed(1, 10, status="error")]) is None


def test_the_record_counts_requests_from_nine_tenths_on() -> None:
    nine_of_ten = (20 + 10 + 1, *[10] * 8)  # 80 + 31 is 1 ms after 110
    rows = [timed(1, *[10] * 9), timed(2, *nine_of_ten), timed(3, 30, 15, 5, 15), timed(4, 15, 15, output_tokens=4)]
    assert record([*rows, request(5, ttft_ms=80, tpot_ms=10), timed(6, 10, status="timeout")]) == Fluidity(
        n=4,
        fluid=3,
        least=0.9,
        share=0.75,
        interval=wilson(3, 4),
        mean_index=0.925,
        by_chunk=1,
        limits=["g"],
    )


def test_rows_of_a_sample_weigh_by_their_votes() -> None:
    late = timed(1, 15, 15, 15, ttft_ms=101, sampling_rate=0.25)  # none of four
    found = record([late, timed(2, 10, sampling_rate=0.5)])
    assert found is not None
    assert (found.n, found.fluid, found.share) == (2, 1, 1 / 3)
    assert found.mean_index == pytest.approx(1 / 3, abs=1e-12)


def test_limits_are_those_of_the_objective_about_the_request_the_tightest_of_several() -> None:
    chat = f"{{id: chat, where: {{scenario: chat}}, {BOTH}}}"
    strict = "{id: strict, where: {tenant: t}, all_of: [{metric: tpot, threshold: 5ms}, {metric: e2e, threshold: 9s}], target: 95%}"
    read = read_objectives(f"objectives: [{chat}, {strict}]")
    # 80; 98, 106: chat has 110, 120; strict chat 105, 110
    assert deadlines_of(timed(1, 18, 8, scenario="chat"), read) == (3, 3)
    assert deadlines_of(timed(1, 18, 8, scenario="chat", tenant="t"), read) == (3, 3)
    assert deadlines_of(timed(1, 26, 8, scenario="chat", tenant="t"), read) == (1, 3)
    # no limit of its own on the first token: 2 s of default.good
    assert deadlines_of(timed(1, 1000, 900, tenant="t"), read) == (3, 3)
    assert deadlines_of(timed(1, 1950, 100), read) == (3, 3)
    named = [
        ([timed(1, 18, scenario="chat")], ["chat"]),
        ([timed(1, 18, scenario="chat", tenant="t")], ["chat", "strict"]),
        ([timed(1, 18, tenant="t")], ["strict", "default.good"]),
        ([timed(1, 18), timed(2, 18, scenario="chat")], ["chat", "default.good"]),
    ]
    for rows, limits in named:
        found = record(rows, read)
        assert found is not None
        assert found.limits == limits


def test_a_limit_may_grow_with_the_length_of_the_input() -> None:
    read = read_objectives(
        "objectives: [{id: g, all_of: [{metric: ttft, threshold: 50ms + 0.1ms/token}, {metric: tpot, threshold: 10ms}], target: 95%}]"
    )
    assert deadlines_of(timed(1, 10, input_tokens=300), read) == (2, 2)
    assert deadlines_of(timed(1, 10, input_tokens=299), read) == (1, 2)


def test_the_index_is_defined_beside_the_metrics() -> None:
    told = next(item for item in definitions() if item.id == "fluidity_index")
    assert (told.kind, told.unit) == ("metric", "ratio")
    assert "slack carries over" in told.says
