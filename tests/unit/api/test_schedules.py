"""Schedules: when they are due by the clock of their zone, what their report is about, and that none is owed twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from api.delivery import deliver, subject_of
from api.jobs import Job, Jobs
from api.question import Question
from api.schedules import KIND, Schedule, Schedules
from api.settings import Settings
from ingest.errors import ConfigError
from ingest.store.database import Store
from tests.support.results import week
from tests.support.server import client, put, request_rows


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


MONDAY = Schedule(id="weekly", on="monday", at="06:00", timezone="Europe/Berlin")
DAILY = Schedule(id="daily", on="daily", at="02:30", timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("schedule", "now", "due", "upcoming"),
    [
        (MONDAY, "2026-03-09T04:59:59", "2026-03-02T05:00:00", "2026-03-09T05:00:00"),
        (MONDAY, "2026-03-09T05:00:00", "2026-03-09T05:00:00", "2026-03-16T05:00:00"),
        (MONDAY, "2026-03-31T12:00:00", "2026-03-30T04:00:00", "2026-04-06T04:00:00"),  # summer time has begun
        (DAILY, "2026-03-29T12:00:00", "2026-03-29T01:30:00", "2026-03-30T00:30:00"),  # 02:30 does not exist that day
        (DAILY, "2026-10-25T12:00:00", "2026-10-25T00:30:00", "2026-10-26T01:30:00"),  # 02:30 comes twice that day
    ],
)
def test_a_schedule_is_due_by_the_clock_of_its_zone(schedule: Schedule, now: str, due: str, upcoming: str) -> None:
    assert (schedule.due(at(now)), schedule.upcoming(at(now))) == (at(due), at(upcoming))


def test_a_report_is_about_the_week_or_the_day_before() -> None:
    weekly = MONDAY.model_copy(update={"where": ["scenario=chat"]}).question(at("2026-01-05T05:00:00"))
    daily = DAILY.question(at("2026-03-01T01:30:00"))
    assert weekly == Question(week="2026-W01", timezone="Europe/Berlin", where=(("scenario", "chat"),))
    assert daily == Question(start="2026-02-28", end="2026-03-01", timezone="Europe/Berlin")


class Clock:
    """Time that a test moves."""

    now = at("2026-03-09T04:00:00")

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    with Store.open(tmp_path / "s.duckdb") as store:
        yield Jobs(store, {KIND: lambda _: None})


def owed(jobs: Jobs) -> list[str]:
    job: Job | None = jobs.about("schedule weekly")
    return [] if job is None else [job.parameters["due"]]


def test_a_report_is_owed_once_and_by_the_next_process_too(tmp_path: Path, jobs: Jobs) -> None:
    clock = Clock()
    first = Schedules(tmp_path / "s.json", jobs, clock)
    first.put(json.dumps([MONDAY.model_dump()]).encode())
    first.look()
    before = owed(jobs)
    clock.now = at("2026-03-09T07:00:00")
    later = Schedules(tmp_path / "s.json", jobs, clock)
    later.look()
    one = owed(jobs)
    later.look()
    assert (before, one) == ([], ["2026-03-09T05:00:00+00:00"])
    assert later.listed() == [(MONDAY, at("2026-03-09T05:00:00"), at("2026-03-16T05:00:00"))]
    assert jobs.unfinished() == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"on": "someday"}, "schedules, 0.on: Input should be 'monday'"),
        ({"at": "25:00"}, "schedules, 0.at: String should match pattern"),
        ({"timezone": "Mars"}, 'time zone "Mars" is not known'),
        ({"where": ["chat"]}, 'filter "chat" is not of the form dimension=value'),
        ({"to": ["me"]}, '"me" is no address; write https://... or mailto:...'),
        ({"weekday": 1}, "schedules, 0.weekday: Extra inputs are not permitted"),
    ],
)
def test_what_breaks_a_rule_is_refused(tmp_path: Path, jobs: Jobs, change: dict[str, Any], says: str) -> None:
    schedules = Schedules(tmp_path / "s.json", jobs)
    with pytest.raises(ConfigError) as caught:
        schedules.put(json.dumps([MONDAY.model_dump() | change]).encode())
    assert says in caught.value.message
    assert schedules.listed() == []


def test_two_schedules_of_one_id_are_refused(tmp_path: Path, jobs: Jobs) -> None:
    with pytest.raises(ConfigError, match='the id "weekly" stands twice'):
        Schedules(tmp_path / "s.json", jobs).put(json.dumps([MONDAY.model_dump()] * 2).encode())


def test_a_web_address_is_sent_the_verdicts_and_one_that_fails_is_named() -> None:
    told: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *said: object) -> None:
            """Nothing to the console."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        failures = deliver(week(), "2026-W10-r1", [address, "http://127.0.0.1:1/", "mailto:a@b.example"], Settings())
        server.shutdown()
    assert (told[0]["report"], told[0]["breached"]) == (
        "2026-W10-r1",
        [row.id for row in week().objectives if row.verdict == "breached"],
    )
    assert [failure.split(" was not reached: ")[0] for failure in failures] == [
        "http://127.0.0.1:1/",
        "mailto:a@b.example",
    ]
    assert failures[1].endswith("no mail server is set; give smtp: HOST:PORT in the settings")


def test_a_week_without_requests_is_told_as_such(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        put(service, "r.jsonl", request_rows(10))
        service.put("/api/v1/schedules", json=[MONDAY.model_dump()])
        house = service.app.state.house  # type: ignore[attr-defined]
        job = house.jobs.put(KIND, "schedule weekly", {"schedule": "weekly", "due": "2026-04-20T05:00:00+00:00"})
        assert house.jobs.wait(job, 60)
        empty = house.service.report("2026-W16-r1")
    assert job.message.startswith(
        "made 2026-W16-r1; No request lies in this selection. The requests that were loaded are from 2026-"
    )
    assert subject_of(empty) == "no requests"


def test_schedules_are_put_and_listed_over_http(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        put(service, "r.jsonl", request_rows(10))
        said = service.put("/api/v1/schedules", json=[MONDAY.model_dump()])
        wrong = service.put("/api/v1/schedules", json=[{"id": "x y"}])
        house = service.app.state.house  # type: ignore[attr-defined]
        job = house.jobs.put(KIND, "schedule weekly", {"schedule": "weekly", "due": "2026-03-09T05:00:00+00:00"})
        assert house.jobs.wait(job, 60)
        reports = [row["id"] for row in service.get("/api/v1/reports").json()["reports"]]
    with client(tmp_path) as service:
        (row,) = service.get("/api/v1/schedules").json()["schedules"]
    assert (said.status_code, wrong.status_code) == (200, 422)
    assert (job.state, job.message, reports) == ("done", "made 2026-W10-r1", ["2026-W10-r1"])
    assert {key: row[key] for key in ("id", "on", "at", "timezone")} == {
        "id": "weekly",
        "on": "monday",
        "at": "06:00",
        "timezone": "Europe/Berlin",
    }
