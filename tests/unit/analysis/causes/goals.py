"""A goal for tests that need one and care little which."""

from __future__ import annotations

from analysis.aggregates.attainment import judge
from analysis.causes.goal import Goal, goals_of
from analysis.metrics.measure import measure
from analysis.result import ObjectiveResult
from tests.support.builders import frame, request
from tests.support.service import objectives

TEXT = "objectives: [{id: t, metric: ttft, statistic: p95, threshold: 1s, min_requests: 10}]"


def a_result() -> ObjectiveResult:
    """A breached objective on TTFT, P95 within one second."""
    rows = frame(request(n, at_s=float(n), ttft_ms=2000.0, tpot_ms=20.0) for n in range(40))
    return judge(measure(rows), objectives(TEXT))[0]


def a_goal() -> Goal:
    (goal,) = goals_of([a_result()], 0, 40.0)
    return goal
