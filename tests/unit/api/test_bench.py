"""bench: what is measured is a load of these very rows, and what cannot be measured is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from api.bench import made, measure
from tests.support.server import here, request_rows


def test_files_are_the_same_in_every_run_and_every_row_is_read(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, again = made(tmp_path, 200), made(tmp_path / "again", 200)
    table, spans = (measure(path) for path in first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert (table.rows, spans.rows, table.bytes) == (200, 600, first[0].stat().st_size)
    assert table.parse_s is not None
    assert 0 < table.parse_s < table.load_s
    assert table.report_s > 0


def test_a_file_that_the_engine_cannot_read_has_no_yardstick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl.gz").write_bytes(gzip.compress(request_rows(150)))
    Path("rows.log").write_bytes(request_rows(150))
    ran = here(["bench", "rows.jsonl.gz", "rows.log"], capsys)
    header, packed, other = ran.stdout.splitlines()
    assert (ran.returncode, header.split()[:3]) == (0, ["FILE", "ROWS", "MB"])
    assert (packed.split()[:2], packed.count("x"), other.split()[:4]) == (
        ["rows.jsonl.gz", "150"],
        3,
        ["rows.log", "150", "0.0", "-"],
    )


def test_what_is_no_trace_file_is_told_and_the_others_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("# notes\n")
    Path("rows.jsonl").write_bytes(request_rows(150))
    ran = here(["bench", "notes.md", "rows.jsonl"], capsys)
    assert (ran.returncode, len(ran.stdout.splitlines())) == (1, 2)
    assert "notes.md" in ran.stderr
