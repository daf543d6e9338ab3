"""tailwise costs: who spent what.

Input: paths or a store, dimensions. Output: a table at the prompt, or a file that other tools import.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from api.commands.desk import open_desk, question_of
from api.commands.options import READING, Asking, with_options
from api.console import say
from api.finance import put_files
from api.outlet import put
from api.words import cost_lines
from ingest.bills import read_bill
from ingest.errors import ConfigError
from reports.writers.cost_table import write_costs

BINARY = ("parquet", "xlsx")


@dataclass(frozen=True)
class CostAsking(Asking):
    """As elsewhere, but that --format is the form of the answer here."""

    format: Annotated[
        str | None,
        typer.Option("--input-format", help="Format of the input; default by content.", rich_help_panel=READING),
    ] = None


@with_options(CostAsking)
def costs(
    asking: CostAsking,
    *,
    by: Annotated[str, typer.Option(help="Dimensions, separated by commas.")] = "user",
    form: Annotated[
        Literal["table", "csv", "parquet", "xlsx", "focus"], typer.Option("--format", help="Form of the answer.")
    ] = ("table"),
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="File, or folder for focus; default standard output.")
    ] = None,
    focus_version: Annotated[Literal["1.2", "1.4"], typer.Option(help="Version of FOCUS.")] = "1.2",
    bill: Annotated[
        Path | None,
        typer.Option(help="A provider's bill; focus is final, and no draft, if it passes for all of the file."),
    ] = None,
) -> None:
    """Show what requests cost, by any dimensions; the rows add up to the total."""
    names = list(dict.fromkeys(name.strip() for name in by.split(",") if name.strip()))
    if form in BINARY and output is None:
        raise ConfigError(f"{form} is no text; give -o costs.{form}")
    if form == "focus":
        finance(asking, names, output, focus_version, bill)
        return
    if bill is not None:
        raise ConfigError("--bill goes with --format focus; to compare a bill alone write: tailwise reconcile BILL")
    with open_desk(asking) as opened:
        found = opened.desk.costs(question_of(asking), names)
    if form == "table":
        content = ("\n".join(cost_lines(found)) + "\n").encode()
    else:
        content = write_costs(found, form)
    written = put(content, output or "-")
    if written is not None:
        say(f"written: {written}")
    sys.stdout.flush()
    opened.end()


def finance(asking: CostAsking, further: list[str], output: str | None, version: str, bill: Path | None = None) -> None:
    """Write the finance bundle into a folder.

    Raises:
        ConfigError: no folder is given, or it cannot be written to.
    """
    if output is None or output == "-":
        raise ConfigError("focus is several files; give a folder: -o focus")
    read = None if bill is None else read_bill(bill)
    with open_desk(asking) as opened:
        files = opened.desk.finance(question_of(asking), further, version, read)
    say(f"written: {put_files(files, Path(output))}, {len(files)} files, {_state(files)}")
    opened.end()


def _state(files: dict[str, bytes]) -> str:
    """Whether the files are final, and else what stands against it."""
    found = json.loads(files["reconciliation.json"])
    if found["state"] == "FINAL":
        return f"final: {found['bill']['name']} passes"
    return f"a draft: {found['reasons'][0]}"
