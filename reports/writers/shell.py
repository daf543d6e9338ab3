"""What every page shares: templates, style, scripts with their hashes, the policy that allows nothing else.

Input: a template's name and its values. Output: HTML text that opens without a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.charts.catalog import draw
from reports.names import printable
from reports.view.blocks import Chart

ROOM = Path(__file__).resolve().parents[1]
ASSETS = ROOM / "assets"


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """What a template prints: our own markup as it is, other text without control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(ROOM / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals["figure_json"] = figure_json
    return environment


def figure_json(chart: Chart) -> Markup:
    """A chart as the JSON of its script element; `draw` leaves no `<` in it."""
    return Markup(draw(chart.data, chart.height))  # noqa: S704 - escaped by draw


def page(
    template: str,
    *,
    lang: str,
    charts: bool,
    scripts: Sequence[str],
    styles: Sequence[str] = (),
    connect: bool = False,
    **values: Any,
) -> str:
    """A page from a template.

    Args:
        charts: whether the page draws any; without one the chart script is left out.
        scripts: names of assets, inlined in this order after the chart script.
        styles: names of further style sheets beside tokens and components.
        connect: whether scripts of the page may ask its own server.
    """
    names = (("plotly/plotly-cartesian.min.js",) if charts else ()) + tuple(scripts)
    inlined = [_asset(name) for name in names]
    css = "\n".join(_asset(name) for name in ("tokens.css", "report.css", *styles))
    return _environment().get_template(template).render(
        lang=lang,
        policy=policy(tuple(names), connect=connect),
        css=Markup(css),  # noqa: S704 - our own file
        scripts=[Markup(script) for script in inlined],  # noqa: S704 - our own files
        **values,
    )  # fmt: skip


@cache
def policy(names: tuple[str, ...], *, connect: bool) -> str:
    """Content-Security-Policy: scripts by hash, styles inline because the chart script sets them, nothing else."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(_asset(name).encode()).digest()).decode()}'" for name in names
    )
    parts = [
        "default-src 'none'",
        f"script-src {hashes or chr(39) + 'none' + chr(39)}",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
    ]
    if connect:
        parts.append("connect-src 'self'")
    parts += ["base-uri 'none'", "form-action 'self'" if connect else "form-action 'none'"]
    return "; ".join(parts)


def script_json(values: dict[str, str]) -> Markup:
    """Words for a script of the page, as the JSON of a script element."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - escaped above
