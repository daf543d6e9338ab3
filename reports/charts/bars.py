"""Stacked bars and columns, losses and shares by bucket.

Input: records of charts/data.py. Output: figures in the structure of plotly.
"""

from __future__ import annotations

from typing import Any

from reports.charts import theme
from reports.charts.data import CountColumns, Losses, Segment, StackedBars, StackedColumns

ROOM_FOR_WORDS = 1.6  # of the longest bar: the words at its end


def stacked_bars(data: StackedBars, height: int) -> dict[str, Any]:
    """Horizontal stacked bars, the total at the end of each."""
    traces = [
        theme.trace(
            "bar",
            y=list(data.groups),
            x=list(segment.values),
            name=segment.name,
            orientation="h",
            width=0.62,
            marker=_fill(segment),
            text=list(segment.labels),
            textposition="inside",
            textangle=0,
            insidetextanchor="middle",
            constraintext="inside",
            insidetextfont={"color": theme.color("on-deep" if segment.deep else "on-light"), "size": 12},
            hovertext=list(segment.hovers),
            hoverinfo="text",
        )
        for segment in data.segments
    ]
    notes = [
        theme.note(
            sum(value for value in (s.values[index] for s in data.segments) if value is not None),
            group,
            total,
            xref="x",
            yref="y",
            xanchor="left",
            xshift=6,
        )
        for index, (group, total) in enumerate(zip(data.groups, data.totals, strict=True))
    ]
    reach = max(
        (sum(s.values[i] or 0 for s in data.segments) for i in range(len(data.groups))),
        default=0,
    )
    return theme.figure(
        traces,
        theme.layout(
            height,
            barmode="stack",
            annotations=notes,
            margin={**theme.MARGIN, "l": theme.room(data.groups)},
            uniformtext={"minsize": 11, "mode": "hide"},
            xaxis=theme.axis(
                grid=True, range=[0, reach * (1.0 if data.unit == "ratio" else 1.14) or 1], **_unit(data.unit)
            ),
            yaxis=theme.axis(grid=False, automargin=False, autorange="reversed", showline=False),
        ),
    )


def stacked_columns(data: StackedColumns, height: int) -> dict[str, Any]:
    """Vertical stacked columns, the total on top."""
    traces = [
        theme.trace(
            "bar",
            x=list(data.groups),
            y=list(segment.values),
            name=segment.name,
            width=0.66,
            marker=_fill(segment),
            hovertext=list(segment.hovers),
            hoverinfo="text",
        )
        for segment in data.segments
    ]
    notes = [
        theme.note(
            group,
            sum(value for value in (s.values[index] for s in data.segments) if value is not None),
            total,
            name="wide",
            xref="x",
            yref="y",
            yanchor="bottom",
        )
        for index, (group, total) in enumerate(zip(data.groups, data.totals, strict=True))
    ]
    return theme.figure(
        traces,
        theme.layout(
            height,
            barmode="stack",
            annotations=notes,
            xaxis=theme.axis(grid=False, type="category", tickangle=0),
            yaxis=theme.axis(grid=True, rangemode="tozero", **_unit(data.unit)),
        ),
    )


def losses(data: Losses, height: int) -> dict[str, Any]:
    """Horizontal bars, a word at the end of each."""
    ends = (
        [begin + value for begin, value in zip(data.begins, data.values, strict=True)] if data.begins else data.values
    )
    notes = _end_words(data) if data.begins else []
    bar = theme.trace(
        "bar",
        y=list(data.steps),
        x=list(data.values),
        base=list(data.begins) or None,
        orientation="h",
        width=0.6,
        marker={"color": [theme.color(token) for token in data.tokens]},
        text=None if data.begins else list(data.ends),
        textposition=None if data.begins else "outside",
        textfont=None if data.begins else {"color": theme.color("ink"), "size": 12},
        constraintext=None if data.begins else "inside",
        cliponaxis=False,
        hovertext=list(data.hovers),
        hoverinfo="text",
    )
    reach, lowest = max((*data.begins, *ends), default=0), min((0, *data.begins, *ends))
    return theme.figure(
        [bar],
        theme.layout(
            height,
            annotations=notes,
            margin={**theme.MARGIN, "l": theme.room(data.steps)},
            xaxis=theme.axis(
                grid=True, range=[lowest, lowest + (reach - lowest) * ROOM_FOR_WORDS or 1], **_unit(data.unit)
            ),
            yaxis=theme.axis(grid=False, automargin=False, autorange="reversed", showline=False),
        ),
    )


def _end_words(data: Losses) -> list[dict[str, Any]]:
    """The word of each bar at its right side, also where the bar goes to the left."""
    return [
        theme.note(max(begin, begin + value), step, end, xref="x", yref="y", xanchor="left", xshift=6)
        for begin, value, step, end in zip(data.begins, data.values, data.steps, data.ends, strict=True)
    ]


def count_columns(data: CountColumns, height: int) -> dict[str, Any]:
    """One column per bucket."""
    bar = theme.trace(
        "bar",
        x=list(data.groups),
        y=list(data.values),
        width=0.7,
        marker={"color": theme.color(data.token)},
        hovertext=list(data.hovers),
        hoverinfo="text",
    )
    return theme.figure(
        [bar],
        theme.layout(
            height,
            xaxis=theme.axis(grid=False, type="category", tickangle=0),
            yaxis=theme.axis(grid=True, rangemode="tozero", **_unit(data.unit)),
        ),
    )


def _fill(segment: Segment) -> dict[str, Any]:
    """Colour of a segment, hatched where the inside of a call is not known."""
    fill: dict[str, Any] = {"color": theme.color(segment.token), "line": {"width": 0}}
    if segment.hatched:
        fill["pattern"] = {
            "shape": "/",
            "fgcolor": theme.color("hatch"),
            "size": 5,
            "solidity": 0.4,
            "fillmode": "overlay",
        }
    return fill


def _unit(unit: str) -> dict[str, Any]:
    """Ticks of a value axis with the unit on the last one."""
    if unit == "ratio":
        return {"tickformat": ".0%"}
    suffix = {"ticksuffix": f" {unit}", "showticksuffix": "last"} if unit else {}
    return {"tickformat": ",~f", "nticks": 7, **suffix}
