"""A service that keeps rows for a few days: what it answers before and after, over HTTP, and in a backup."""

from __future__ import annotations

import io
import json
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from fastapi.testclient import TestClient
from polars.testing import assert_frame_equal

from api.copies import back_up, restore
from api.doctor import examine
from ingest.store.database import Store
from reports.render import render
from tests.support.server import WAIT_S, client, put, settings, tailwise

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def rows(name: str, days_ago: int, n: int) -> bytes:
    """Requests of one day, of a model in the built-in price book."""
    start = TODAY - timedelta(days=days_ago)
    lines = []
    for number in range(n):
        at = start + timedelta(minutes=10 * number)
        told: dict[str, Any] = {"request_id": f"{name}-{number}", "start_time": at.isoformat(), "model": "gpt-4o"}
        told |= {"provider": "openai", "input_tokens": 1000, "output_tokens": 100, "user": f"u-{number % 3}"}
        lines.append(json.dumps(told | {"ttft_ms": 200.0 + number, "e2e_ms": 2000.0, "tenant": "t"}))
    return ("\n".join(lines) + "\n").encode()


OLD, NEW = rows("old", 9, 60), rows("new", 1, 40)


def costs(service: TestClient) -> dict[str, Any]:
    told: dict[str, Any] = service.get("/api/v1/costs", params={"by": "user,tenant"}).json()
    return {name: told[name] for name in ("rows", "cubes", "total_usd", "unpriced_requests", "wasted_usd")}


def ledger(service: TestClient) -> pl.DataFrame:
    """The finance export, without the hash of the files behind it."""
    said = service.get("/api/v1/exports/focus")
    with zipfile.ZipFile(io.BytesIO(said.content)) as archive:
        table = pl.read_csv(archive.read("cost_and_usage.csv"), infer_schema=False)
    return table.drop("x_SourceHash")


def dropped(service: TestClient) -> dict[str, Any]:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        told: dict[str, Any] = service.get("/api/v1/retention").json()
        if told["rolled_up"]["requests"]:
            return told
        time.sleep(0.05)
    raise AssertionError("nothing was dropped")


