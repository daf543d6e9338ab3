"""Bars in rows over the time of one request.

Input: Timeline of charts/data.py. Output: a plotly figure.
"""

from __future__ import annotations

from typing import Any

from reports.charts import theme
from reports.charts.data import Timeline


def timeline(data: Timeline, height: int) -> Any:
    """Each bar starts where its span does; containers are outlines."""
    import plotly.graph_objects as go

    bars = [(row, bar) for row, line in zip(data.rows, data.bars, strict=True) for bar in line]
    trace = go.Bar(
        y=[row for row, _ in bars],
        base=[bar.start for _, bar in bars],
        x=[bar.seconds for _, bar in bars],
        orientation="h",
        width=0.6,
        marker={
            "color": [theme.TRANSPARENT if bar.outline else theme.color(bar.token) for _, bar in bars],
            "line": {
                "color": [theme.color("line-strong" if bar.outline else bar.token) for _, bar in bars],
                "width": [1.2 if bar.outline else 0.6 for _, bar in bars],
            },
            "pattern": {
                "shape": ["/" if bar.hatched else "" for _, bar in bars],
                "fgcolor": theme.color("hatch"),
                "size": 5,
                "fillmode": "overlay",
            },
        },
        hovertext=[bar.hover for _, bar in bars],
        hoverinfo="text",
    )
    dressed = [theme.mark(mark.value, mark.label, vertical=True) for mark in data.marks]
    return go.Figure(
        [trace],
        theme.layout(
            height,
            barmode="overlay",
            shapes=[shape for shape, _ in dressed],
            annotations=[label for _, label in dressed],
            xaxis=theme.axis(grid=True, rangemode="tozero", ticksuffix=" s", showticksuffix="last"),
            yaxis=theme.axis(grid=False, autorange="reversed", showline=False, type="category"),
        ),
    )
