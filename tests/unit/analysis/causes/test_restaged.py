"""A window with one stage shorter: read from its requests, whose stages add up."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.causes.goal import Goal
from analysis.causes.restaged import restaged
from tests.support.service import Row, findings, in_fault, service
from tests.unit.analysis.causes.goals import a_goal

E2E = "objectives: [{id: e2e, metric: e2e, statistic: p95, threshold: 5200ms, window: 15m, min_requests: 60}]"


def goal(metric: str, *, statistic: str | None = "mean", threshold: float = 5.0) -> Goal:
    made = a_goal()
    return Goal(**{**vars(made), "metric": metric, "statistic": statistic, "threshold": threshold})


def window(guardrail: float, engine: float, rest: float = 1.0, n: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "value": [guardrail + engine + rest] * n, "t_guardrail": [guardrail] * n,
            "t_queue": [0.0] * n, "t_prefill": [engine / 4] * n, "t_decode": [engine * 3 / 4] * n,
        }
    )  # fmt: skip


@pytest.mark.parametrize(("guardrail", "engine", "after"), [(4.0, 2.0, 5.0), (1.0, 2.0, 3.0)])
def test_a_filter_beside_generation_costs_what_it_outlasts_it(guardrail: float, engine: float, after: float) -> None:
    rows = window(guardrail, engine)
    found = restaged("async_guardrail", "slow_guardrail", goal("e2e"), rows, rows)
    assert found is not None
    assert found.value == pytest.approx(after)
    assert (found.attainment, found.served) == (1.0, 1.0)


def test_a_time_limit_cuts_the_stage_and_says_how_many_go_without_it() -> None:
    usual = window(0.5, 2.0)
    rows = pl.concat([window(4.5, 2.0, n=30), window(0.5, 2.0, n=10)])
    found = restaged("timeout_degrade", "slow_guardrail", goal("e2e"), rows, usual)
    assert found is not None
    assert found.value == pytest.approx(3.5)
    assert found.served == pytest.approx(0.25)
    assert found.says.startswith("Assumes a limit of 0.5 s on guardrail; 75% of the requests")


def test_the_filter_before_the_first_token_and_other_causes_are_not_told() -> None:
    rows = window(4.0, 2.0)
    assert restaged("async_guardrail", "slow_guardrail", goal("ttft"), rows, rows) is None
    assert restaged("async_guardrail", "traffic_growth", goal("e2e"), rows, rows) is None
    assert restaged("timeout_degrade", "slow_tool", goal("e2e"), rows, rows) is None
    assert restaged("scale_out", "slow_guardrail", goal("e2e"), rows, rows) is None
    assert restaged("timeout_degrade", "slow_guardrail", goal("e2e"), rows.head(10), rows) is None


def slow_filter(row: Row, minute: float) -> None:
    if in_fault(minute):
        row["guardrail_ms"] += 3000.0


def test_findings_of_a_slow_filter_predict_each_remedy_and_rank_by_it() -> None:
    (found,) = findings(service(slow_filter), E2E)
    predicted = {item.id: item.predicted for item in found.recommendations}
    beside, faster, limit = (predicted[name] for name in ("async_guardrail", "faster_guardrail", "timeout_degrade"))
    assert beside is not None
    assert faster is not None
    assert limit is not None
    assert beside.value is not None
    assert faster.value is not None
    assert (faster.basis, beside.basis, limit.basis) == ("back_to_normal", "remedy", "remedy")
    assert 0.8 * faster.value < beside.value < 1.6 * faster.value
    assert limit.attainment is not None
    assert limit.attainment < 0.1  # nearly every answer would go without the filter
    assert found.recommendations[-1].id == "timeout_degrade"
