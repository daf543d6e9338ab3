"""Backup, restore, doctor: at the prompt and from a running server."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.copies import restore
from api.settings import Settings
from ingest.errors import StateError, UnreadableInput
from tests.support.server import client, here, listening, put, request_rows


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TAILWISE_STORE", "TAILWISE_SERVER", "TAILWISE_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["copy.duckdb", "copy.duckdb.zst"])
def test_a_restored_store_holds_what_the_store_held(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "r.jsonl").write_bytes(request_rows(30))
    here(["ingest", "r.jsonl", "--store", "s.duckdb"], capsys)
    backed = here(["backup", name, "--store", "s.duckdb"], capsys)
    restored = here(["restore", name, "--store", "new.duckdb"], capsys)
    again = here(["restore", name, "--store", "new.duckdb"], capsys)
    replaced = here(["restore", name, "--store", "new.duckdb", "--replace"], capsys)
    assert [ran.returncode for ran in (backed, restored, again, replaced)] == [0, 0, 1, 0]
    assert "new.duckdb, 30 requests of 1 uploads, 0 reports" in restored.stderr
    assert "new.duckdb exists already; --replace puts the backup in its place" in again.stderr


def test_a_running_server_is_backed_up_without_stopping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening(tmp_path) as url:
        (tmp_path / "r.jsonl").write_bytes(request_rows(30))
        here(["ingest", "r.jsonl", "--server", url], capsys)
        backed = here(["backup", "copy.duckdb.zst", "--server", url], capsys)
    left = list((tmp_path / "store.duckdb.spool").glob("backup-*"))
    assert backed.returncode == 0
    assert restore(tmp_path / "copy.duckdb.zst", tmp_path / "new.duckdb")["requests"] == 30
    assert left == []


@pytest.mark.parametrize("content", [b"no store at all", b"\x28\xb5\x2f\xfdtorn", None])
def test_what_is_no_backup_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "copy").write_bytes(content)
    with pytest.raises(UnreadableInput):
        restore(tmp_path / "copy", tmp_path / "new.duckdb")
    assert [path.name for path in tmp_path.iterdir()] == (["copy"] if content is not None else [])


def test_a_store_is_not_overwritten_by_chance(tmp_path: Path) -> None:
    (tmp_path / "s.duckdb").write_bytes(b"precious")
    with pytest.raises(StateError):
        restore(tmp_path / "copy", tmp_path / "s.duckdb")
    assert (tmp_path / "s.duckdb").read_bytes() == b"precious"


def test_the_doctor_says_what_is_well_and_what_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with client(tmp_path) as service:
        put(service, "r.jsonl", request_rows(30))
    well = here(["doctor", "--store", "store.duckdb"], capsys)
    (tmp_path / "objectives.yaml").write_text("objectives:\n  - {id: x, metric: ttfb, threshold: 1s, target: 95%}\n")
    (tmp_path / "tailwise.yaml").write_text("objectives: objectives.yaml\nhost: 0.0.0.0\n")
    unwell = here(["doctor", "--store", "store.duckdb"], capsys)
    lines = {line.split()[1]: line.split()[0] for line in unwell.stdout.splitlines() if not line.startswith(" ")}
    assert (well.returncode, unwell.returncode) == (0, 1)
    assert "store.duckdb: " in well.stdout
    assert "30 requests of 1 uploads" in " ".join(well.stdout.split())
    assert (lines["objectives"], lines["keys"], lines["store"]) == ("BAD", "BAD", "ok")


def test_the_settings_know_where_the_store_is() -> None:
    assert Settings().store == Path("tailwise.duckdb")
