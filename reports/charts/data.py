"""What the charts draw: series with their hover texts, already ordered, thinned and worded.

Output: frozen records; one module of this package draws one of them. Colours are names of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """One colour of a stacked bar: a value per group, its label inside the bar, its hover text."""

    name: str
    token: str
    hatched: bool
    values: tuple[float | None, ...]
    labels: tuple[str, ...]
    hovers: tuple[str, ...]
    deep: bool = True  # the label inside is light on this colour


@dataclass(frozen=True)
class StackedBars:
    """Horizontal stacked bars: groups from top to bottom, segments from left to right."""

    groups: tuple[str, ...]
    segments: tuple[Segment, ...]
    totals: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class StackedColumns:
    """Vertical stacked columns over days."""

    groups: tuple[str, ...]
    segments: tuple[Segment, ...]
    totals: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class Line:
    name: str
    token: str
    dash: str  # solid, dash, dot, dashdot
    width: float
    x: tuple[str | float, ...]
    y: tuple[float | None, ...]
    hovers: tuple[str, ...]
    step: bool = False
    fill_to_previous: str | None = None  # token of the area between this line and the one before it
    markers: bool = False


@dataclass(frozen=True)
class Band:
    """A span of time shaded over the whole height."""

    start: str
    end: str
    label: str


@dataclass(frozen=True)
class Mark:
    """A dashed line at a value, named."""

    value: float
    label: str
    vertical: bool


@dataclass(frozen=True)
class Tick:
    """A place on the axis and its word."""

    at: str | float
    label: str


@dataclass(frozen=True)
class Lines:
    """Lines over time or over a value."""

    lines: tuple[Line, ...]
    x_unit: str  # "time" or a unit
    y_unit: str
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    x_log: bool = False
    zero_based: bool = True
    ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True)
class TimeBars:
    """One bar per span of time; the bad ones in the colour of bad."""

    x: tuple[str, ...]
    y: tuple[float | None, ...]
    bad: tuple[bool, ...]
    hovers: tuple[str, ...]
    y_unit: str
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    width_s: float | None = None
    ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True)
class HeatMap:
    """Steps of colour over rows and columns; `steps` holds the index of a token or null where nothing is known."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    steps: tuple[tuple[int | None, ...], ...]
    tokens: tuple[str, ...]
    inks: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    hovers: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Losses:
    """Horizontal bars with a word at the end of each, from zero or from places of their own as in a waterfall."""

    steps: tuple[str, ...]
    values: tuple[float, ...]  # length of each bar; below zero it goes to the left
    ends: tuple[str, ...]
    tokens: tuple[str, ...]
    hovers: tuple[str, ...]
    unit: str
    begins: tuple[float, ...] = ()  # where each bar begins; empty: at zero


@dataclass(frozen=True)
class CountColumns:
    """Grouped columns over buckets, as shares."""

    groups: tuple[str, ...]
    values: tuple[float, ...]
    hovers: tuple[str, ...]
    token: str
    unit: str


@dataclass(frozen=True)
class TimelineBar:
    """One bar of a request's timeline: start and length in seconds from the request's start."""

    label: str
    start: float
    seconds: float
    token: str
    outline: bool
    hatched: bool
    hover: str


@dataclass(frozen=True)
class Timeline:
    """Bars in rows over the time of one request."""

    rows: tuple[str, ...]
    bars: tuple[tuple[TimelineBar, ...], ...]  # per row
    marks: tuple[Mark, ...] = ()


ChartData = StackedBars | StackedColumns | Lines | TimeBars | HeatMap | Losses | CountColumns | Timeline
