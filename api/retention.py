"""Days that are over for long enough: rolled up and dropped by the service itself.

Input: how long rows are kept, the clock. Output: a job whenever a whole past day is due; what was rolled up so far.
The job is stopped between two days like any other; a process that is killed leaves each day as it was, or done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import structlog

from analysis.rollups.roll_up import roll_up
from api.jobs import Cancelled, Job, Jobs
from api.question import Books, Question
from api.service import Service
from api.settings import Settings
from ingest import errors
from ingest.retire import Piece, cutoff, is_due, retire
from ingest.selection import to_iso, to_ns
from ingest.store import lists

KIND = "retention"
LOOK_S = 300.0  # between two looks: a day that is due may wait so long


class Retention:
    """Looks now and then whether a day is due, and puts a job for it.

    Args:
        changed: told when rows went.
        now: the clock, aware.
    """

    def __init__(
        self,
        service: Service,
        jobs: Callable[[], Jobs],
        settings: Settings,
        *,
        changed: Callable[[], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._service = service
        self._jobs = jobs
        self._keep_s = settings.retention_s
        self._keep = settings.retention
        self._changed = changed
        self._now = now
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        if self._keep_s is not None:
            self._thread.start()

    def close(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> Job | None:
        """The job that was put because a day is due; None if none is, or one is at work already."""
        before = self._before()
        job = self._jobs().about(KIND)
        if before is None or (job is not None and job.state in ("waiting", "running")):
            return None
        if not is_due(self._service.store, before, self._zone()):
            return None
        return self._jobs().put(KIND, KIND)

    def work(self, job: Job) -> None:
        """What a job of this kind does: every day that is due by now, the oldest first."""
        before = self._before()
        if before is None:
            job.message = "rows are kept for ever; nothing was dropped"
            return
        objectives, prices, _ = self._service.read_books(Books().over(self._service.books))

        def roll(piece: Piece) -> Any:
            return roll_up(self._service.store, piece, objectives, prices, until_ns=before)

        log = structlog.get_logger("retention")
        try:
            done = retire(
                self._service.store,
                before,
                self._zone(),
                roll,
                now_ns=to_ns(self._now()),
                cancelled=job.stop.is_set,
                told=lambda piece, dropped: log.info(
                    "rolled up", day=to_iso(piece.start_ns), requests=dropped.requests
                ),
            )
        except errors.Cancelled as error:
            self._changed()
            raise Cancelled from error
        job.message = (
            f"{done.requests:,} requests, {done.calls:,} calls and {done.spans:,} spans before {to_iso(before)} were "
            "rolled up and dropped"
        )
        self._changed()

    def view(self) -> dict[str, Any]:
        """How long rows are kept, and what is rolled up, as JSON."""
        told = lists.rolled(self._service.store)
        before = self._before()
        return {
            "retention": self._keep,
            "timezone": self._zone(),
            "kept_from": None if before is None else to_iso(before),
            "rolled_up": {
                "from": None if told["start_ns"] is None else to_iso(told["start_ns"]),
                "to": None if told["end_ns"] is None else to_iso(told["end_ns"]),
                "requests": told["requests"],
                "spans": told["spans"],
                "rows": told["rows"],
            },
            "says": (
                "Counts, attainment, tokens and costs of dropped days are exact, percentiles within 1 %. Later rows of "
                "such a day are refused as day_rolled_up."
            ),
        }

    def _before(self) -> int | None:
        if self._keep_s is None:
            return None
        return cutoff(to_ns(self._now()), self._keep_s, self._zone())

    def _zone(self) -> str:
        return self._service.timezone(Question())

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except errors.ServiceError as error:
                structlog.get_logger("retention").error("could not look", why=error.message)
            if self._ending.wait(LOOK_S):
                return
