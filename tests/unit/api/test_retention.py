"""The service drops days by itself: the job, what it tells, and how often it is put."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.jobs import Cancelled, Job, Jobs
from api.retention import KIND, Retention
from api.service import Service
from api.settings import Settings, read_settings
from ingest.errors import ConfigError
from ingest.store.database import Store
from tests.support.retention import filled, some_rows

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def opened(store: Store, keep: str | None) -> tuple[Retention, Jobs, list[str]]:
    told: list[str] = []
    service = Service(store, timezone="Europe/Berlin", now=lambda: NOW)
    settings = Settings(retention=keep)
    retention = Retention(service, lambda: jobs, settings, changed=lambda: told.append("changed"), now=lambda: NOW)
    jobs: Jobs = Jobs(store, {KIND: retention.work})
    return retention, jobs, told


def test_a_day_that_is_due_becomes_one_job_and_then_no_further() -> None:
    with Store.open() as store:
        filled(store, some_rows(200))
        retention, jobs, told = opened(store, "4d")
        jobs.start()
        job = retention.look()
        assert job is not None
        assert retention.look() is None  # it is at work, or done
        assert jobs.wait(job, 60)
        assert (job.state, told) == ("done", ["changed"])
        rolled = int(store.read("rolled_days")["n_requests"].sum())
        assert job.message == (
            f"{rolled} requests, 0 calls and 0 spans before 2026-03-03T23:00:00Z were rolled up and dropped"
        )
        assert retention.look() is None
        jobs.close()
        view = retention.view()
    assert (view["retention"], view["kept_from"]) == ("4d", "2026-03-03T23:00:00Z")
    assert view["rolled_up"]["requests"] == rolled > 0
    assert (view["rolled_up"]["from"], view["rolled_up"]["to"]) == ("2026-03-02T00:00:00Z", "2026-03-03T23:00:00Z")


def test_a_job_that_is_stopped_drops_no_further_day() -> None:
    with Store.open() as store:
        filled(store, some_rows(200))
        retention, _, _ = opened(store, "4d")
        job = Job("j", KIND, KIND, {})
        job.stop.set()
        with pytest.raises(Cancelled):
            retention.work(job)
        assert store.read("rolled_days").is_empty()
        assert store.read("requests").height == 200


def test_without_the_setting_nothing_is_ever_dropped() -> None:
    with Store.open() as store:
        filled(store, some_rows(50))
        retention, _, _ = opened(store, None)
        assert retention.look() is None
        job = Job("j", KIND, KIND, {})
        retention.work(job)
        assert job.message == "rows are kept for ever; nothing was dropped"
        assert store.read("requests").height == 50
        assert retention.view()["kept_from"] is None


def test_the_setting_is_a_duration_of_a_day_or_more(tmp_path: Path) -> None:
    assert Settings(retention="13w").retention_s == 13 * 7 * 86_400
    for wrong, why in (("35", "has no unit"), ("12h", "at least 1d"), ("soon", "is no duration")):
        with pytest.raises(ConfigError, match=f'TAILWISE_RETENTION: "{wrong}" is not a valid retention: .*{why}'):
            read_settings(environment={"TAILWISE_RETENTION": wrong}, file=None)
    (tmp_path / "tailwise.yaml").write_text("retention: 35d\n")
    assert read_settings(environment={}, file=tmp_path / "tailwise.yaml").retention == "35d"
    assert read_settings({"retention": "2d"}, environment={}, file=tmp_path / "tailwise.yaml").retention == "2d"
