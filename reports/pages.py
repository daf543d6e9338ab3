"""Pages of the service: home, one request, one objective with its breach.

Input: records of view/service.py, or a result. Output: HTML bytes that ask nobody but their own server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.result import AnalysisResult
from reports.text import Text
from reports.told import spoken
from reports.view.breach import breach_of
from reports.view.home import home_of
from reports.view.labels import text_for
from reports.view.request import request_of
from reports.view.service import HomeView, RequestView
from reports.writers import shell


def render_home(view: HomeView, *, lang: str = "en") -> bytes:
    """The first page: files by drag and drop with their progress, uploads, objectives, reports."""
    text = Text.of(lang, view.timezone)
    if view.latest is not None:
        view = replace(view, latest=spoken(view.latest, lang))
    return shell.page(
        "home.html.jinja", lang=lang, charts=False, scripts=("report.js", "home.js"), styles=("home.css",), connect=True,
        page=home_of(view, text), say=text.say, here="home", sentences=shell.script_json(_sentences(text)),
    ).encode("utf-8")  # fmt: skip


def render_request(view: RequestView, *, lang: str = "en") -> bytes:
    """One request: status, figures, stages, spans, verdicts, attributes."""
    text = Text.of(lang, view.timezone)
    found = request_of(view, text)
    return shell.page(
        "request.html.jinja", lang=lang, charts=found.has_charts, scripts=("report.js",), styles=(), connect=True,
        page=found, say=text.say, here="request",
    ).encode("utf-8")  # fmt: skip


def render_breach(result: AnalysisResult, objective: str, *, lang: str = "en") -> bytes:
    """One objective: what broke, since when, in which stage and segment, what to do, the evidence.

    Raises:
        ValueError: the result has no objective of that id.
    """
    result = spoken(result, lang)
    text = text_for(result, lang)
    found = breach_of(result, objective, text)
    return shell.page(
        "breach.html.jinja", lang=lang, charts=found.has_charts, scripts=("report.js",), styles=("breach.css",), connect=True,
        page=found, say=text.say, here="breach",
    ).encode("utf-8")  # fmt: skip


def render_problem(title: str, detail: str, hint: str | None, *, lang: str = "en") -> bytes:
    """What went wrong, for a reader at a browser."""
    text = Text.of(lang, "UTC")
    return shell.page(
        "problem.html.jinja", lang=lang, charts=False, scripts=("report.js",), connect=True,
        page=_Plain(), say=text.say, here="problem", title=title, detail=detail, hint=hint,
    ).encode("utf-8")  # fmt: skip


@dataclass(frozen=True)
class _Plain:
    """What the bar above every page asks of it."""

    simulated: bool = False


def _sentences(text: Text) -> dict[str, str]:
    """What the script of the first page says; {places} are filled there."""
    return {
        "uploading": text.say("uploading"),
        "waiting": text.say("waiting"),
        "reading": text.say("reading"),
        "done": text.say("Done"),
        "rejects": text.say("Done, {n} rejected"),
        "failed": text.say("Not read"),
        "stopped": text.say("Stopped"),
        "stop": text.say("Stop"),
        "bytes": text.say("{done} of {total} · {rate}/s · {left} s left"),
        "counts": text.say("{read} read · {rejected} rejected so far"),
        "sum": text.say("Read {read} = accepted {accepted} + duplicate {duplicate} + rejected {rejected}."),
        "drop": text.say("Let go to load the files"),
        "offline": text.say("The server does not answer. The file was not loaded; send it again when it does."),
        "making": text.say("Making the report …"),
        "problem": text.say("The report could not be made: {why}"),
        "close": text.say("You can close this page: reading goes on."),
    }
