"""tailwise report: a dump in, the report out.

Input: paths or a store. Output: a page (or Markdown, tables, PDF by the file's name), JSON if asked for, and the
verdicts at the prompt.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, TextIO

import typer

from analysis.result import AnalysisResult
from api.commands.desk import open_desk, question_of
from api.commands.options import Judging, with_options
from api.console import say
from api.outlet import STANDARD, is_special, put
from api.pdf import print_pdf
from api.words import head_lines, verdict_lines
from ingest.errors import ConfigError
from reports.render import render

KINDS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv", ".pdf": "pdf"}
DEFAULT_OUTPUT = "report.html"


@with_options(Judging)
def report(
    asking: Judging,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="report.html, .md, .csv, .json or .pdf; - for standard output.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="The result as JSON; - for standard output.")] = None,
    compare_with: Annotated[
        list[str] | None, typer.Option(metavar="PATH...", help="Compare with these; default the week before.")
    ] = None,
    lang: Annotated[Literal["en", "zh"], typer.Option(help="Language of the page.")] = "en",
) -> None:
    """Read traces and write the report: verdicts, causes, what to do, costs."""
    target = output or (None if json else DEFAULT_OUTPUT)
    kind = kind_of(target) if target else None
    with open_desk(asking, compare_with or ()) as opened:
        result = opened.desk.analyze(question_of(asking))
    written = [write(result, "json", json, lang)] if json else []
    if target and kind:
        written.append(write(result, kind, target, lang))
    show(result, sys.stderr if STANDARD & {json, target} else sys.stdout)
    for place in written:
        if place is not None:
            say(f"written: {place}")
    opened.end()


def kind_of(name: str) -> str:
    """The form that a file name asks for.

    Raises:
        ConfigError: none of ours.
    """
    kind = KINDS.get(Path(name).suffix.lower())
    if kind is None and (name in STANDARD or is_special(name)):
        return "html"
    if kind is None:
        raise ConfigError(f'"{name}" names no form of a report; end it in {", ".join(KINDS)}')
    return kind


def write(result: AnalysisResult, kind: str, name: str, lang: str = "en") -> Path | None:
    """The file written, or None for standard output; a half-written file never stands under the name."""
    content = print_pdf(render(result, "html", lang=lang)) if kind == "pdf" else render(result, kind, lang=lang)
    return put(content, name)


def show(result: AnalysisResult, stream: TextIO) -> None:
    """The head and the verdicts."""
    lines = [*head_lines(result), "", *verdict_lines(result)]
    stream.write("\n".join(lines) + "\n")
    stream.flush()