def test_a_service_with_retention_drops_and_still_answers(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        old, new = put(service, "old.jsonl", OLD), put(service, "new.jsonl", NEW)
        assert (old["accepted"], new["accepted"]) == (60, 40)
        before, exported = costs(service), ledger(service)
        assert service.get("/api/v1/retention").json()["rolled_up"]["requests"] == 0
    with client(tmp_path, retention="7d") as service:
        told = dropped(service)
        assert (told["retention"], told["rolled_up"]["requests"]) == ("7d", 60)
        assert costs(service) == before
        assert_frame_equal(ledger(service), exported)
        summary = service.get("/api/v1/summary").json()["summary"]
        assert summary["requests"] == 40
        assert service.get(f"/api/v1/uploads/{old['id']}").json()["rolled_up"] == 60
        refused = service.delete(f"/api/v1/uploads/{old['id']}")
        assert (refused.status_code, refused.json()["code"]) == (409, "rolled_up")
        assert "roll-ups are sums" in refused.json()["detail"]
        assert service.delete(f"/api/v1/uploads/{new['id']}").status_code == 204
        again = put(service, "new.jsonl", NEW)
        assert again["accepted"] == 40
        late = put(service, "late.jsonl", rows("late", 9, 2) + rows("fresh", 1, 1))
        assert (late["accepted"], late["reasons"]) == (1, {"day_rolled_up": 2})
        same = put(service, "old.jsonl", OLD)
        assert (same["accepted"], same["duplicate"]) == (0, 60)
        assert sum(row["requests"] for row in costs(service)["rows"]) == 101
        made = service.post("/api/v1/reports", json={}).json()
        report = service.get(f"/reports/{made['id']}.json").json()
        assert (report["rolled"]["requests"], report["rolled"]["basis"]["latency"]) == (101, "within 1 %")


def test_a_backup_has_the_roll_ups_and_doctor_knows_them(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        put(service, "old.jsonl", OLD)
    with client(tmp_path, retention="7d") as service:
        dropped(service)
        before = costs(service)
    with Store.open(tmp_path / "store.duckdb") as store:
        back_up(store, tmp_path / "copy.duckdb.zst")
    (tmp_path / "other").mkdir()
    assert restore(tmp_path / "copy.duckdb.zst", tmp_path / "other" / "store.duckdb")["rolled_days"] == 1
    with client(tmp_path / "other") as service:
        assert costs(service) == before
    checks = {check.name: check for check in examine(settings(tmp_path, retention="7d"))}
    assert checks["retention"].state == "good"
    assert "rows are kept for 7d" in checks["retention"].says
    assert "60 requests in " in checks["retention"].says
    said = tailwise("costs", "--store", "store.duckdb", "--by", "user", folder=tmp_path)
    assert (said.returncode, before["total_usd"][:6] in said.stdout) == (0, True), said.stdout + said.stderr


def test_the_pages_say_what_was_dropped(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        put(service, "old.jsonl", OLD)
        put(service, "new.jsonl", NEW)
    with client(tmp_path, retention="7d") as service:
        dropped(service)
        made = service.post("/api/v1/reports", json={}).json()
        home, report = service.get("/").text, service.get(f"/reports/{made['id']}").text
        summary = service.get("/api/v1/summary").json()
        groups = service.get("/api/v1/latency", params={"by": "user"}).json()
        judged = [service.get(f"/api/v1/{name}").json()["notes"] for name in ("breaches", "objectives")]
        first = service.get("/api/v1/objectives").json()["objectives"][0]["id"]
        one = [service.get(f"/api/v1/objectives/{first}{end}").json()["notes"] for end in ("", "/diagnosis")]
    assert "60 rows rolled up and dropped" in home
    assert "Rows are kept for 7d." in home
    assert "Rows of 60 requests, " in report
    assert "100 requests in all, costs " in report
    assert "P95, within 1 %" in report
    assert "Attainment, exact" in report
    assert (summary["summary"]["requests"], summary["rolled"]["requests"]) == (40, 100)
    assert "60 requests are told by their roll-ups alone" in groups["note"]
    assert all("60 requests are told by their roll-ups alone" in notes[0] for notes in (*judged, *one))


def test_a_range_whose_rows_are_all_gone_is_told_as_rolled_up_in_every_form(tmp_path: Path) -> None:
    asked = {"from": (TODAY - timedelta(days=10)).isoformat(), "to": (TODAY - timedelta(days=7)).isoformat()}
    with client(tmp_path) as service:
        put(service, "old.jsonl", OLD)
    with client(tmp_path, retention="7d") as service:
        dropped(service)
        made = service.post("/api/v1/reports", json=asked).json()
        forms = {kind: service.get(f"/reports/latest.{kind}").text for kind in ("md", "csv", "html")}
        breaches = service.get("/api/v1/breaches", params=asked).json()["notes"]
        other = service.post("/api/v1/reports", json={"week": "2020-W10"}).json()["note"]
        stored = service.app.state.house.service.report("latest")  # type: ignore[attr-defined]
    assert "dropped by retention: 60 requests are told by their roll-ups alone" in made["note"]
    assert "its counts, attainment and costs remain as far as roll-ups keep them" in made["note"]
    assert made["note"] == " ".join(breaches)
    lines = forms["md"].splitlines()
    assert lines[0].endswith(": 60 requests, rows dropped by retention")
    assert "60 requests in all, costs " in forms["md"].replace("\u00a0", " ")
    assert "rolled,,requests,60" in forms["csv"]
    assert "notes,1,says," in forms["csv"]
    assert "60 requests, rows dropped by retention" in forms["html"]
    assert not [kind for kind, said in forms.items() if "load traces of" in said or "no requests" in lines[0]]
    assert "按保留期限删除" in render(stored, "md", lang="zh").decode().splitlines()[0]
    day = f"{TODAY - timedelta(days=9):%Y-%m-%d}"
    assert f"No request lies in this selection. The requests that were loaded are from {day}T00:00:00" in other


def test_a_week_whose_rows_are_partly_gone_is_not_compared_with(tmp_path: Path) -> None:
    asked = {"from": (TODAY - timedelta(days=8)).isoformat(), "to": (TODAY + timedelta(days=1)).isoformat()}
    with client(tmp_path) as service:
        put(service, "rows.jsonl", rows("a", 12, 50) + rows("b", 9, 50) + NEW)
        assert service.get("/api/v1/comparison", params=asked).json()["comparison"] is not None
    with client(tmp_path, retention="10d") as service:
        dropped(service)
        assert service.get("/api/v1/comparison", params=asked).json()["comparison"] is None
