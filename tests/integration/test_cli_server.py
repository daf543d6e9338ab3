"""Commands against a running server, and the demo, as processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.server import here, request_rows, tailwise

DEMO = Path(__file__).resolve().parents[2] / "api" / "demo"
ADDRESS = re.compile(r"tailwise answers at (http://127\.0\.0\.1:\d+)/")
PRICES = "prices:\n  - {model: m, from: 2026-01-01, usd_per_million_tokens: {input: 1, output: 2}}\n"


@contextmanager
def process(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """URL and process of a command that serves; it is stopped at the end."""
    log = folder / "log"
    with log.open("wb") as told:
        started = subprocess.Popen([sys.executable, "-m", "api.cli", *words], cwd=folder, stderr=told, stdout=told)
    try:
        until = time.monotonic() + 90
        while (found := ADDRESS.search(log.read_text())) is None and started.poll() is None:
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        assert found is not None, log.read_text()
        yield found[1], started
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "prices.yaml").write_text(PRICES)
    with process(tmp_path, "serve", "--store", "s.duckdb", "--port", "0", "--prices", "prices.yaml") as (url, _):
        yield url


def test_serve_says_at_once_what_it_opens(server: str, tmp_path: Path) -> None:
    first, *later = (tmp_path / "log").read_text().splitlines()
    assert first == "opening s.duckdb ..."
    assert any(line.startswith(f"tailwise answers at {server}/") for line in later)


def test_commands_ask_a_server_that_holds_the_store(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requests.jsonl").write_bytes(request_rows(60) + b"torn")
    sent = here(["ingest", "requests.jsonl", "--server", server], capsys)
    report = here(["report", "--server", server, "--json", "-", "--where", "user=u-1"], capsys)
    costs = here(["costs", "--server", server, "--by", "user", "--format", "csv"], capsys)
    held = here(["report", "--store", "s.duckdb"], capsys)
    refused = here(["report", "--server", server, "--week", "nonsense"], capsys)
    assert sent.returncode == 0
    assert "requests.jsonl: flat, read 61 = accepted 60 + duplicate 0 + rejected 1\n  line 61: " in sent.stderr
    assert json.loads(report.stdout)["summary"]["requests"] == 20
    assert costs.stdout.splitlines()[0].startswith("user,")
    assert len(costs.stdout.splitlines()) == 4
    assert (held.returncode, "s.duckdb is held by another process" in held.stderr) == (1, True)
    assert (refused.returncode, 'week "nonsense" is not of the form 2026-W48' in refused.stderr) == (2, True)


def test_a_run_file_says_the_sampling_rate_to_a_server_too(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "requests.jsonl").write_bytes(request_rows(60))
    (tmp_path / "in" / "run.json").write_text('{"sampling_rate": 0.5, "seed": 1, "hours": 1, "start": "x"}')
    report = here(["report", "in", "--server", server, "--json", "-"], capsys)
    summary = json.loads(report.stdout)["summary"]
    assert (summary["requests"], summary["requests_estimated"]) == (60, 120)


def test_a_server_stops_in_order_and_its_store_can_be_opened_after(tmp_path: Path) -> None:
    with process(tmp_path, "serve", "--store", "s.duckdb", "--port", "0") as (url, started):
        sent = httpx2.put(f"{url}/api/v1/uploads/r.jsonl", content=request_rows(60))
        started.send_signal(signal.SIGTERM)
        ended = started.wait(30)
    with process(tmp_path, "serve", "--store", "s.duckdb", "--port", "0") as (url, _):
        upload = httpx2.get(f"{url}/api/v1/uploads/{sent.json()['id']}").json()
    assert (sent.status_code, ended) == (202, 0)
    assert upload["state"] in ("done", "waiting", "reading")


def test_a_taken_address_is_told(server: str, tmp_path: Path) -> None:
    ran = tailwise("serve", "--store", "other.duckdb", "--port", server.rsplit(":", 1)[1], folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("tailwise: cannot listen at 127.0.0.1:")


def test_a_store_that_a_server_holds_is_told_to_a_second_server(server: str, tmp_path: Path) -> None:
    assert server
    ran = tailwise("serve", "--store", "s.duckdb", "--port", "0", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert [line for line in ran.stderr.splitlines() if "held by another process" in line] != []
    assert "Traceback" not in ran.stderr


def test_a_faulty_file_stops_a_server_with_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "objectives.yaml").write_text("objectives:\n  - {id: x, metric: ttfb, threshold: 1s, target: 95%}\n")
    ran = tailwise("serve", "--port", "0", "--objectives", "objectives.yaml", folder=tmp_path)
    assert (ran.returncode, 'Did you mean "ttft"?' in ran.stderr, "Traceback" in ran.stderr) == (2, True, False)


def test_the_demo_names_the_planted_incident(tmp_path: Path) -> None:
    ran = tailwise("demo", "--no-serve", folder=tmp_path)
    stored = tailwise(
        *("diagnose", "--store", "demo/tailwise.duckdb", "--week", "2026-W10", "--json", "-"),
        *("--objectives", DEMO / "objectives.yaml", "--prices", DEMO / "prices.yaml"),
        folder=tmp_path,
    )
    result = json.loads(stored.stdout)
    first = {(f["stage"], f["cause"], tuple(f["segment"].items())) for f in result["findings"] if f["rank"] == 1}
    page = (tmp_path / "demo" / "report.html").read_text()
    assert ran.returncode == 0
    assert "All figures are simulated." in ran.stderr
    assert "2 of 3 replicas of lm-large in us-east served nothing" in ran.stdout
    assert ("queue", "failure", (("model", "lm-large"), ("region", "us-east"))) in first
    assert {segment for _, _, segment in first} == {(("model", "lm-large"), ("region", "us-east"))}
    assert (result["summary"]["requests"], result["provenance"]["simulated"]) == (9880, True)
    assert result["comparison"] is not None
    assert "simulated" in page.lower()


def test_the_healthy_week_of_the_demo_has_no_finding(tmp_path: Path) -> None:
    words = ("--objectives", DEMO / "objectives.yaml", "--prices", DEMO / "prices.yaml")
    ran = tailwise("diagnose", DEMO / "2026-W09", "--json", "-", *words, folder=tmp_path)
    assert json.loads(ran.stdout)["findings"] == []


def test_the_sample_weeks_are_small() -> None:
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 3_000_000


def test_the_demo_serves_the_same_report(tmp_path: Path) -> None:
    with process(tmp_path, "demo", "--port", "0") as (url, _):
        home = httpx2.get(f"{url}/")
        report = httpx2.get(f"{url}/reports/latest.json").json()
    assert (home.status_code, report["selection"]["week"], report["summary"]["requests"]) == (200, "2026-W10", 9880)
    assert os.path.exists(tmp_path / "demo" / "report.html")
