"""The first screen: title, lead, verdict lines, headline figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.result import AnalysisResult, ObjectiveResult
from reports.text import NBSP, Text
from reports.view import verdict
from reports.view.blocks import Rich
from tests.support.results import at, empty, objective, quiet_week, unjudged, week

EN = Text.of("en", "UTC")


def words(pieces: Rich) -> str:
    return "".join(piece.text for piece in pieces).replace(NBSP, " ")


def with_objectives(*objectives: ObjectiveResult) -> AnalysisResult:
    return replace(quiet_week(), objectives=list(objectives))


BREACHED = objective("a", "A", "ttft", verdict="breached", incident=0.1)
MET = objective("b", "B", "tpot")


@pytest.mark.parametrize(
    ("result", "title"),
    [
        (week(), "Week 10: four objectives breached on Saturday"),
        (with_objectives(BREACHED, MET), "Week 10: one objective breached on Saturday"),
        (with_objectives(replace(BREACHED, window=None)), "Week 10: one objective breached"),
        (with_objectives(replace(MET, verdict="endangered"), MET), "Week 10: one objective endangered"),
        (with_objectives(MET, replace(MET, id="c")), "Week 10: both objectives met"),
        (with_objectives(MET), "Week 10: the objective is met"),
        (with_objectives(MET, unjudged("u", "U", "ttfa", "unknown", needed=None)), "Week 10: no objective breached, 1 not judged"),
        (with_objectives(unjudged("u", "U", "ttfa", "unknown", needed=None)), "Week 10: no objective could be judged"),
        (empty(), "Mon 2 – Sun 8 March 2026: no requests"),
    ],
)  # fmt: skip
def test_the_title_says_the_finding(result: AnalysisResult, title: str) -> None:
    assert verdict.title(result, EN) == title


def test_without_a_week_or_range_the_title_names_the_hours_of_the_requests() -> None:
    result = quiet_week()
    opened = replace(result, selection=replace(result.selection, week=None, start=None, end=None))
    short = replace(opened, summary=replace(opened.summary, first=at(131), last=at(131.99)))
    assert verdict.title(short, EN) == "Sat 7 March 2026 11:00–11:59: all three objectives met"
    assert verdict.under_title(short, EN).startswith("UTC · 2.27")


def test_under_the_title_stand_days_sample_people_and_filters() -> None:
    result = week()
    filtered = replace(result, selection=replace(result.selection, where={"scenario": ["chat", "rag"]}))
    assert verdict.under_title(filtered, EN).replace(NBSP, " ") == (
        "Mon 2 – Sun 8 March 2026, UTC · 2.27 million requests (113,527 read, 5 % sample) · "
        "24 tenants, 1,500 users · scenario = chat, rag"
    )


def test_the_lead_tells_the_first_finding_once_for_one_incident() -> None:
    assert words(verdict.lead(week(), EN)) == (
        "Two of three lm-large replicas missing in us-east, Sat 12:45–16:15. Stage queue: mean queue 0.120 s → 1.19 s."
    )


def test_the_lead_says_how_many_further_incidents_there_are() -> None:
    result = week()
    other = replace(result.findings[1], incident="inc-2")
    assert words(verdict.lead(replace(result, findings=[result.findings[0], other]), EN)).endswith(
        "One further incident stands below."
    )


def test_a_breach_without_a_finding_is_not_called_healthy() -> None:
    assert words(verdict.lead(with_objectives(BREACHED), EN)) == (
        "No cause explains the breach: part 2 says what was tested and what would tell more."
    )


def test_verdict_lines_leave_room_for_the_rest_of_the_screen() -> None:
    many = [replace(BREACHED, id=f"o{n}", title=f"O{n}") for n in range(20)]
    lines = verdict.verdict_lines(with_objectives(*many, MET), EN)
    assert len(lines) == 7
    assert words(lines[5].sentence) == f"15 more: {', '.join(f'O{n}' for n in range(5, 20))} all objectives"


def test_a_line_tells_figure_interval_target_surety_time_and_place() -> None:
    lines = verdict.verdict_lines(week(), EN)
    assert [line.badge.verdict for line in lines] == [
        "breached",
        "breached",
        "breached",
        "breached",
        "met",
        "too_few",
        "unknown",
    ]
    assert (
        words(lines[1].sentence)
        == "TTFT ≤ 3.7 s for rag – 93.9 % (91.5–95.7) of 587 vs 95 %, within noise · Sat 12:00–16:00, same incident"
    )
    assert [line.figure.replace(NBSP, " ") for line in lines[:3]] == ["25 %", "12 %", "28 %"]
    assert words(lines[5].sentence) == "TTFT after a cold start: 0 requests. 30 needed."


def test_an_objective_on_a_statistic_shows_its_value_and_whose_it_is() -> None:
    per_user = next(o for o in week().objectives if o.id == "user.cost")
    lines = verdict.verdict_lines(with_objectives(replace(per_user, verdict="breached")), EN)
    assert words(lines[0].sentence) == "cost per user ≤ 263.74 USD – sum 142 USD vs 263.74 USD, n 4,615 · user-0000"


def test_headline_figures_carry_counts_and_intervals() -> None:
    shown = [(h.label, h.value, h.unit, [words(line) for line in h.lines]) for h in verdict.heads(week(), EN).heads]
    assert [(label, value.replace(NBSP, " "), unit) for label, value, unit, _ in shown] == [
        ("Goodput", "3.69", "good req/s"),
        ("Availability", "99.97 %", ""),
        ("Spend at token prices", "4,079", "USD"),
        ("Data quality", "B", "good, sampled"),
    ]
    assert shown[1][3] == ["99.96–99.98 · 35 of 113,526 failed · 1 excluded · within noise of Week 9 (+0.01 pp)"]


def test_headline_figures_of_an_empty_selection_are_unknown_with_the_reason() -> None:
    shown = [(h.value, words(h.lines[0])) for h in verdict.heads(empty(), EN).heads]
    assert shown == [
        ("–", "no joint objective"),
        ("–", "No valid request."),
        ("–", "No request has tokens and a price."),
        ("–", "0 rows rejected of 0 · details"),
    ]


def test_no_judged_request_is_no_goodput_and_no_price_is_no_spend() -> None:
    result = week()
    unjudged = replace(result.goodput, valid=0, good=0, requests_per_second=0.0, ratio=None, note=None)
    unpriced = replace(result.costs, total_usd="0", priced_share=0.0)
    heads = verdict.heads(replace(result, goodput=unjudged, costs=unpriced), EN).heads
    assert [(head.value, words(head.lines[0])) for head in (heads[0], heads[2])] == [
        ("–", "No request could be judged."),
        ("–", "No price is known for 812 requests."),
    ]


def test_nothing_spent_while_most_requests_have_no_price_is_unknown_and_not_zero() -> None:
    result = week()
    summary = replace(result.summary, requests=40)
    costs = replace(result.costs, total_usd="0", priced_share=0.25, unpriced_requests=30)
    head = verdict.heads(replace(result, summary=summary, costs=costs), EN).heads[2]
    assert (head.value, head.unit, words(head.lines[0])) == ("–", "", "10 of 40 requests priced")
    free = verdict.heads(replace(result, summary=summary, costs=replace(costs, priced_share=0.75)), EN).heads[2]
    assert (free.value, free.unit) == ("0.00", "USD")
