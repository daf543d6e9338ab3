"""The README is true: its tables are those of the catalogs."""

from __future__ import annotations

import re
from pathlib import Path

from ingest.bills import NAMES
from tests.support.readme import tables

README = Path(__file__).resolve().parents[2] / "README.md"


def rows_below(header: str) -> list[str]:
    lines = README.read_text().splitlines()
    assert header in lines, f"the README lacks the table {header}"
    rows = lines[lines.index(header) + 2 :]
    return rows[: next((i for i, line in enumerate(rows) if not line.startswith("|")), len(rows))]


def test_the_columns_of_a_bill_are_those_that_are_read() -> None:
    rows = [re.findall(r"`(\w+)`", row) for row in rows_below("| column | other names that are read | what it holds |")]
    known = {frozenset(names) for names in NAMES.values()}
    assert {frozenset(name.lower() for name in row) for row in rows} == known


def test_each_table_of_the_readme_is_that_of_its_catalog() -> None:
    wrong = {header: rows for header, rows in tables().items() if rows_below(header) != rows}
    assert wrong == {}, "write these rows into the README:\n" + "\n".join(r for rows in wrong.values() for r in rows)
