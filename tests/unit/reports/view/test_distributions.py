"""Percentiles, curves, hours."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import AnalysisResult
from reports.charts.data import HeatMap, Lines
from reports.text import NBSP, Text
from reports.view.blocks import Cell, Figure, Fold, Message, Table
from reports.view.distributions import distributions_part
from tests.support.results import distribution, empty, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> list[str]:
    return ["".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines]


def within(result: AnalysisResult) -> Figure:
    figure = distributions_part(result, EN).blocks[0]
    assert isinstance(figure, Figure)
    return figure


def test_each_percentile_carries_its_interval_or_that_it_has_too_few() -> None:
    table = within(week()).table
    assert isinstance(table, Table)
    assert [words(cell) for cell in table.rows[0].cells] == [
        ["yes"], ["94,513"], ["1.10 s"], ["0.421 s", "0.417–0.425 s"], ["3.54 s", "3.43–3.68 s"], ["14.8 s"], ["52.9 s"], ["99.97 %"],
    ]  # fmt: skip
    assert words(table.rows[4].cells[5]) == ["48.0 s", "too few"]


def test_streamed_and_unstreamed_requests_are_lines_of_their_own() -> None:
    figure = within(week())
    ttft = figure.charts[0].data
    assert isinstance(ttft, Lines)
    assert [(line.name, line.dash, line.markers) for line in ttft.lines] == [
        ("streamed", "solid", False), ("streamed", "solid", True), ("not streamed", "dash", False),
    ]  # fmt: skip
    assert ttft.lines[1].x == (0.421, 3.54, 14.8)
    assert [(swatch.label, swatch.style) for swatch in figure.legend] == [
        ("streamed", "line"), ("not streamed", "dash"), ("not known whether streamed", "dash"),
    ]  # fmt: skip


def test_all_requests_together_are_drawn_only_where_nothing_tells_them_apart() -> None:
    result = week()
    together = replace(result.latency[0], streaming="all", n=113_491)
    both = within(replace(result, latency=[together, result.latency[0]])).charts[0].data
    alone = within(replace(result, latency=[together])).charts[0].data
    assert isinstance(both, Lines)
    assert isinstance(alone, Lines)
    assert {line.name for line in both.lines} == {"streamed"}
    assert {line.name for line in alone.lines} == {"all requests"}


def test_stages_and_further_metrics_stand_behind_a_fold() -> None:
    result = week()
    queue = distribution("queue", "Waiting", True, (0.1, 0.05, 0.7, 1.1, 9.0), 94_513)
    fold = distributions_part(replace(result, latency=[*result.latency, queue]), EN).blocks[1]
    assert isinstance(fold, Fold)
    assert fold.summary == "Percentiles of 1 further metrics"


def test_the_heat_map_marks_hours_by_their_bad_share_and_leaves_thin_ones_out() -> None:
    result = week()
    figure = distributions_part(result, EN).blocks[1]
    assert isinstance(figure, Figure)
    heat = figure.charts[0].data
    assert isinstance(heat, HeatMap)
    assert heat.steps[5][11:16] == (1, 3, 3, 3, 3)
    assert heat.texts[5][11:16] == ("", "88", "88", "88", "88")
    assert figure.says.replace(NBSP, " ").startswith("Lowest: Sat 13:00 with 88.4 % good of 740.")
    thin = [replace(cell, good=10, bad=2) if cell.hour == 0 else cell for cell in result.load.hours]
    redrawn = distributions_part(replace(result, load=replace(result.load, hours=thin)), EN).blocks[1]
    assert isinstance(redrawn, Figure)
    assert isinstance(redrawn.charts[0].data, HeatMap)
    assert [line[0] for line in redrawn.charts[0].data.steps] == [None] * 7


def test_few_hours_make_no_pattern() -> None:
    result = week()
    few = replace(result, load=replace(result.load, hours=result.load.hours[:11]))
    message = distributions_part(few, EN).blocks[1]
    assert isinstance(message, Message)
    assert message.sentences[0].text.startswith("Judged requests lie in fewer than 12 hours of the week")


def test_without_durations_the_part_says_what_to_log() -> None:
    assert [type(block) for block in distributions_part(empty(), EN).blocks] == [Message]


def test_percentiles_with_failures_stand_beneath_the_success_share_where_they_differ() -> None:
    result = week()
    first = replace(result.latency[0], success_share=0.97, p95_with_failures=3.98, p99_with_failures=None)
    same = replace(result.latency[1], p95_with_failures=result.latency[1].p95, p99_with_failures=result.latency[1].p99)
    table = within(replace(result, latency=[first, same])).table
    assert isinstance(table, Table)
    assert [words(line.cells[7]) for line in table.rows] == [["97.0 %", "P95 3.98 s", "P99 failed"], ["99.97 %"]]
