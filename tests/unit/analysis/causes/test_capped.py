"""A window with a limit on answers: lengths of the window at the pace of the normal, spend at each request's price."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.causes.capped import capped
from analysis.causes.goal import Goal
from tests.support.service import Row, findings, in_fault, service
from tests.unit.analysis.causes.goals import a_goal

CHAT = (("scenario", "chat"),)
E2E = """
objectives:
  - {id: e2e, metric: e2e, statistic: p95, threshold: 3500ms, window: 15m, min_requests: 60, where: {scenario: [chat]}}
"""


def goal(metric: str, kind: str = "latency", statistic: str = "mean") -> Goal:
    return Goal(**{**vars(a_goal()), "metric": metric, "kind": kind, "statistic": statistic, "threshold": 3.0})


def answers(*lengths: int, pace: float = 0.02, rest: float = 1.0, scenario: str = "chat") -> pl.DataFrame:
    """Ten requests of each length; a token costs two millionths of a dollar."""
    return pl.DataFrame(
        [
            {
                "scenario": scenario, "output_tokens": made, "t_decode": pace * made, "value": rest + pace * made,
                "output_pico": made * 2_000_000,
            }
            for made in lengths
            for _ in range(10)
        ]
    )  # fmt: skip


def test_lengths_of_the_window_meet_the_pace_of_the_normal() -> None:
    usual = answers(40, 60, 80, 100)  # 95 % end within 100
    window = answers(50, 100, 300, 600, pace=0.06, rest=4.0)
    found = capped(goal("e2e"), CHAT, window, usual)
    assert found is not None
    assert (found.limit, found.cut, found.attainment) == (100, 0.5, 1.0)
    assert found.value == pytest.approx(1.0 + 0.02 * (50 + 100 + 100 + 100) / 4)


def test_spend_falls_by_the_tokens_that_are_cut_and_by_no_other_scenario() -> None:
    priced = pl.col("value") * 0 + pl.col("output_tokens") * 2e-6
    usual = answers(40, 60, 80, 100).with_columns(value=priced)
    others = answers(900, scenario="rag").with_columns(value=priced)
    window = pl.concat([answers(50, 300, 600).with_columns(value=priced), others])
    found = capped(goal("cost", "cost"), CHAT, window, usual)
    assert found is not None
    assert found.value == pytest.approx((50 + 100 + 100 + 900) / 4 * 2e-6)


def test_figures_that_a_limit_does_not_act_on_by_itself_are_not_told() -> None:
    usual, window = answers(40, 60, 80, 100), answers(100, 300, 600, 900)
    assert capped(goal("ttft"), CHAT, window, usual) is None
    assert capped(goal("e2e"), (("scenario", "rag"),), window, usual) is None  # not its answers
    assert capped(goal("e2e"), CHAT, window.head(10), usual) is None
    assert capped(goal("cost", "cost"), CHAT, window.drop("output_pico"), usual.drop("output_pico")) is None


def longer_answers(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "chat":
        row["output_tokens"] *= 3


def test_a_finding_of_longer_answers_says_what_a_limit_leaves() -> None:
    (found,) = findings(service(longer_answers), E2E)
    predicted = {item.id: item.predicted for item in found.recommendations}["output_length_control"]
    assert predicted is not None
    assert predicted.value is not None
    assert predicted.basis == "remedy"
    assert predicted.ignores.startswith("Assumes a limit of 1")  # about 150 tokens
    assert 2.9 < predicted.value < 4.5  # normal chats have 3.4 s at P95, those of the fault above 9
