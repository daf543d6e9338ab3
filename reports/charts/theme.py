"""How every chart looks: names of the tokens of assets/tokens.css, and the cap on points.

Input: none. Output: colours as `var(--name)`; the boot script of the page puts in the value of the reader's
scheme, so light, dark and paper share one figure. Source: assets/tokens.css, the only place of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any, TypeVar

POINT_CAP = 2000  # points per series; a page with more is slow to draw and shows no more
STAGES = (
    "gateway", "network", "guardrail", "retrieval", "rerank", "queue", "prefill", "before_first_token", "decode",
    "after_first_token", "model", "tool", "postprocess", "unattributed",
)  # fmt: skip
TOKENS = {"before_first_token": "stage-before", "after_first_token": "stage-after"}
HATCHED = frozenset({"before_first_token", "after_first_token", "unattributed"})
LIGHT = frozenset(
    {"network", "rerank", "queue", "decode", "after_first_token", "tool", "unattributed"}
)  # dark ink on it
SERIES = ("series-1", "series-2", "stage-retrieval", "stage-guardrail", "stage-model", "stage-postprocess")
DASHES = ("solid", "dash", "dot", "dashdot")
HEAT = ("heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5")
TRANSPARENT = "rgba(0,0,0,0)"
CHARACTER = 7  # pixels of one at 12 px
MARGIN = {"l": 8, "r": 8, "t": 6, "b": 8, "pad": 4}

Item = TypeVar("Item")


def color(token: str) -> str:
    """A token as a colour of a figure."""
    return f"var(--{token})"


def stage_token(stage: str) -> str:
    """The token of a stage; one that the page does not know is drawn as unattributed."""
    if stage in TOKENS:
        return TOKENS[stage]
    return f"stage-{stage}" if stage in STAGES else "stage-unattributed"


def stage_order(stage: str) -> tuple[int, str]:
    """Sort key of stages: order as in time, unknown ones last by name."""
    return (STAGES.index(stage), stage) if stage in STAGES else (len(STAGES), stage)


def thinned(items: Sequence[Item]) -> tuple[Item, ...]:
    """At most POINT_CAP items at equal steps, the first and the last kept."""
    if len(items) <= POINT_CAP:
        return tuple(items)
    last = len(items) - 1
    return tuple(items[index * last // (POINT_CAP - 1)] for index in range(POINT_CAP))


def room(labels: Sequence[str], most: int = 270) -> int:
    """Pixels left of a plot for its row labels: set, not found by the script, which may not settle on a phone."""
    widest = max((sum(1 if character.isascii() else 2 for character in label) for label in labels), default=0)
    return min(most, 18 + CHARACTER * widest)


def layout(height: int, **more: Any) -> dict[str, Any]:
    """The common layout: no frame, no mode bar, horizontal grid only, 12 px ticks."""
    base: dict[str, Any] = {
        "height": height,
        "margin": MARGIN,
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": {"size": 12, "color": color("ink-2")},
        "showlegend": False,
        "separators": ".,",
        "dragmode": False,
        "hoverlabel": {
            "bgcolor": color("paper"),
            "bordercolor": color("line-strong"),
            "font": {"size": 12, "color": color("ink")},
            "align": "left",
        },
    }
    return {**base, **more}


def trace(kind: str, **values: Any) -> dict[str, Any]:
    """One series in the structure of plotly; what is None is left to the chart script."""
    return {"type": kind, **{name: value for name, value in values.items() if value is not None}}


def figure(traces: Sequence[dict[str, Any]], laid_out: dict[str, Any]) -> dict[str, Any]:
    """A figure in the structure of plotly.

    Written as it is: the builders of its library check every value against a schema at each draw, which takes longer
    than all else that a chart needs. The tests check each chart against that schema instead.
    """
    return {"data": list(traces), "layout": {name: value for name, value in laid_out.items() if value != []}}


def axis(*, grid: bool, **more: Any) -> dict[str, Any]:
    """One axis; only the value axis has a grid."""
    base: dict[str, Any] = {
        "showgrid": grid,
        "gridcolor": color("grid"),
        "zeroline": False,
        "showline": not grid,
        "linecolor": color("line-strong"),
        "ticks": "",
        "automargin": True,
        "fixedrange": True,
    }
    return {**base, **more}


def band(start: str, end: str, label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shape and label of a span of time shaded over the whole height."""
    shape = {
        "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
        "fillcolor": color("incident"), "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    return shape, note(start, 1, label, xref="x", yref="paper", xanchor="auto", yanchor="bottom")


def mark(value: float, label: str, *, vertical: bool, log: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shape and label of a dashed line at a value; on a logarithmic axis the label wants the exponent, the line does not."""
    line = {"color": color("mark"), "width": 1.2, "dash": "dash"}
    if vertical:
        shape = {"type": "line", "xref": "x", "yref": "paper", "x0": value, "x1": value, "y0": 0, "y1": 1, "line": line}
        return shape, note(
            log10(value) if log else value, 0.02, label, xref="x", yref="paper", xanchor="left", yanchor="bottom"
        )
    shape = {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": value, "y1": value, "line": line}
    return shape, note(1, value, label, xref="paper", yref="y", xanchor="right", yanchor="bottom")


def note(x: float | str, y: float | str, text: str, **more: Any) -> dict[str, Any]:
    """A word in the plot, on a ground of paper so that it stays readable over lines."""
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 12, "color": color("ink-2")}, **more}
