"""Objectives, budgets, burn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.result import BurnPoint
from reports.charts.data import Lines, TimeBars
from reports.text import NBSP, Text
from reports.view.blocks import Cell, Figure, Message, Panel, Table
from reports.view.objectives import budget_cell, budget_part, course, objectives_part, ordered
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> list[str]:
    return ["".join(piece.text for piece in line).replace(NBSP, " ").strip() for line in cell.lines]


def table() -> Table:
    panel = objectives_part(week(), EN).blocks[0]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    return panel.blocks[0]


def test_the_worst_verdict_stands_first() -> None:
    assert [o.verdict for o in ordered(list(reversed(week().objectives)))] == [
        "breached", "breached", "breached", "breached", "endangered", "met", "met", "met", "too_few", "unknown",
    ]  # fmt: skip


def test_a_row_shows_rule_verdict_attainment_counts_budget_and_burn() -> None:
    first = table().rows[0]
    assert words(first.head) == ["code.ttft", "TTFT ≤ 2.45 s for 95 % · code"]
    assert first.cells[0].badge is not None
    assert [words(cell) for cell in first.cells] == [
        [], ["98.8 %", "98.6–98.9"], ["26,880", "1 excluded"], ["25 %"], ["4.0×", "1h"], ["1 of 42 breached"],
    ]  # fmt: skip


def test_the_strip_has_one_bar_per_judged_window_and_the_breached_one_is_red() -> None:
    strip = table().rows[0].cells[5].strip
    assert strip is not None
    assert len(strip.bars) == 42
    assert [index for index, bar in enumerate(strip.bars) if bar.bad] == [33]
    assert strip.bars[33].height == "26.0"


def test_what_was_not_judged_is_a_dash_with_what_is_needed() -> None:
    too_few, unknown = table().rows[8:]
    assert [words(cell) for cell in too_few.cells] == [[], ["–"], ["0", "30 needed"], ["–"], ["–"], ["none judged"]]
    assert words(unknown.cells[2]) == ["0", "113,527 unknown"]


def test_an_overspent_budget_is_a_full_red_bar() -> None:
    result = week()
    spent = replace(result, objectives=[replace(result.objectives[0], budget_spent=4.34)])
    panel = objectives_part(spent, EN).blocks[0]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    cell = panel.blocks[0].rows[0].cells[3]
    assert cell.meter is not None
    assert (cell.meter.width, cell.meter.over, words(cell)) == ("100.0%", True, ["434 %"])


def test_budget_left_falls_by_the_bad_requests_of_each_hour() -> None:
    figure = budget_part(week(), EN).blocks[0]
    assert isinstance(figure, Figure)
    left, burn = (chart.data for chart in figure.charts)
    assert isinstance(left, Lines)
    assert isinstance(burn, TimeBars)
    objective = week().objectives[0]
    budget = sum(point.good + point.bad for point in objective.hours) * 0.05
    assert left.lines[0].y[0] == 1 - objective.hours[0].bad / (168 * 150 * (1 - 0.95))
    assert left.lines[0].y[-1] == 1 - sum(p.bad for p in objective.hours) / (budget / 0.05 * (1 - 0.95))
    assert [line.name for line in left.lines] == ["code.ttft", "rag.ttft", "code.e2e", "chat.ttft"]
    assert [x for x, bad in zip(burn.x, burn.bad, strict=True) if bad] == [
        "2026-03-07 12:00:00", "2026-03-07 13:00:00", "2026-03-07 14:00:00", "2026-03-07 15:00:00",
    ]  # fmt: skip
    assert figure.says == "No alert: the burn over 1h is 4.0×, its factor is 13.4×."


def test_the_budget_left_is_that_of_the_period_with_days_before_the_selection() -> None:
    """Days that the selection has whole are told by its hours; one of which it has a part stands first with its rest."""
    hours = [BurnPoint(f"2026-03-03T{hour:02d}:00:00Z", 90, 10, 90.0, 10.0) for hour in (4, 5, 6)]
    days = [
        BurnPoint("2026-02-27T00:00:00Z", 300, 0, 300.0, 0.0),
        BurnPoint("2026-03-01T00:00:00Z", 190, 10, 190.0, 10.0),
        BurnPoint("2026-03-03T00:00:00Z", 370, 30, 370.0, 30.0),  # 100 good ones before the selection
    ]
    item = replace(week().objectives[0], target=0.9, period="28d", hours=hours, period_days=days)
    assert course(item) == [
        ("2026-02-27T00:00:00Z", 300.0, 0.0),
        ("2026-03-01T00:00:00Z", 190.0, 10.0),
        ("2026-03-03T00:00:00Z", 100.0, 0.0),
        *((point.at, 90.0, 10.0) for point in hours),
    ]
    figure = budget_part(replace(week(), objectives=[item]), EN).blocks[0]
    assert isinstance(figure, Figure)
    left = figure.charts[0].data
    assert isinstance(left, Lines)
    budget = 900 * (1 - 0.9)
    assert left.lines[0].y == pytest.approx(
        [1, 1 - 10 / budget, 1 - 10 / budget, *(1 - n / budget for n in (20, 30, 40))]
    )
    assert left.lines[0].x[0] == "2026-02-27 00:00:00"
    assert "The budget is that of its last 28d." in figure.says
    shorter = replace(item, period="4h", period_days=[BurnPoint("2026-03-03T00:00:00Z", 150, 20, 150.0, 20.0)])
    assert course(shorter) == [("2026-03-03T00:00:00Z", 150.0, 20.0)]


def test_burn_and_budget_are_those_of_all_traffic() -> None:
    """Of a sample that keeps the bad in full and the good by one in twenty, the bad are 5 % and not half."""
    hours = [BurnPoint(f"2026-03-03T{hour:02d}:00:00Z", 19, 20, 380.0, 20.0) for hour in (4, 5, 6)]
    item = replace(week().objectives[0], target=0.95, period=None, hours=hours, period_days=[])
    figure = budget_part(replace(week(), objectives=[item]), EN).blocks[0]
    assert isinstance(figure, Figure)
    left, burn = (chart.data for chart in figure.charts)
    assert isinstance(left, Lines)
    assert isinstance(burn, TimeBars)
    assert burn.y == pytest.approx([1.0, 1.0, 1.0])
    assert left.lines[0].y[-1] == pytest.approx(0.0)
    assert figure.table is not None
    assert words(figure.table.rows[0].cells[0]) == ["95.0 %", "117"]


def test_a_firing_burn_rate_is_an_alert() -> None:
    result = week()
    endangered = [objective for objective in result.objectives if objective.verdict == "endangered"]
    figure = budget_part(replace(result, objectives=endangered), EN).blocks[0]
    assert isinstance(figure, Figure)
    assert figure.says == "Alert: the burn over 6h reached 0.9×, its factor is 5.6×."


def test_too_short_a_course_is_a_sentence_and_a_table() -> None:
    result = week()
    short = replace(result, objectives=[replace(result.objectives[0], hours=result.objectives[0].hours[:2])])
    message, panel = budget_part(short, EN).blocks
    assert isinstance(message, Message)
    assert message.sentences[0].text == "Requests lie in fewer than 3 hours: too short for a course of budget and burn."
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    assert words(panel.blocks[0].rows[0].cells[0]) == ["99.3 %", "300"]


def test_without_hours_the_part_says_what_is_missing() -> None:
    part = budget_part(empty(), EN)
    assert [type(block) for block in part.blocks] == [Message]


def test_the_budget_of_the_period_stands_beneath_that_of_the_selection() -> None:
    result = week()
    longer = replace(
        result.objectives[0], period="28d", period_budget_spent=1.4, burn_exhausted_at="2026-03-19T06:00:00Z"
    )
    panel = objectives_part(replace(result, objectives=[longer]), EN).blocks[0]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    assert words(panel.blocks[0].rows[0].cells[3]) == ["25 %", "28d: 140 %"]
    figure = budget_part(replace(result, objectives=[longer]), EN).blocks[0]
    assert isinstance(figure, Figure)
    assert figure.says.endswith("At this pace the budget is spent on Thu 19 March 06:00.")


def test_a_budget_without_a_verdict_has_no_bar() -> None:
    spent = replace(week().objectives[0], budget_spent=2.4)
    shown = [budget_cell(replace(spent, verdict=verdict)).meter for verdict in ("breached", "too_few", "unknown")]
    assert [meter is not None and meter.over for meter in shown] == [True, False, False]
    assert shown[1:] == [None, None]


def test_the_interval_by_blocks_stands_beneath_the_other_and_is_explained() -> None:
    result = week()
    clustered = replace(result, objectives=[replace(result.objectives[0], block_interval=(0.971, 0.996))])
    panel = objectives_part(clustered, EN).blocks[0]
    assert isinstance(panel, Panel)
    shown = panel.blocks[0]
    assert isinstance(shown, Table)
    assert words(shown.rows[0].cells[1]) == ["98.8 %", "98.6–98.9", "by blocks 97.1–99.6"]
    assert "the interval where requests of the same ten minutes stand or fall together" in (shown.note or "")
    assert "By blocks" not in (table().note or "")


def test_valid_is_of_the_whole_selection_and_the_worst_count_stands_beside_the_worst_value() -> None:
    rows = {words(row.head)[0]: row for row in table().rows}
    per_user = rows["user.cost"]
    assert words(per_user.cells[1])[1] == "most: user-0000, n 4,615"
    assert words(per_user.cells[2])[0] == "113,527"
    result = week()
    first = result.objectives[0]
    assert first.worst is not None
    percentile = replace(first, target=None, statistic="p95", value=2.1, worst=replace(first.worst, n=171))
    panel = objectives_part(replace(result, objectives=[percentile]), EN).blocks[0]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    assert words(panel.blocks[0].rows[0].cells[2])[0] == f"{first.good + first.bad:,}"
