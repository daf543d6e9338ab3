"""Bars in rows over the time of one request.

Input: Timeline of charts/data.py. Output: a figure in the structure of plotly.
"""

from __future__ import annotations

from typing import Any

from reports.charts import theme
from reports.charts.data import Timeline, TimelineBar


def timeline(data: Timeline, height: int) -> dict[str, Any]:
    """Each bar starts where its span does; containers are outlines."""
    bars = [(row, bar) for row, line in zip(data.rows, data.bars, strict=True) for bar in line]
    room = theme.room([row.rstrip("\u200b\u200c") for row in data.rows])
    groups = [[item for item in bars if item[1].hatched is hatched] for hatched in (False, True)]
    traces = [_trace(group, hatched=hatched) for group, hatched in zip(groups, (False, True), strict=True) if group]
    dressed = [theme.mark(mark.value, mark.label, vertical=True) for mark in data.marks]
    over = [{**label, "y": 1, "yanchor": "bottom", "xanchor": "auto"} for _, label in dressed]
    names = [theme.note(0, row, row, xref="paper", yref="y", xanchor="left", xshift=-room) for row in data.rows]
    return theme.figure(
        traces,
        theme.layout(
            height,
            barmode="overlay",
            shapes=[shape for shape, _ in dressed],
            annotations=over + names,
            margin={**theme.MARGIN, "l": room, "t": 20},
            xaxis=theme.axis(grid=True, rangemode="tozero", ticksuffix=" s", showticksuffix="last"),
            yaxis=theme.axis(
                grid=False,
                autorange="reversed",
                showline=False,
                showticklabels=False,
                type="category",
                categoryorder="array",
                categoryarray=list(data.rows),
            ),
        ),
    )


def _trace(bars: list[tuple[str, TimelineBar]], *, hatched: bool) -> dict[str, Any]:
    """Bars of one pattern: the chart script takes one per trace where colours differ."""
    marker: dict[str, Any] = {
        "color": [theme.TRANSPARENT if bar.outline else theme.color(bar.token) for _, bar in bars],
        "line": {
            "color": [theme.color("line-strong" if bar.outline else bar.token) for _, bar in bars],
            "width": [1.2 if bar.outline else 0.6 for _, bar in bars],
        },
    }
    if hatched:
        marker["pattern"] = {
            "shape": "/",
            "fgcolor": theme.color("hatch"),
            "bgcolor": theme.color(bars[0][1].token),
            "size": 5,
        }
    return theme.trace(
        "bar",
        y=[row for row, _ in bars],
        base=[bar.start for _, bar in bars],
        x=[bar.seconds for _, bar in bars],
        orientation="h",
        width=0.6,
        marker=marker,
        hovertext=[bar.hover for _, bar in bars],
        hoverinfo="text",
    )
