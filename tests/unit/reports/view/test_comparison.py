"""The selection against the one before."""

from __future__ import annotations

from dataclasses import replace

from reports.text import NBSP, Text
from reports.view.blocks import Cell, Message, Panel, Table
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
    assert [words(cell) for cell in table.rows[2].cells] == [
        "47.0 ms / n 91,500", "51.2 ms / n 93,120", "+8.9 %", "+4.1 % – +13.7 %", "+1.0 %", "+7.9 %", "worse",
    ]  # fmt: skip
    assert [words(cell) for cell in table.rows[6].cells] == ["– / n 0", "– / n 0", "–", "–", "–", "–", "not known"]


def test_the_lead_names_what_moved_beyond_noise() -> None:
    assert comparison_part(week(), EN).lead.replace(NBSP, " ") == (
        "Beyond noise: TPOT p95 +8.9 %. A change counts only if its interval leaves out zero."
    )
    result = week()
    assert result.comparison is not None
    still = replace(result.comparison, changes=result.comparison.changes[:2])
    assert comparison_part(replace(result, comparison=still), EN).lead.startswith("Nothing changed beyond noise.")


def test_new_lengths_are_named() -> None:
    message = comparison_part(week(), EN).blocks[1]
    assert isinstance(message, Message)
    assert message.sentences[0].text == "New lengths: 8k-32k / 1k-4k"


def test_without_a_baseline_the_part_says_how_to_give_one() -> None:
    part = comparison_part(quiet_week(), EN)
    assert isinstance(part.blocks[0], Message)
    assert "--compare-with PATH" in part.blocks[0].sentences[0].text
