"""Background jobs: a table in the store and one worker thread.

Input: jobs put by a route. Output: their state in the store; progress in memory, for whoever watches.
One thread, for the store has one writer and a load uses the cores that there are. After a restart what was waiting
or running begins anew: every kind of job can be repeated without harm.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import structlog

from ingest.errors import ServiceError
from ingest.store import lists
from ingest.store.database import Store

UNFINISHED = ("waiting", "running")
KEPT = 1000  # finished jobs whose progress stays in memory


class Cancelled(Exception):
    """The job was asked to stop and did."""


@dataclass
class Job:
    """One job; `done` and `total` are bytes, `said` what else a watcher should see."""

    job_id: str
    kind: str
    subject: str
    parameters: Mapping[str, Any]
    state: str = "waiting"
    done: int = 0
    total: int = 0
    started: float | None = None
    message: str | None = None
    said: dict[str, Any] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def progress(self, done: int, total: int) -> None:
        """Told by the work, from its thread."""
        self.done, self.total = done, total

    def view(self) -> dict[str, Any]:
        """What a watcher sees."""
        seconds = time.monotonic() - self.started if self.started is not None else None
        rate = self.done / seconds if seconds and self.done else None
        left = (self.total - self.done) / rate if rate and self.total else None
        return {
            "job_id": self.job_id,
            "kind": self.kind,
            "subject": self.subject,
            "state": self.state,
            "done_bytes": self.done,
            "total_bytes": self.total,
            "bytes_per_s": rate if self.state == "running" else None,
            "seconds_left": left if self.state == "running" else None,
            "message": self.message,
            **self.said,
        }


Work = Callable[[Job], None]


class Jobs:
    """The queue. `works`: what does a kind of job; `now_ns`: the clock."""

    def __init__(self, store: Store, works: Mapping[str, Work], now_ns: Callable[[], int] = time.time_ns) -> None:
        self._store = store
        self._works = works
        self._now_ns = now_ns
        self._jobs: dict[str, Job] = {}
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self._log = structlog.get_logger("jobs")

    def start(self) -> None:
        """Take up what an earlier process left, and begin."""
        for row in lists.jobs_in(self._store, UNFINISHED).iter_rows(named=True):
            parameters = json.loads(row["parameters"] or "{}")
            job = Job(row["job_id"], row["kind"], row["subject"] or "", parameters, total=row["total_bytes"] or 0)
            self._jobs[job.job_id] = job
        self._thread.start()

    def close(self) -> None:
        """Stop the running job (it begins anew at the next start) and wait for it."""
        with self._wake:
            self._closing = True
            for job in self._jobs.values():
                if job.state == "running":
                    job.stop.set()
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def put(self, kind: str, subject: str, parameters: Mapping[str, Any] | None = None, *, total: int = 0) -> Job:
        """A new job at the end of the queue; durable when this returns."""
        job = Job(f"j-{uuid4().hex[:12]}", kind, subject, dict(parameters or {}), total=total)
        self._save(job, created_ns=self._now_ns(), parameters=json.dumps(job.parameters, sort_keys=True))
        with self._wake:
            self._jobs[job.job_id] = job
            self._forget()
            self._wake.notify_all()
        return job

    def about(self, subject: str) -> Job | None:
        """The newest job about an upload or report that this process knows."""
        return next((job for job in reversed(list(self._jobs.values())) if job.subject == subject), None)

    def cancel(self, job: Job) -> None:
        """Ask a job to stop; one that waits stops at once."""
        with self._wake:
            job.stop.set()
            if job.state == "waiting":
                self._finish(job, "cancelled", None)

    def unfinished(self) -> int:
        """Jobs that wait or run."""
        return sum(job.state in UNFINISHED for job in list(self._jobs.values()))

    def wait(self, job: Job, seconds: float) -> bool:
        """True once the job has ended; False after that many seconds."""
        with self._wake:
            return self._wake.wait_for(lambda: job.state not in UNFINISHED, seconds)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._works[job.kind](job)
            except Cancelled:
                if self._closing:
                    return  # stays unfinished in the store, so the next process takes it up
                self._finish(job, "cancelled", None)
            except ServiceError as error:
                self._finish(job, "failed", error.message)
            except Exception as error:
                self._log.exception("job failed", job=job.job_id, kind=job.kind)
                self._finish(job, "failed", f"the job broke off: {type(error).__name__}: {error}")
            else:
                self._finish(job, "done", job.message)

    def _next(self) -> Job | None:
        with self._wake:
            while True:
                if self._closing:
                    return None
                job = next((job for job in self._jobs.values() if job.state == "waiting"), None)
                if job is not None:
                    job.state, job.started = "running", time.monotonic()
                    self._save(job)
                    return job
                self._wake.wait()

    def _finish(self, job: Job, state: str, message: str | None) -> None:
        with self._wake:
            job.state, job.message = state, message
            self._save(job, finished_ns=self._now_ns(), message=message)
            self._wake.notify_all()

    def _save(self, job: Job, **more: Any) -> None:
        row = {"job_id": job.job_id, "kind": job.kind, "state": job.state, "subject": job.subject}
        self._store.put_job(row | {"done_bytes": job.done, "total_bytes": job.total} | more)

    def _forget(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.state not in UNFINISHED]
        for key in ended[: max(0, len(ended) - KEPT)]:
            del self._jobs[key]
