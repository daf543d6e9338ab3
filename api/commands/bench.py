"""tailwise bench: how fast this machine loads and analyzes.

Input: files, or none. Output: a short table of ratios to a bare parse.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from api.bench import Measured, made, measure
from api.console import complain, say
from api.problems import EXIT_FAILED
from api.words import table_lines
from ingest.errors import InputError
from ingest.paths import find

HEADER = ("FILE", "ROWS", "MB", "BARE PARSE", "LOAD", "AGAIN", "REPORT", "MB/S LOADED", "PEAK MB")


def bench(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Files; without, some are made.")
    ] = None,
    *,
    requests: Annotated[int, typer.Option(min=100, help="Requests of the files that are made.")] = 50_000,
) -> None:
    """Measure how fast this machine loads and analyzes, as ratios to a bare parse by DuckDB."""
    with tempfile.TemporaryDirectory(prefix="tailwise-bench-") as name:
        folder = Path(name)
        if not paths:
            say(f"making files of {requests:,} requests")
        files = [found.path for found in find(paths, folder)] if paths else made(folder, requests)
        rows = []
        for file in files:
            say(f"measuring {file.name}")
            try:
                rows.append(_cells(measure(file)))
            except InputError as error:
                complain(error)
    if rows:
        _tell(rows)
    if len(rows) < len(files):
        raise typer.Exit(EXIT_FAILED)


def _tell(rows: list[list[str]]) -> None:
    sys.stdout.write("\n".join(table_lines(HEADER, rows, figures=len(HEADER) - 1)) + "\n")
    say("CPU seconds. LOAD and REPORT: times of the bare parse; AGAIN: the same file once more, of the first load")


def _cells(one: Measured) -> list[str]:
    megabytes = one.bytes / 1e6

    def ratio(seconds: float) -> str:
        return f"{seconds:.2f} s" + (f" = {seconds / one.parse_s:.1f}x" if one.parse_s else "")

    return [
        one.name,
        f"{one.rows:,}",
        f"{megabytes:,.1f}",
        "-" if one.parse_s is None else f"{one.parse_s:.2f} s",
        ratio(one.load_s),
        f"{one.again_s / one.load_s:.2f}x",
        ratio(one.report_s),
        f"{megabytes / one.load_s:,.1f}",
        f"{one.peak_bytes / 1e6:,.0f}",
    ]
