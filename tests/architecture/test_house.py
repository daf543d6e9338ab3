"""The house: what stands at the root, how modules look, what nothing may contain."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("ingest", "analysis", "reports", "api")
MAX_LINES = 450  # about 400; a module above has two jobs
TABLES_OF_RECORDS = ("ingest/schema.py",)  # long because the contract is, one job all the same


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def tracked() -> list[Path]:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this copy is no git checkout, so nothing says which files belong to it")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_nothing_but_the_house_stands_at_the_root() -> None:
    allowed = {".ci", ".gitignore", "Makefile", "README.md", "constraints.txt", "pyproject.toml", "tests", *ROOMS}
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} == allowed


def test_importing_a_package_does_nothing() -> None:
    assert [p for p in modules() if p.name == "__init__.py" and p.read_text().strip()] == []


def test_every_module_says_what_it_is() -> None:
    silent = [p for p in modules() if p.name != "__init__.py" and not p.read_text().lstrip().startswith('"""')]
    assert silent == []


def test_no_module_has_two_jobs() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in modules()}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES and name not in TABLES_OF_RECORDS} == {}


def test_percentiles_come_from_one_function() -> None:
    call = re.compile(
        r"\.quantile\(|\.median\(|quantile_cont|quantile_disc|approx_quantile|percentile_(cont|disc|approx)|\.percentile\("
    )
    home = ROOT / "analysis" / "aggregates" / "statistics.py"
    others = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in modules()
        if path != home
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if call.search(line)
    ]
    assert others == []


def test_no_file_names_a_machine_a_registry_or_a_lock_of_addresses() -> None:
    machine = "(^|[\\s\"'(=:])/(" + "|".join(["work", "root", "home/[a-z]+", "tmp/[a-z]"]) + ")/"
    registry = "|".join(["files\\.pythonhosted" + "\\.org", "pypi" + "\\.org/simple", "registry\\.npmjs" + "\\.org"])
    forbidden = re.compile(f"{machine}|{registry}")
    found = []
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".json", ".css", ".html", ".jinja", ""}:
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if len(line) < 2000 and forbidden.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}")
    assert found == []
    assert [p.name for p in tracked() if p.name in {"uv.lock", "pylock.toml", "poetry.lock"}] == []


def test_the_readme_shows_both_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert [command for command in ("make demo", "make test", "Decisions") if command not in text] == []
