"""Words and signs that several parts share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.result import Clause
from reports.text import Text
from reports.view import labels
from reports.view.blocks import Badge
from tests.support.results import at, objective, user_cost, week

EN = Text.of("en", "UTC")


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        ("breached", "Breached"),
        ("endangered", "Endangered"),
        ("met", "Met"),
        ("too_few", "Too few"),
        ("unknown", "Unknown"),
    ],
)
def test_a_verdict_is_a_shape_and_a_word(verdict: str, word: str) -> None:
    assert labels.badge(EN, verdict) == Badge(verdict, word)


def test_the_worst_verdict_of_several_counts() -> None:
    assert labels.worst_verdict(week().objectives) == "breached"
    assert labels.worst_verdict([]) == "unknown"


def test_an_objective_is_told_by_its_parts() -> None:
    assert labels.objective_rule(EN, week().objectives[0]).replace("\u00a0", " ") == "TTFT ≤ 2.45 s for 95 % · code"
    assert labels.objective_rule(EN, user_cost()).replace("\u00a0", " ") == "sum cost ≤ 263.74 USD"
    joint = replace(
        objective("good", "Good", "good"),
        clauses=[Clause("ttft", 2.0, "s", 9, 9, 1.0), Clause("tpot", 0.1, "s/token", 9, 9, 1.0)],
    )
    assert labels.objective_rule(EN, joint).replace("\u00a0", " ") == "TTFT ≤ 2 s, TPOT ≤ 100 ms for 95 %"


def test_a_value_that_says_nothing_by_itself_stands_with_its_dimension() -> None:
    where = {"llm_calls": ["1"], "streaming": ["true"], "model": ["m-70b"]}
    told = replace(week().objectives[0], where=where)
    assert labels.objective_rule(EN, told).replace("\u00a0", " ") == (
        "TTFT ≤ 2.45 s for 95 % · llm_calls = 1, streaming = true, m-70b"
    )


def test_a_period_is_a_week_a_range_or_the_time_of_the_requests() -> None:
    result = week()
    assert labels.period_name(EN, result) == "Week 10"
    days = replace(result, selection=replace(result.selection, week=None))
    assert labels.period_name(EN, days) == "Mon 2 – Sun 8 March 2026"
    opened = replace(
        days,
        selection=replace(days.selection, start=None, end=None),
        summary=replace(days.summary, first=at(1), last=at(2)),
    )
    assert labels.period_name(EN, opened) == "Mon 2 March 2026 01:00–02:00"


def test_segments_are_values_in_a_line_and_pairs_in_full() -> None:
    segment = {"model": "lm-large", "region": "us-east"}
    assert labels.segment_short(segment) == "lm-large us-east"
    assert labels.segment_full(segment) == "model lm-large, region us-east"


def test_an_objective_without_a_title_is_named_by_what_it_asks() -> None:
    named = week().objectives[0]
    assert labels.objective_label(EN, named) == "TTFT ≤ 2.45 s for code"
    bare = replace(named, title=named.id)
    assert labels.objective_label(EN, bare).replace("\u00a0", " ") == "TTFT ≤ 2.45 s for code"
    joint = replace(bare, clauses=[Clause("ttft", 2.0, "s", 9, 9, 1.0), Clause("e2e", 9.0, "s", 9, 9, 1.0)])
    assert labels.objective_label(EN, joint) == "code.ttft"
    percentile = replace(bare, statistic="p95", target=None, where={})
    assert labels.objective_label(EN, percentile).replace("\u00a0", " ") == "P95 TTFT ≤ 2.45 s"
    up = replace(bare, metric="availability", target=None, threshold=0.99, unit="ratio", where={})
    assert labels.objective_label(EN, up).replace("\u00a0", " ") == "availability ≥ 99 %"


def test_a_name_from_outside_stays_one_path_of_an_address() -> None:
    assert labels.address("requests", "a/../b?c#d e") == "/requests/a%2F..%2Fb%3Fc%23d%20e"
