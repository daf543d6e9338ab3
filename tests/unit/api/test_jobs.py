"""Jobs: one after the other, stopped on demand, taken up again by the next process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.jobs import Cancelled, Job, Jobs
from ingest.errors import UnreadableInput
from ingest.store import lists
from ingest.store.database import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.duckdb") as opened:
        yield opened


@contextmanager
def running(store: Store, work: Callable[[Job], None]) -> Iterator[Jobs]:
    jobs = Jobs(store, {"upload": work})
    jobs.start()
    try:
        yield jobs
    finally:
        jobs.close()


def test_jobs_run_in_the_order_they_were_put(store: Store) -> None:
    seen: list[str] = []
    with running(store, lambda job: seen.append(job.subject)) as jobs:
        put = [jobs.put("upload", name) for name in ("a", "b", "c")]
        assert all(jobs.wait(job, 10) for job in put)
    assert (seen, [job.state for job in put]) == (["a", "b", "c"], ["done"] * 3)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (UnreadableInput("it is torn"), "it is torn"),
        (ZeroDivisionError("by zero"), "the job broke off: ZeroDivisionError: by zero"),
    ],
)
def test_a_job_that_fails_says_why_and_the_next_one_runs(store: Store, error: Exception, says: str) -> None:
    def work(job: Job) -> None:
        if job.subject == "bad":
            raise error

    with running(store, work) as jobs:
        bad, good = jobs.put("upload", "bad"), jobs.put("upload", "good")
        jobs.wait(good, 10)
    rows = [(row["state"], row["message"]) for row in map(lists.job_of, [store] * 2, ["bad", "good"]) if row]
    assert (bad.state, rows) == ("failed", [("failed", says), ("done", None)])


def test_a_running_job_stops_when_it_is_asked_to(store: Store) -> None:
    begun = threading.Event()

    def work(job: Job) -> None:
        begun.set()
        job.stop.wait(10)
        raise Cancelled

    with running(store, work) as jobs:
        job = jobs.put("upload", "u")
        begun.wait(10)
        jobs.cancel(job)
        assert (jobs.wait(job, 10), job.state) == (True, "cancelled")


def test_what_was_running_when_the_process_ended_begins_anew(store: Store) -> None:
    begun = threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        job.stop.wait(10)
        raise Cancelled

    with running(store, endless) as jobs:
        jobs.put("upload", "u", {"format": "otlp_json"}, total=7)
        begun.wait(10)
    seen: list[tuple[str, object, int]] = []
    with running(store, lambda job: seen.append((job.subject, dict(job.parameters), job.total))) as jobs:
        job = jobs.about("u")
        assert job is not None
        jobs.wait(job, 10)
    assert seen == [("u", {"format": "otlp_json"}, 7)]


def test_progress_gives_rate_and_time_left(store: Store) -> None:
    release = threading.Event()
    told = threading.Event()

    def work(job: Job) -> None:
        job.progress(25, 100)
        told.set()
        release.wait(10)

    with running(store, work) as jobs:
        job = jobs.put("upload", "u", total=100)
        told.wait(10)
        view = job.view()
        release.set()
        jobs.wait(job, 10)
    assert (view["done_bytes"], view["total_bytes"], view["state"]) == (25, 100, "running")
    assert view["seconds_left"] == pytest.approx(75 / view["bytes_per_s"])
