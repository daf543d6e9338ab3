"""From normal to incident on the page of a breach: bars that meet, lines with gaps, one line for the prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.result import AnalysisResult, SegmentLine, SegmentSeries, Shift, ShiftStep
from reports.charts.catalog import draw
from reports.charts.data import Lines, Losses
from reports.pages import render_breach
from reports.text import NBSP, Text
from reports.view.shift import series_figure, shift_figure, shift_line
from tests.support.browser import opened, running
from tests.support.results import week

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EN = Text.of("en", "UTC")
MS = 1_000_000
SAYS = "The percentile of requests with status ok; its parts are those of the requests around it."
SHIFT = Shift(
    "p95", "s", 1000 * MS, 3700 * MS, 2700 * MS, 400, 90,
    [
        ShiftStep("gateway", None, 5 * MS, 5 * MS, 0),
        ShiftStep("queue", None, 200 * MS, 3200 * MS, 3000 * MS),
        ShiftStep("prefill", None, 795 * MS, 394 * MS, -401 * MS),
        ShiftStep("error", None, 0, 101 * MS, 101 * MS),
    ],
    SAYS,
)  # fmt: skip
SERIES = SegmentSeries(
    "p95", "s", "2026-03-07T12:00:00Z", 3600.0, 20,
    [
        SegmentLine("lm-large, <b>us-east</b>", "segment", [40, 41, 3, 44], [1.0, 3.5, None, 3.8]),
        SegmentLine(None, "rest", [90, 91, 92, 93], [1.1, 1.0, 1.2, 1.1]),
    ],
)  # fmt: skip


def told() -> AnalysisResult:
    result = week()
    return replace(result, findings=[replace(finding, shift=SHIFT, series=SERIES) for finding in result.findings])


def test_the_bars_lead_from_normal_to_incident_without_a_gap() -> None:
    result = told()
    found = shift_figure(result.findings[0], result.objectives[0], EN)
    assert found is not None
    bars = found.charts[0].data
    assert isinstance(bars, Losses)
    assert bars.steps == ("normal", "queue", "prefill", "error", "incident")
    assert bars.values == (1.0, 3.0, -0.401, 0.101, 3.7)
    assert bars.begins == (0.0, 1.0, 4.0, 3.599, 0.0)
    assert [end.replace(NBSP, " ") for end in bars.ends] == ["1.00 s", "+3.00 s", "−0.401 s", "+0.101 s", "3.70 s"]
    assert found.table is not None
    assert len(found.table.rows) == 4


def test_bars_begin_where_they_should_in_the_figure_and_words_stand_right_of_them() -> None:
    figure = json.loads(
        draw(Losses(("a", "b"), (2.0, -1.5), ("2", "-1.5"), ("bad", "bad"), ("", ""), "s", (0.0, 2.0)), 90)
    )
    assert figure["data"][0]["base"] == [0.0, 2.0]
    assert [note["x"] for note in figure["layout"]["annotations"]] == [2.0, 2.0]


def test_one_line_tells_the_shift_and_adds_up() -> None:
    line = shift_line(SHIFT, EN, most=2).replace(NBSP, " ")
    assert line == "P95 1.00 s → 3.70 s: queue +3.00 s, prefill −0.401 s, all other steps +0.101 s"
    assert shift_line(replace(SHIFT, baseline_nano=None), EN) == ""


def test_a_window_with_too_few_requests_is_a_gap_in_the_line_and_a_count_in_the_table() -> None:
    result = told()
    found = series_figure(result.findings[0], result.objectives[0], result, EN)
    assert found is not None
    lines = found.charts[0].data
    assert isinstance(lines, Lines)
    assert [(line.name, line.y[4:6]) for line in lines.lines] == [
        ("lm-large, <b>us-east</b>", (None, None)),
        ("the rest", (1.2, 1.2)),
    ]
    assert found.table is not None
    cells = ["".join(piece.text for line in cell.lines for piece in line) for cell in found.table.rows[2].cells]
    assert cells[:2] == ["–", "3"]


def test_a_percentile_among_failed_requests_is_told_as_at_least_the_longest_answer() -> None:
    result = told()
    line = replace(SERIES.lines[0], at_least=[False, True, False, False])
    finding = replace(result.findings[0], series=replace(SERIES, lines=[line, SERIES.lines[1]]))
    found = series_figure(finding, result.objectives[0], result, EN)
    assert found is not None
    assert "the longest answer is drawn" in found.says
    assert found.table is not None
    cells = ["".join(piece.text for part in cell.lines for piece in part) for cell in found.table.rows[1].cells]
    assert cells[0].replace(NBSP, " ") == "≥ 3.50 s"


def test_a_result_of_an_earlier_version_has_neither() -> None:
    result = week()
    assert shift_figure(result.findings[0], result.objectives[0], EN) is None
    assert series_figure(result.findings[0], result.objectives[0], result, EN) is None
    assert "From normal to incident" not in render_breach(result, result.findings[0].objective).decode()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as found:
        yield found


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("width", [1440, 375])
def test_the_page_draws_both_within_its_width(browser: Browser, tmp_path: Path, width: int) -> None:
    result = told()
    file = tmp_path / "breach.html"
    file.write_bytes(render_breach(result, result.findings[0].objective))
    with opened(browser, width=width) as (page, watched):
        page.goto(file.as_uri())
        for title in ("From normal to incident, by stage", "The segment against the rest"):
            page.locator("figure", has_text=title).locator(".main-svg").first.wait_for(timeout=30_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("figure b", has_text="us-east").count() == 0
    assert watched.complaints == []
