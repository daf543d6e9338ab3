"""Steps of colour over weekdays and hours.

Input: HeatMap of charts/data.py. Output: a figure in the structure of plotly.
"""

from __future__ import annotations

from typing import Any

from reports.charts import theme
from reports.charts.data import HeatMap


def heat(data: HeatMap, height: int) -> dict[str, Any]:
    """One cell per row and column; the figure stands in the cell where the view wrote one."""
    n = len(data.tokens)
    scale: list[list[object]] = []
    for index, token in enumerate(data.tokens):
        scale += [[index / n, theme.color(token)], [(index + 1) / n, theme.color(token)]]
    cells = theme.trace(
        "heatmap",
        z=[list(line) for line in data.steps],
        x=list(data.columns),
        y=list(data.rows),
        zmin=-0.5,
        zmax=n - 0.5,
        colorscale=scale,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertext=[list(line) for line in data.hovers],
        hoverinfo="text",
        hoverongaps=False,
    )
    notes = [
        theme.note(
            data.columns[column],
            data.rows[row],
            text,
            xref="x",
            yref="y",
            font={"size": 11, "color": theme.color(data.inks[data.steps[row][column] or 0])},
        )
        for row, line in enumerate(data.texts)
        for column, text in enumerate(line)
        if text
    ]
    return theme.figure(
        [cells],
        theme.layout(
            height,
            annotations=notes,
            xaxis=theme.axis(grid=False, type="category", showline=False, tickangle=0),
            yaxis=theme.axis(grid=False, type="category", autorange="reversed", showline=False),
        ),
    )
