"""Stages: excess of the slowest tenth, exact Shapley shares, requests that nothing saves."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analysis.causes.goal import population
from analysis.causes.rows import prepare
from analysis.causes.settings import CauseSettings
from analysis.causes.stage import Excess, leading_stage, normals, rescue, shapley, tail_excess
from analysis.metrics.measure import measure
from tests.support.builders import frame, request
from tests.unit.analysis.causes.goals import a_goal

SETTINGS = CauseSettings()


def test_a_stage_that_saves_alone_takes_all() -> None:
    assert shapley({"queue": 3.0, "prefill": 0.5}, 2.0) == {"queue": 1.0, "prefill": 0.0}


def test_stages_that_save_only_together_share_alike() -> None:
    assert shapley({"queue": 1.0, "prefill": 1.5}, 2.0) == {"queue": 0.5, "prefill": 0.5}


def test_stages_that_each_save_share_alike() -> None:
    assert shapley({"queue": 3.0, "prefill": 2.5}, 2.0) == {"queue": 0.5, "prefill": 0.5}


def test_one_stage_with_either_of_two_others() -> None:
    # orders in which each is the one that saves: a in 4 of 6, b and c in 1 of 6 each
    values = shapley({"a": 2.0, "b": 1.0, "c": 1.0}, 3.0)
    assert values == pytest.approx({"a": 4 / 6, "b": 1 / 6, "c": 1 / 6})


def excess(**seconds: float) -> Excess:
    ordered = tuple(sorted(seconds.items(), key=lambda pair: -pair[1]))
    return Excess(ordered, {}, {}, 100)


def test_engine_stages_stand_together_against_an_outer_one() -> None:
    assert leading_stage(excess(retrieval=1.0, queue=0.6, prefill=0.5)) == "queue"
    assert leading_stage(excess(retrieval=1.2, queue=0.6, prefill=0.5)) == "retrieval"


def test_no_stage_leads_where_none_grew() -> None:
    assert leading_stage(excess(queue=-1.0, prefill=0.0)) is None


def test_the_excess_is_the_growth_of_the_slowest_tenth_alone() -> None:
    rows = [
        request(
            n, at_s=float(n), ttft_ms=300.0 + queue, tpot_ms=10.0, queue_ms=queue, prefill_ms=300.0, decode_ms=100.0
        )
        for n, queue in enumerate([0.0] * 90 + [1000.0] * 10 + [0.0] * 90 + [200.0] * 10)
    ]
    ready = prepare(measure(frame(rows)))
    judged = population(ready, a_goal())
    found = tail_excess(judged.head(100), judged.tail(100), a_goal(), SETTINGS)
    assert found is not None
    assert found.stages[0][0] == "queue"
    assert found.stages[0][1] == pytest.approx(0.8)
    assert found.share("queue") == 1.0


def test_requests_that_are_bad_at_normal_stages_are_structural() -> None:
    usual = [
        request(n, at_s=float(n), ttft_ms=320.0, tpot_ms=10.0, queue_ms=20.0, prefill_ms=300.0, decode_ms=100.0)
        for n in range(60)
    ]
    waited = [
        request(
            100 + n, at_s=100.0 + n, ttft_ms=1500.0, tpot_ms=10.0, queue_ms=1200.0, prefill_ms=300.0, decode_ms=100.0
        )
        for n in range(30)
    ]
    long = [
        request(
            200 + n, at_s=200.0 + n, ttft_ms=3020.0, tpot_ms=10.0, queue_ms=20.0, prefill_ms=3000.0, decode_ms=100.0,
            input_tokens=30_000,
        )
        for n in range(30 + 30)
    ]  # fmt: skip
    ready = prepare(measure(frame([*usual, *waited, *long])))
    goal = replace(a_goal(), threshold=1.0)
    tables = normals(ready.frame.filter(~ready.frame["t_queue"].is_between(1.0, 2.0)), ready)
    bad = population(ready, goal).filter("bad")
    found = rescue(bad, goal, tables, SETTINGS)
    assert found is not None
    assert found.n == 90
    assert found.structural == pytest.approx(60 / 90)
    assert dict(found.shares)["queue"] == pytest.approx(30 / 90)


@pytest.mark.parametrize("votes", [1, 2])
def test_the_slowest_tenth_is_the_same_in_whatever_order_the_requests_come(votes: int) -> None:
    goal = a_goal()
    seconds = [float(37 * number % 1000) for number in range(1000)]
    nothing = {f"t_{part}": pl.Series([None] * 1000, dtype=pl.Float64) for part in goal.parts}
    rows = pl.DataFrame(
        {"value": seconds, "at": range(1000), "ok": True, **nothing, "t_queue": seconds, "votes": [votes] * 1000}
    )
    found = tail_excess(rows, rows.head(0), goal, SETTINGS)
    assert found is not None
    assert (found.n, found.inside["queue"]) == (100, sum(range(900, 1000)) / 100)
