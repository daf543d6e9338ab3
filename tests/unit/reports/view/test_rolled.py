"""The panel of dropped days: what is exact, what is near, and nothing where no day was dropped."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import RolledDistribution, RolledFigures, RolledObjective
from reports.text import Text
from reports.view.blocks import Message, Panel, Table
from reports.view.rolled import rolled_blocks
from tests.support.results import week

EN = Text.of("en", "UTC")
ROLLED = RolledFigures(
    start="2026-03-02T00:00:00Z",
    end="2026-03-05T00:00:00Z",
    days=3,
    requests_dropped=12_345,
    requests=20_000,
    by_status={"ok": 20_000},
    latency=[
        RolledDistribution("ttft", "Time to first token", "s", "all", 20_000, 0.25, 1.5, 2.0),
        RolledDistribution("ttft", "Time to first token", "s", True, 9_000, 0.25, 1.5, 2.0),
    ],
    objectives=[
        RolledObjective("chat.ttft", 19_000, 1_000, 0, 0, 0.95, 11_000, "2 of 3 dropped days were not counted")
    ],
    cost_usd="12.5",
    unpriced_requests=0,
    basis={},
    notes=["a day was cut"],
)


def texts(table: Table) -> list[list[str]]:
    return [
        ["".join(piece.text for line in cell.lines for piece in line) for cell in (row.head, *row.cells)]
        for row in table.rows
    ]


def test_each_figure_is_told_with_how_exact_it_is() -> None:
    (panel,) = rolled_blocks(replace(week(), rolled=ROLLED), EN)
    assert isinstance(panel, Panel)
    says = ["".join(piece.text for piece in block.sentences) for block in panel.blocks if isinstance(block, Message)]
    assert says[0].startswith("Rows of 12,345 requests, ")
    assert says[1] == "a day was cut"
    attainment, latency = (block for block in panel.blocks if isinstance(block, Table))
    assert texts(attainment)[0][0] == "chat.ttft2 of 3 dropped days were not counted"
    assert texts(attainment)[0][2:] == ["19,000", "1,000", "11,000"]
    assert [column.label for column in latency.columns][2:] == [f"{p}, within 1 %" for p in ("P50", "P95", "P99")]
    assert [row[1] for row in texts(latency)] == ["20,000"]


def test_without_dropped_days_there_is_no_panel() -> None:
    assert rolled_blocks(week(), EN) == ()
    nothing = replace(ROLLED, requests=None, latency=[], objectives=[], notes=[])
    (panel,) = rolled_blocks(replace(week(), rolled=nothing), EN)
    assert isinstance(panel, Panel)
    assert len(panel.blocks) == 1
