"""What load the service bears, hardware limits, agents, quality."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import AgentFigures, Knee, LoadBand, QualityLine, RooflineLine, Saturation
from reports.text import NBSP, Text
from reports.view.blocks import Cell, Message, Panel, Table
from reports.view.capacity import capacity_blocks
from tests.support.results import week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def rows(panel: object, index: int = 0) -> list[list[str]]:
    assert isinstance(panel, Panel)
    table = panel.blocks[index]
    assert isinstance(table, Table)
    return [[words(row.head), *map(words, row.cells)] for row in table.rows]


def test_a_result_without_such_records_has_no_such_blocks() -> None:
    assert capacity_blocks(week().load, EN) == []


def test_saturation_says_its_verdict_and_shows_its_bands() -> None:
    bands = [LoadBand(3.79, 3326, 1484, 29, 0.98083, 0.98083), LoadBand(11.4, 657, 828, 36, 0.95833, 0.961)]
    found = Saturation("holds", 0.95, None, None, 11.4, bands, "Attainment holds at every load seen.")
    panel = capacity_blocks(replace(week().load, saturation=found), EN)[0]
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Message)
    assert panel.blocks[0].sentences[0].text == "Attainment holds at every load seen."
    assert rows(panel, 1) == [
        ["3.79 req/s", "3,326", "98.1 % / 1,513", "98.1 %"],
        ["11.4 req/s", "657", "95.8 % / 864", "96.1 %"],
    ]


def test_a_knee_is_one_sentence() -> None:
    message = capacity_blocks(replace(week().load, knees=[Knee("ttft", "p95", 48.0, 0.01, 0.25)]), EN)[0]
    assert isinstance(message, Message)
    assert message.sentences[0].text.replace(NBSP, " ") == (
        "TTFT P95 rises faster from 48.0 requests in flight on: 10.0 ms per request below, 0.250 s above."
    )


def test_a_model_stands_against_its_devices() -> None:
    line = RooflineLine(
        "lm-large", 6.4e10, 262_144.0, 6.4e10, 180_000, 3.2e-5, 0.0096, 295.0, 6.0, 4000.0, 6.0, 0.0001, 0.03, 0.32, 0.33, 0.51, 0.21,
        "compute", "bandwidth", ["kv_capacity"], None,
    )  # fmt: skip
    panel = capacity_blocks(replace(week().load, roofline=[line]), EN)[0]
    assert rows(panel) == [
        ["lm-large", "6.00", "compute", "bandwidth", "32.0 %", "33.0 %", "51.0 %", "21.0 %", "kv_capacity"]
    ]


def test_agents_and_quality_have_tables_of_their_own() -> None:
    agents = AgentFigures(603, 3.21, 6.0, None, 0.0413, 0.0718, 0.09, 0.155, 0.00802)
    quality = [QualityLine("lm-large", 120, 0.87, 0.0031, 5.2, 0.41)]
    first, second = capacity_blocks(replace(week().load, agents=agents, quality=quality), EN)
    assert rows(first)[:4] == [
        ["requests of several steps", "603"], ["calls per request, mean", "3.21"], ["calls per request, P95", "6.00"], ["tool steps per request, mean", "–"],
    ]  # fmt: skip
    assert rows(second) == [["lm-large", "120", "0.870", "0.00310 USD", "0.410 s", "5.20 s"]]
