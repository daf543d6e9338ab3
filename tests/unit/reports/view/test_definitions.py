"""What the figures mean and how to make them again."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import CompatibleFigure
from reports.text import Text
from reports.view.blocks import Code, Columns, Facts, Fold, Panel, Table
from reports.view.definitions import definitions_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def test_the_command_and_the_inputs_stand_for_making_it_again() -> None:
    columns = definitions_part(week(), EN, "here").blocks[0]
    assert isinstance(columns, Columns)
    reproduce = columns.blocks[1]
    assert isinstance(reproduce, Panel)
    facts, code = reproduce.blocks
    assert isinstance(facts, Facts)
    assert isinstance(code, Code)
    assert code.text == "tailwise report traces/ --week 2026-W10 --timezone UTC"
    told = {fact.label: fact.lines[0][0].text for fact in facts.facts}
    assert told["Selection"] == "2026-03-02T00:00:00Z to 2026-03-09T00:00:00Z, no filter"
    assert told["Made"] == "Mon 9 March 06:00 UTC"


def test_definitions_are_grouped_by_kind() -> None:
    fold = definitions_part(week(), EN, "here").blocks[1]
    assert isinstance(fold, Fold)
    tables = [block for block in fold.blocks if isinstance(block, Table)]
    assert [(table.name, len(table.rows)) for table in tables] == [("Metrics", 2), ("Stages", 1), ("Rules", 1)]


def test_a_result_without_definitions_has_no_fold() -> None:
    assert [type(block) for block in definitions_part(empty(), EN, "here").blocks] == [Columns]


def test_figures_of_other_tools_stand_apart_behind_a_fold() -> None:
    figure = CompatibleFigure("vLLM bench", "mean TPOT", "s/token", 18, 0.031, "mean over requests")
    fold = definitions_part(replace(week(), compatible=[figure]), EN, "here").blocks[2]
    assert isinstance(fold, Fold)
    assert fold.summary == "Figures as other tools define them: 1"
    assert isinstance(fold.blocks[0], Table)
    row = fold.blocks[0].rows[0]
    assert [cell.lines[0][0].text.replace("\u00a0", " ") for cell in (row.head, *row.cells)] == [
        "vLLM bench", "mean TPOT", "31.0 ms", "18", "mean over requests",
    ]  # fmt: skip
