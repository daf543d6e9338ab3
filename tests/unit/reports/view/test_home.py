"""The first page of the service: since when an objective was last broken."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import AnalysisResult
from reports.text import NBSP, Text
from reports.view.home import home_of
from tests.support.results import week
from tests.support.views import home

EN = Text.of("en", "UTC")
MONDAY, NEXT = "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"


def last_breach(result: AnalysisResult) -> str:
    shown = home_of(replace(home(), latest=result), EN).objectives
    assert shown is not None
    (line,) = shown.rows[0].cells[-1].lines
    return "".join(piece.text for piece in line).replace(NBSP, " ")


def broken_all_week() -> AnalysisResult:
    """One objective, whose only window is the calendar week; the requests begin on Wednesday."""
    result = week()
    first = result.objectives[0]
    whole = replace(first.windows[33], start=MONDAY, end=NEXT)
    return replace(
        result,
        objectives=[replace(first, windows=[whole], worst=whole)],
        findings=[],
        summary=replace(result.summary, first="2026-03-04T09:30:00Z"),
    )


def test_a_breach_is_not_dated_before_the_first_request() -> None:
    assert last_breach(broken_all_week()) == EN.moment("2026-03-04T09:30:00Z").replace(NBSP, " ")


def test_a_breach_with_a_finding_is_dated_by_its_latest_time_in_the_window() -> None:
    result = broken_all_week()
    times = [("2026-03-05T10:00:00Z", "2026-03-05T11:00:00Z"), ("2026-03-07T12:00:00Z", "2026-03-07T16:00:00Z")]
    found = replace(week().findings[0], objective=result.objectives[0].id, window=times[0], windows=times)
    other = replace(found, objective="another", windows=[("2026-03-08T12:00:00Z", "2026-03-08T13:00:00Z")])
    told = replace(result, findings=[found, other])
    assert last_breach(told) == EN.moment("2026-03-07T12:00:00Z").replace(NBSP, " ")
