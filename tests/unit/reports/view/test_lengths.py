"""Input length by output length."""

from __future__ import annotations

from reports.text import NBSP, Text
from reports.view.blocks import Cell, Message, Panel, Table, Tabs
from reports.view.labels import bucket_key
from reports.view.lengths import lengths_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> list[str]:
    return ["".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines]


def grid(index: int) -> Table:
    panel = lengths_part(week(), EN).blocks[0]
    assert isinstance(panel, Panel)
    tabs = panel.blocks[0]
    assert isinstance(tabs, Tabs)
    assert [tab.label for tab in tabs.tabs] == ["P95 of TTFT", "P95 of E2E", "Attainment", "Share of cost"]
    return tabs.tabs[index].block


def test_buckets_stand_in_order_of_length() -> None:
    assert sorted([">=32k", "2k-8k", "<512", "8k-32k", "512-2k"], key=bucket_key) == [
        "<512",
        "512-2k",
        "2k-8k",
        "8k-32k",
        ">=32k",
    ]
    assert [row.head.lines[0][0].text for row in grid(0).rows] == ["<512", "512-2k", "2k-8k", "8k-32k", ">=32k"]


def test_a_cell_with_fewer_than_thirty_requests_is_hatched_without_a_figure() -> None:
    first = grid(0).rows[0].cells
    assert [(words(cell), cell.heat) for cell in first[:4]] == [
        (["too few", "n 2"], "thin"), (["too few", "n 24"], "thin"), (["too few", "n 5"], "thin"), (["none"], None),
    ]  # fmt: skip


def test_the_slowest_cells_are_deepest() -> None:
    column = [row.cells[1] for row in grid(0).rows]
    assert [cell.heat for cell in column] == ["thin", "h0", "h2", "h4", "h5"]
    assert words(column[4]) == ["4.60 s", "n 2,805"]


def test_attainment_is_coloured_by_what_is_missing() -> None:
    assert [(words(cell)[0], cell.heat) for cell in grid(2).rows[1].cells[:4]] == [
        ("98.9 %", "h1"), ("98.9 %", "h1"), ("98.9 %", "h1"), ("15.2 %", "h5"),
    ]  # fmt: skip


def test_the_lowest_cell_is_told_in_the_lead() -> None:
    assert (
        lengths_part(week(), EN)
        .lead.replace(NBSP, " ")
        .startswith("Lowest: inputs of 2k-8k with outputs of 1k-4k are good in 15.2 % of 104 requests.")
    )


def test_without_tokens_the_part_says_what_to_log() -> None:
    assert [type(block) for block in lengths_part(empty(), EN).blocks] == [Message]
