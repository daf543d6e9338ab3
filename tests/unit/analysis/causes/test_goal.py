"""A breached objective as the method needs it."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.aggregates.attainment import judge
from analysis.causes.goal import Goal, goals_of, population
from analysis.causes.rows import Rows, prepare
from analysis.metrics.measure import measure
from tests.support.builders import frame, request
from tests.support.service import objectives


def rows_of(*rows: dict[str, Any]) -> Rows:
    return prepare(measure(frame(rows)))


def goals(text: str, count: int = 120, **columns: Any) -> tuple[Goal, ...]:
    """Goals of objectives over requests that all take two seconds to the first token."""
    rows = frame(request(n, at_s=30.0 * n, ttft_ms=2000.0, tpot_ms=200.0, **columns) for n in range(count))
    judged = judge(measure(rows), objectives(text))
    return goals_of(judged, int(rows["started_ns"][0]), 30.0 * count)


def test_only_breached_objectives_are_goals() -> None:
    text = """
objectives:
  - {id: kept, metric: ttft, statistic: p95, threshold: 3s, min_requests: 10}
  - {id: broken, metric: ttft, statistic: p95, threshold: 1s, min_requests: 10}
"""
    assert [goal.id for goal in goals(text)] == ["broken"]


@pytest.mark.parametrize(
    ("entry", "kind", "tolerated"),
    [
        ("metric: ttft, statistic: p95, threshold: 1s", "latency", 0.05),
        ("metric: ttft, target: 99%, threshold: 1s", "latency", 0.01),
        ("metric: error_rate, threshold: 0.01", "failure", 0.01),
    ],
)
def test_the_kind_says_what_bad_means_and_how_much_of_it_is_accepted(entry: str, kind: str, tolerated: float) -> None:
    status = "error" if kind == "failure" else "ok"
    (goal,) = goals(f"objectives: [{{id: o, {entry}, min_requests: 10}}]", status=status)
    assert goal.kind == kind
    assert goal.tolerated == pytest.approx(tolerated)


def test_the_leading_clause_of_a_joint_objective_is_the_one_that_most_requests_break() -> None:
    text = """
objectives:
  - {id: good, all_of: [{metric: ttft, threshold: 3s}, {metric: tpot, threshold: 100ms}], target: 99%, min_requests: 10}
"""
    (goal,) = goals(text)
    assert (goal.metric, goal.parts) == ("tpot", ("decode", "after_first_token"))


def test_breached_windows_are_seconds_from_the_first_request() -> None:
    (goal,) = goals("objectives: [{id: o, metric: ttft, statistic: p95, threshold: 1s, window: 30m, min_requests: 10}]")
    assert goal.windows == ((0.0, 1800.0), (1800.0, 3600.0))


def test_an_objective_over_the_whole_selection_has_it_as_its_window() -> None:
    (goal,) = goals("objectives: [{id: o, metric: ttft, statistic: p95, threshold: 1s, min_requests: 10}]")
    assert len(goal.windows) == 1
    assert goal.windows[0][0] == 0.0


def test_the_population_is_what_the_objective_judges() -> None:
    text = (
        "objectives: [{id: o, metric: ttft, where: {scenario: rag}, statistic: p95, threshold: 1s, min_requests: 10}]"
    )
    (goal,) = goals(text, scenario="rag")
    rows = rows_of(
        request(1, at_s=1.0, ttft_ms=2000.0, tpot_ms=20.0, scenario="rag"),
        request(2, at_s=2.0, ttft_ms=500.0, tpot_ms=20.0, scenario="rag"),
        request(3, at_s=3.0, ttft_ms=2000.0, tpot_ms=20.0, scenario="chat"),
        request(4, at_s=4.0, ttft_ms=2000.0, tpot_ms=20.0, scenario="rag", status="error"),
    )
    judged = population(rows, goal)
    assert judged.select("request_key", "bad").rows() == [("r-000001", True), ("r-000002", False)]
