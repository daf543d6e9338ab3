"""All charts, by the record each one draws.

Output: `draw(data, height) -> dict`, the figure as plotly's own JSON structure.
"""

from __future__ import annotations

import json
from typing import Any

from reports.charts.bars import count_columns, losses, stacked_bars, stacked_columns
from reports.charts.data import (
    ChartData,
    CountColumns,
    HeatMap,
    Lines,
    Losses,
    StackedBars,
    StackedColumns,
    TimeBars,
    Timeline,
)
from reports.charts.heat import heat
from reports.charts.lines import lines, time_bars
from reports.charts.timeline import timeline

CHARTS: tuple[tuple[type[Any], Any], ...] = (
    (StackedBars, stacked_bars),
    (StackedColumns, stacked_columns),
    (Lines, lines),
    (TimeBars, time_bars),
    (HeatMap, heat),
    (Losses, losses),
    (CountColumns, count_columns),
    (Timeline, timeline),
)

DRAWN_DIGITS = 6  # of a place in a plot: finer than any screen, and a third of the bytes; figures stand in the texts


def draw(data: ChartData, height: int) -> str:
    """A figure as JSON text, keys sorted, safe inside a script element: no `<` stands in it."""
    chart = next(function for kind, function in CHARTS if isinstance(data, kind))
    text = json.dumps(
        _quoted(chart(data, height)), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _quoted(value: Any) -> Any:
    """A figure whose texts hold no markup, for names in traces are hostile input; line feeds are breaks of the hover."""
    if isinstance(value, dict):
        return {key: _quoted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_quoted(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DRAWN_DIGITS}g}")
    return value.replace("<", "&lt;") if isinstance(value, str) else value
