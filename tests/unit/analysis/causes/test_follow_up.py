"""Two weeks of the small service: an incident, then the week after it, remedied or not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pytest

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import diagnose
from analysis.causes.follow_up import Earlier, Present, follow_up, outcome
from analysis.metrics.measure import measure
from analysis.result import FollowUp, Prediction, RecommendationCheck, WindowVerdict
from analysis.rules.catalog import built_in
from tests.support.builders import frame, replica_hours
from tests.support.service import Plant, Row, in_fault, objectives, service

WEEK_NS = 7 * 86_400 * 10**9
TIMES = ("started_ns", "ended_ns", "first_output_ns", "last_output_ns")


def slower(factor: float, replica: str = "large-east-1") -> Plant:
    def plant(row: Row, minute: float) -> None:
        if in_fault(minute) and row["replica"] == replica:
            row["slow"] = factor

    return plant


def drained(row: Row, minute: float) -> None:
    if row["replica"] == "large-east-1":
        row |= {"replica": "large-east-0"}


def missing(row: Row, minute: float) -> None:
    if in_fault(minute) and (row["model"], row["region"]) == ("large", "east"):
        row |= {"replica": "large-east-2", "deployment_version": "v2", "queue_ms": row["queue_ms"] + 3000 * row["wait"]}


def searching(row: Row, minute: float) -> None:
    if in_fault(minute):
        row["retrieval_ms"] *= 40


SLOW = slower(3.0)


def later(rows: Sequence[Row]) -> list[Row]:
    """The same rows a week later, under keys of their own."""
    return [
        row
        | {name: row[name] + WEEK_NS for name in TIMES if row.get(name) is not None}
        | {"request_key": f"{row['request_key']}-later"}
        for row in rows
    ]


@lru_cache
def told(then: Plant | None, now: Plant | None, *, kept: bool = True) -> FollowUp:
    """What the week after says of the first one's recommendations; `kept`: the first week's requests are there."""
    wanted, up, catalog = objectives(), replica_hours([]), built_in()
    first, second = (service(*([plant] if plant else []), seed=seed) for plant, seed in ((then, 7), (now, 8)))
    weeks = [measure(frame(rows), wanted.settings) for rows in (first, later(second))]
    judged = [judge(week, wanted, replica_hours=up) for week in weeks]
    found = [
        diagnose(week, verdicts, wanted.items, replica_hours=up) for week, verdicts in zip(weeks, judged, strict=True)
    ]
    earlier = Earlier("Week 1", "report 1", judged[0], found[0], weeks[0] if kept else None)
    return follow_up(earlier, Present(weeks[1], judged[1], wanted.items, found[1], up, catalog, None))


def check(told: FollowUp, objective: str, recommendation: str) -> RecommendationCheck:
    (found,) = [c for c in told.checks if (c.objective, c.recommendation) == (objective, recommendation)]
    return found


def test_a_remedied_week_lies_inside_what_was_predicted_and_its_evidence_is_gone() -> None:
    found = check(told(SLOW, drained), "tpot", "replica_drain")
    assert found.predicted is not None
    assert (found.then_value or 0) > 0.027 > (found.now_value or 1)
    assert (found.outcome, found.evidence_holds, found.followed, found.now_verdict) == (
        "inside", False, "followed", "met",
    )  # fmt: skip
    assert found.now_window == ("2026-03-09T01:00:00Z", "2026-03-09T01:15:00Z")
    assert found.says.startswith("The evidence of its rule is gone; replica large-east-1 serves 0.0% of the requests")


def test_a_week_without_the_remedy_still_holds_the_evidence() -> None:
    found = check(told(SLOW, SLOW), "tpot", "replica_drain")
    assert (found.outcome, found.evidence_holds, found.followed, found.now_verdict) == (
        "worse", True, "not_followed", "breached",
    )  # fmt: skip
    assert found.now_value == pytest.approx(found.then_value, rel=0.2)


def test_a_week_that_got_worse_is_told_by_its_figure() -> None:
    found = check(told(SLOW, slower(5.0)), "tpot", "replica_drain")
    assert (found.outcome, found.evidence_holds, found.followed) == ("worse", True, "not_followed")
    assert found.now_value is not None
    assert found.then_value is not None
    assert found.now_value > 1.3 * found.then_value


def test_replicas_that_serve_again_are_a_remedy_that_was_followed() -> None:
    found = check(told(missing, None), "ttft", "scale_out")
    assert (found.evidence_holds, found.followed) == (False, "followed")
    assert found.says == "The evidence of its rule is gone; 3 replicas serve the segment, 1 then."
    again = check(told(missing, missing), "ttft", "scale_out")
    assert (again.evidence_holds, again.followed) == (True, "not_followed")


def test_without_the_earlier_requests_the_rest_of_the_week_is_the_normal() -> None:
    found = check(told(SLOW, SLOW, kept=False), "tpot", "replica_drain")
    assert (found.evidence_holds, found.followed, found.outcome) == (True, "not_followed", "worse")


def test_a_recommendation_whose_change_traces_do_not_show_cannot_be_told_from_luck() -> None:
    found = [c for c in told(searching, None).checks if c.recommendation == "parallel_retrieval"]
    assert found
    assert {(c.evidence_holds, c.followed) for c in found} == {(False, "unknown")}
    again = [c for c in told(searching, searching).checks if c.recommendation == "parallel_retrieval"]
    assert {(c.evidence_holds, c.followed) for c in again} == {(True, "not_followed")}


def test_an_earlier_week_without_findings_has_nothing_to_check() -> None:
    assert told(None, None) == FollowUp("Week 1", "report 1", [])


def verdict(value: float, low: float | None = None, high: float | None = None) -> WindowVerdict:
    interval = (low, high) if low is not None and high is not None else None
    return WindowVerdict(None, None, "met", 100, 99, 1, 0, 0, None, value, interval, True, None)


PREDICTED = Prediction(None, None, None, 1.0, 0.9, 1.1, "back_to_normal", "")


@pytest.mark.parametrize(
    ("now", "metric", "expected"),
    [
        (verdict(1.05), "ttft", "inside"),
        (verdict(0.8), "ttft", "better"),
        (verdict(1.2), "ttft", "worse"),
        (verdict(1.2, 1.05, 1.3), "ttft", "inside"),
        (verdict(1.2), "goodput", "better"),
        (None, "ttft", "unknown"),
    ],
)
def test_a_figure_is_inside_better_or_worse_than_its_prediction(
    now: WindowVerdict | None, metric: str, expected: str
) -> None:
    assert outcome(PREDICTED, now, metric) == expected
