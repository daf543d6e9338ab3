"""Lines over time or over a value, with bands, marks and steps.

Input: records of charts/data.py. Output: figures in the structure of plotly.
"""

from __future__ import annotations

import math
from typing import Any

from reports.charts import theme
from reports.charts.data import Line, Lines, TimeBars

TIME_MARGIN = 52  # pixels: "4 req/s" and "100%" find room in it


def lines(data: Lines, height: int) -> dict[str, Any]:
    """Lines; a null leaves a gap, never a zero."""
    shapes, notes = _dressing(data)
    x_axis = theme.axis(grid=False)
    if data.x_unit == "time":
        x_axis |= {"type": "date", **_ticks(data)}
    elif data.x_log:
        x_axis |= {"type": "log", "ticksuffix": f" {data.x_unit}", "showticksuffix": "last", **_log_ticks(data)}
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
    """Room above the plot where a band has a name; charts over time begin at one place, so that they can be compared."""
    margin = {**theme.MARGIN, "t": 20} if any(band.label for band in data.bands) else theme.MARGIN
    over_time = isinstance(data, TimeBars) or data.x_unit == "time"
    return {**margin, "l": TIME_MARGIN} if over_time else margin


def _log_ticks(data: Lines) -> dict[str, Any]:
    """Powers of ten, or 1, 2 and 5 of each where fewer than two powers lie within the values."""
    values = [value for line in data.lines for value in line.x if isinstance(value, int | float) and value > 0]
    values += [mark.value for mark in data.marks if mark.vertical and mark.value > 0]
    if not values:
        return {"dtick": 1}
    low, high = min(values), max(values)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if sum(low <= 10.0**decade <= high for decade in decades) > 1:
        return {"dtick": 1}
    steps = [round(step * 10.0**decade, 12) for decade in decades for step in (1, 2, 5)]
    return {"tickmode": "array", "tickvals": [step for step in steps if low <= step <= high]}


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
