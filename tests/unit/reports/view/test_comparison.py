"""The selection against the one before."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import CostStep, SliceChange
from reports.text import NBSP, Text
from reports.view.blocks import Cell, Fold, Message, Panel, Table
from reports.view.comparison import comparison_part
from tests.support.results import quiet_week, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def test_a_change_shows_both_sides_its_interval_and_its_reading() -> None:
    panel = comparison_part(week(), EN).blocks[0]
    assert isinstance(panel, Panel)
    table = panel.blocks[0]
    assert isinstance(table, Table)
    assert [column.label for column in table.columns[:3]] == ["Figure", "Week 9", "Week 10"]
    shown = [[words(row.head), *map(words, row.cells)] for row in table.rows]
    assert shown[:2] == [
        ["TPOT / P95", "47.0 ms / n 91,500", "51.2 ms / n 93,120", "+4.20 ms / +8.9 %", "+1.90 – +6.40 ms", "–", "worse"],
        ["chat.ttft / attainment", "99.0 % / n 52,900", "98.9 % / n 53,508", "−0.15 pp", "−0.3 – −0.02 pp", "+0.01 pp / −0.16 pp", "worse"],
    ]  # fmt: skip
    assert [line[0] for line in shown[2:]] == [
        "TTFT / mean",
        "queue / mean",
        "cost / sum",
        "goodput / rate",
        "availability / ratio",
    ]


def test_every_figure_that_was_compared_stands_behind_a_fold() -> None:
    fold = comparison_part(week(), EN).blocks[1]
    assert isinstance(fold, Fold)
    assert fold.summary == "All 9 figures that were compared"
    assert isinstance(fold.blocks[0], Table)
    rows = [[words(row.head), *map(words, row.cells)] for row in fold.blocks[0].rows]
    assert rows[3][0] == "TPOT / P95 at the mix before"
    assert rows[8] == ["TTFA / mean", "– / n 0", "– / n 0", "–", "–", "–", "not known"]


def test_the_lead_names_what_moved_beyond_noise() -> None:
    assert comparison_part(week(), EN).lead.replace(NBSP, " ") == (
        "Beyond noise: TPOT P95 +8.9 %, chat.ttft attainment −0.15 pp. A change counts only if its interval leaves out zero."
    )
    result = week()
    assert result.comparison is not None
    still = replace(result.comparison, changes=result.comparison.changes[:2])
    assert comparison_part(replace(result, comparison=still), EN).lead.startswith("Nothing changed beyond noise.")


def test_new_lengths_are_named() -> None:
    message = comparison_part(week(), EN).blocks[2]
    assert isinstance(message, Message)
    assert message.sentences[0].text == "New lengths: 8k-32k / 1k-4k"


def test_without_a_baseline_the_part_says_how_to_give_one() -> None:
    part = comparison_part(quiet_week(), EN)
    assert isinstance(part.blocks[0], Message)
    assert "--compare-with PATH" in part.blocks[0].sentences[0].text


def test_the_steps_of_the_bill_add_up_to_its_change() -> None:
    result = week()
    assert result.comparison is not None
    steps = [
        CostStep("volume", "Volume", "-26.56"),
        CostStep("cache", "Cache", "45.73"),
        CostStep("tides", "Tides", "0.01"),
    ]
    told = replace(result.comparison, cost_steps=steps, new_strata=[])
    panel = comparison_part(replace(result, comparison=told), EN).blocks[2]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    assert [[words(row.head), words(row.cells[0])] for row in (*panel.blocks[0].rows, *panel.blocks[0].foot)] == [
        ["more or fewer requests", "−26.56"], ["cached share of the input", "45.73"], ["Tides", "0.01"], ["Total", "19.18"],
    ]  # fmt: skip


def test_only_slices_that_changed_are_shown() -> None:
    result = week()
    assert result.comparison is not None
    changed = SliceChange("ttft", "s", "lm-large / code", 629, 657, 0.19, 0.152, 1.71, 0.908, 0.001, changed=True)
    told = replace(
        result.comparison, slices=[changed, replace(changed, stratum="lm-small / chat", changed=False)], new_strata=[]
    )
    panel = comparison_part(replace(result, comparison=told), EN).blocks[2]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    assert [[words(row.head), *map(words, row.cells)] for row in panel.blocks[0].rows] == [
        ["lm-large / code", "TTFT", "0.152 s / 0.908 s", "0.190 s / 1.71 s", "657", "629"]
    ]
