"""Situations from public reports, each with its right answers: the command a user types, then the figures."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import SHARED, shared

CASES = sorted(p.name for p in (SHARED / "cases").glob("[0-9]*")) or ["cases"]


@pytest.mark.parametrize("case", CASES)
def test_case_gives_the_right_answers(case: str, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    shutil.copytree(shared(f"cases/{case}"), folder)
    told = json.loads((folder / "case.json").read_text())
    for command in told["command"].split("&&"):
        words = shlex.split(command)
        assert words[0] == "tailwise"
        run = subprocess.run(
            [sys.executable, "-m", "api.cli", *words[1:]], cwd=folder, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
    result = json.loads((folder / "result.json").read_text())
    wrong = {
        entry["path"]: (entry["value"], actual)
        for entry in told["expect"]
        if not _same(actual := _walk(result, entry["path"]), entry["value"], entry["tolerance"])
    }
    assert wrong == {}


def _walk(value: Any, path: str) -> Any:
    """The value at a path such as `latency[metric=ttft,streaming=all].p50`."""
    for key, picks in re.findall(r"([A-Za-z0-9_]+)(?:\[([^\]]*)\])?", re.sub(r"\[[^\]]*\]", _protect, path)):
        value = value[key]
        if picks:
            wanted = [pair.split("=", 1) for pair in _unprotect(picks).split(",")]
            rows = [row for row in value if all(_text(_dig(row, k)) == v.strip('"') for k, v in wanted)]
            if all(k.startswith("by.") for k, _ in wanted):
                rows = [row for row in rows if set(row["by"]) == {k[3:] for k, _ in wanted}]
            assert len(rows) == 1, f"{path}: {len(rows)} rows match {picks}"
            value = rows[0]
    return value


def _protect(match: re.Match[str]) -> str:
    return match[0].replace(".", "\0")


def _unprotect(text: str) -> str:
    return text.replace("\0", ".")


def _dig(row: Any, path: str) -> Any:
    for key in path.split("."):
        row = row[key]
    return row


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(actual: Any, expected: Any, tolerance: float | str) -> bool:
    if isinstance(expected, str) and re.fullmatch(r"-?[0-9.]+", expected):
        return actual is not None and Decimal(actual) == Decimal(expected)
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return actual is not None and abs(actual - expected) <= float(tolerance)
    return bool(actual == expected)
