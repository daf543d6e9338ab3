"""The command line's own work: arguments that take several paths, records of options."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from api.cli import run, spread_paths
from api.commands.options import with_options


@pytest.mark.parametrize(
    ("given", "spread"),
    [
        (["report", "a", "--compare-with", "b", "-o", "c"], ["report", "a", "--compare-with", "b", "-o", "c"]),
        (
            ["report", "a", "--compare-with", "b", "c", "--week", "2026-W10"],
            ["report", "a", "--compare-with", "b", "--compare-with", "c", "--week", "2026-W10"],
        ),
        (["diagnose", "a", "--baseline", "b", "-"], ["diagnose", "a", "--baseline", "b", "--baseline", "-"]),
        (["report", "a"], ["report", "a"]),
        (["report", "--compare-with"], ["report"]),
    ],
)
def test_every_path_after_the_option_belongs_to_it(given: list[str], spread: list[str]) -> None:
    assert spread_paths(given) == spread


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert (run(["--version"]), capsys.readouterr().out) == (0, f"tailwise {metadata.version('tailwise')}\n")


def test_a_week_that_does_not_exist_is_refused_before_a_file_is_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "absent.jsonl", "--week", "2026-W99"]) == 2
    assert capsys.readouterr().err.startswith('tailwise: week "2026-W99" does not exist')


@dataclass(frozen=True)
class Shared:
    paths: Annotated[list[str] | None, typer.Argument()] = None
    start: Annotated[str | None, typer.Option("--from")] = None
    strict: Annotated[bool, typer.Option("--strict")] = False


def test_the_fields_of_a_record_are_options_of_a_command() -> None:
    seen: list[object] = []

    @with_options(Shared)
    def command(shared: Shared, output: Annotated[str, typer.Option("-o")] = "x") -> None:
        """Do it."""
        seen.append((shared, output))

    app = typer.Typer()
    app.command()(command)
    ended = CliRunner().invoke(app, ["a", "b", "--from", "now", "-o", "y"])
    assert (ended.exit_code, seen) == (0, [(Shared(["a", "b"], "now", strict=False), "y")])
