"""Lines over time or over a value, with bands, marks and steps.

Input: records of charts/data.py. Output: figures in the structure of plotly.
"""

from __future__ import annotations

from typing import Any

from reports.charts import theme
from reports.charts.data import Line, Lines, TimeBars


def lines(data: Lines, height: int) -> dict[str, Any]:
    """Lines; a null leaves a gap, never a zero."""
    shapes, notes = _dressing(data)
    x_axis = theme.axis(grid=False)
    if data.x_unit == "time":
        x_axis |= {"type": "date", **_ticks(data)}
    elif data.x_log:
        x_axis |= {"type": "log", "dtick": 1, "ticksuffix": f" {data.x_unit}", "showticksuffix": "last"}
    else:
        x_axis |= {"ticksuffix": f" {data.x_unit}", "showticksuffix": "last"}
    y_axis = theme.axis(grid=True, nticks=6, rangemode="tozero" if data.zero_based else "normal")
    if data.y_unit == "ratio":
        y_axis["tickformat"] = ".0%"
    elif data.y_unit:
        y_axis |= {"ticksuffix": f" {data.y_unit}", "showticksuffix": "last"}
    return theme.figure(
        [_trace(line) for line in data.lines],
        theme.layout(
            height,
            shapes=shapes,
            annotations=notes,
            margin=_margin(data),
            hovermode="x" if data.x_unit == "time" else "closest",
            xaxis=x_axis,
            yaxis=y_axis,
        ),
    )


def time_bars(data: TimeBars, height: int) -> dict[str, Any]:
    """One bar per span of time, the bad ones in the colour of bad."""
    shapes, notes = _dressing(data)
    bar = theme.trace(
        "bar",
        x=list(data.x),
        y=list(data.y),
        marker={"color": [theme.color("bad" if bad else "series-2") for bad in data.bad], "line": {"width": 0}},
        width=data.width_s * 1000 if data.width_s is not None else None,
        offset=0,
        hovertext=list(data.hovers),
        hoverinfo="text",
    )
    return theme.figure(
        [bar],
        theme.layout(
            height,
            shapes=shapes,
            annotations=notes,
            margin=_margin(data),
            bargap=0.1,
            xaxis=theme.axis(grid=False, type="date", **_ticks(data)),
            yaxis=theme.axis(grid=True, rangemode="tozero", nticks=5, **_scale(data.y_unit)),
        ),
    )


def _margin(data: Lines | TimeBars) -> dict[str, int]:
    """Room above the plot where a band has a name."""
    return {**theme.MARGIN, "t": 20} if any(band.label for band in data.bands) else theme.MARGIN


def _scale(unit: str) -> dict[str, Any]:
    """Ticks of a value axis with the unit on the last one."""
    return {"tickformat": ".0%"} if unit == "ratio" else {"ticksuffix": unit, "showticksuffix": "last"}


def _trace(line: Line) -> dict[str, Any]:
    return theme.trace(
        "scatter",
        x=list(line.x),
        y=list(line.y),
        name=line.name,
        mode="markers" if line.markers else "lines",
        line={
            "color": theme.color(line.token),
            "dash": line.dash,
            "width": line.width,
            "shape": "hv" if line.step else "linear",
        },
        marker={"color": theme.color("paper"), "size": 8, "line": {"color": theme.color(line.token), "width": 2}},
        fill="tonexty" if line.fill_to_previous else "none",
        fillcolor=theme.color(line.fill_to_previous) if line.fill_to_previous else None,
        connectgaps=False,
        hovertext=list(line.hovers) or None,
        hoverinfo="text" if line.hovers else "skip",
    )


def _ticks(data: Lines | TimeBars) -> dict[str, Any]:
    if not data.ticks:
        return {"nticks": 8}
    return {
        "tickmode": "array",
        "tickvals": [tick.at for tick in data.ticks],
        "ticktext": [tick.label for tick in data.ticks],
    }


def _dressing(data: Lines | TimeBars) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shapes and labels of bands and marks."""
    dressed = [theme.band(band.start, band.end, band.label) for band in data.bands]
    log = isinstance(data, Lines) and data.x_log
    dressed += [theme.mark(mark.value, mark.label, vertical=mark.vertical, log=log) for mark in data.marks]
    return [shape for shape, _ in dressed], [label for _, label in dressed]
