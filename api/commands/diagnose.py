"""tailwise diagnose: why objectives broke, and what to do first.

Input: paths or a store. Output: findings as text of 80 columns, JSON if asked for.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from analysis.result import AnalysisResult
from api.commands.desk import open_desk, question_of
from api.commands.options import Judging, with_options
from api.commands.report import write
from api.console import say
from api.problems import EXIT_BREACHED
from api.words import diagnosis_lines, follow_up_lines, head_lines, quiet_lines
from ingest.errors import ConfigError

BROKEN = ("breached", "endangered")
JUDGED = frozenset({"breached", "endangered", "met"})


@with_options(Judging)
def diagnose(
    asking: Judging,
    objective: Annotated[str | None, typer.Option(help="Only the objective of this id.")] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(metavar="PATH...", help="What is normal; default the unbroken part.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="The result as JSON; - for standard output.")] = None,
    fail_on_breach: Annotated[
        bool, typer.Option("--fail-on-breach", help="End with 3 if an objective is breached, or none could be judged.")
    ] = False,
) -> None:
    """Find which objectives broke, since when, in which stage and segment, why, and what to do."""
    with open_desk(asking, baseline or ()) as opened:
        result = only(opened.desk.analyze(question_of(asking)), objective)
    if json:
        write(result, "json", json)
    stream = sys.stderr if json == "-" else sys.stdout
    stream.write("\n".join(diagnosis(result, objective)) + "\n")
    stream.flush()
    if fail_on_breach:
        hold_gate(result)
    opened.end()


def hold_gate(result: AnalysisResult) -> None:
    """Leave with the exit code of a breach where an objective is breached, or where none has a verdict."""
    verdicts = {row.verdict for row in result.objectives}
    if not verdicts & JUDGED:
        say("no objective could be judged, so the gate is not passed: load the traces of this run, or take its range")
    if "breached" in verdicts or not verdicts & JUDGED:
        raise typer.Exit(EXIT_BREACHED)


def only(result: AnalysisResult, objective: str | None) -> AnalysisResult:
    """The result with the verdict and findings of one objective.

    Raises:
        ConfigError: no objective has that id.
    """
    if objective is None:
        return result
    rows = [row for row in result.objectives if row.id == objective]
    if not rows:
        known = ", ".join(row.id for row in result.objectives)
        raise ConfigError(f'no objective has the id "{objective}". Known: {known}')
    return replace(result, objectives=rows, findings=[f for f in result.findings if f.objective == objective])


def diagnosis(result: AnalysisResult, objective: str | None) -> list[str]:
    """Broken objectives in full, the others in one line per verdict."""
    lines = head_lines(result)
    shown = [row for row in result.objectives if row.verdict in BROKEN or objective is not None]
    told: dict[str, str] = {}
    for row in shown:
        lines += ["", *diagnosis_lines(result, row, told)]
    lines += ["", *quiet_lines([row for row in result.objectives if row not in shown])]
    return [*lines, *follow_up_lines(result, objective)]
