"""The parts of a running service, opened and closed together.

Input: settings. Output: a House: store, service, jobs, uploads, receiver, telemetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from fastapi import Request

from api import retention as retaining
from api import schedules as scheduling
from api import uploads
from api.bodies import Held
from api.delivery import deliver
from api.jobs import Job, Jobs, Work
from api.question import Books
from api.receiver import Receiver
from api.retention import Retention
from api.schedules import Schedules
from api.service import Service
from api.settings import Settings
from api.spool import Spool
from api.telemetry import Telemetry
from api.uploads import Uploads
from api.warmer import Warmer
from ingest.mapping import Mapping, read_mapping
from ingest.receipts import LoadOptions
from ingest.store import lists
from ingest.store.database import Store, StoreSettings

BODIES_HELD = 2  # as many of the largest, packed and unpacked, are in memory at once
ADOPTED, ADOPTED_RULES = "objectives.yaml", "rules.yaml"


@dataclass(frozen=True)
class House:
    """A running service."""

    settings: Settings
    store: Store
    service: Service
    jobs: Jobs
    uploads: Uploads
    receiver: Receiver
    telemetry: Telemetry
    schedules: Schedules
    warmer: Warmer
    retention: Retention
    held: Held

    def start(self) -> None:
        """Begin to work; what an earlier process left is taken up."""
        self.receiver.start()
        self.jobs.start()
        self.schedules.start()
        self.warmer.start()
        self.retention.start()
        if lists.counts(self.store)["requests"]:
            self.warmer.poke()

    def close(self) -> None:
        """End; what was acknowledged is in the store when this returns, or on disk until the next start."""
        structlog.get_logger("house").info("closing")
        self.schedules.close()
        self.retention.close()
        self.jobs.close()
        self.warmer.close()
        self.receiver.close()


@contextmanager
def open_house(settings: Settings, telemetry: Telemetry) -> Iterator[House]:
    """The service, running.

    Raises:
        StoreHeld: another process has the store open.
        ConfigError: a file of the settings breaks a rule.
    """
    folder = settings.spool_folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for torn in folder.glob("backup-*"):
        torn.unlink()
    store_settings = StoreSettings((folder,), settings.query_threads, settings.memory_limit)
    with Store.open(settings.store, store_settings) as store:
        house = _build(settings, store, telemetry, folder)
        house.service.objectives()  # a fault in a file shows at the start, not at the first question
        house.service.catalog()
        house.start()
        try:
            yield house
        finally:
            house.close()


def _build(settings: Settings, store: Store, telemetry: Telemetry, folder: Path) -> House:
    books = Books(
        settings.objectives or _adopted(folder / ADOPTED),
        settings.prices,
        settings.fleet,
        settings.rules or _adopted(folder / ADOPTED_RULES),
    )
    mapping = read_mapping(settings.mapping) if settings.mapping else Mapping()
    service = Service(store, books, timezone=settings.timezone)
    warmer = Warmer(service.warm, lambda: jobs.unfinished() > 0)

    def changed() -> None:
        service.changed()
        warmer.poke()

    taken = Uploads(store, folder / "uploads", mapping=mapping, max_bytes=settings.max_upload_bytes, changed=changed)
    spool = Spool(folder / "spans", settings.max_backlog_bytes)
    receiver = Receiver(
        store,
        spool,
        LoadOptions(mapping=mapping),
        telemetry,
        batch_seconds=settings.batch_seconds,
        changed=service.grew,
    )
    retention = Retention(service, lambda: jobs, settings, changed=changed)
    works: dict[str, Work] = {
        uploads.KIND: taken.work,
        retaining.KIND: retention.work,
        scheduling.KIND: lambda job: _report(service, schedules, settings, job),
    }
    jobs: Jobs = Jobs(store, works)
    schedules: Schedules = Schedules(folder / "schedules.json", jobs)
    _watch(telemetry, jobs, spool)
    held = Held(BODIES_HELD * (settings.max_body_bytes + settings.max_unpacked_bytes))
    return House(settings, store, service, jobs, taken, receiver, telemetry, schedules, warmer, retention, held)


def _adopted(path: Path) -> Path | None:
    """What was put over HTTP holds where the operator gives none."""
    return path if path.is_file() else None


def house_of(request: Request) -> House:
    """The service that a request came to."""
    house: House = request.app.state.house
    return house


def _report(service: Service, schedules: Schedules, settings: Settings, job: Job) -> None:
    """Make the report of a schedule and tell of it; a schedule that is gone is not owed any."""
    schedule = schedules.get(job.parameters["schedule"])
    if schedule is None:
        return
    row = service.make_report(schedule.question(datetime.fromisoformat(job.parameters["due"])))
    failures = deliver(service.report(row["report_id"]), row["report_id"], schedule.to, settings)
    job.message = "; ".join([f"made {row['report_id']}", *([row["note"]] if row["note"] else []), *failures])
    if row["note"]:
        structlog.get_logger("schedules").warning("nothing to report", schedule=schedule.id, why=row["note"])
    for failure in failures:
        structlog.get_logger("schedules").warning("not delivered", schedule=schedule.id, why=failure)


def _watch(telemetry: Telemetry, jobs: Jobs, spool: Spool) -> None:
    telemetry.watch("tailwise_jobs_unfinished", "Jobs that wait or run", jobs.unfinished)
    telemetry.watch("tailwise_backlog_bytes", "Received spans that wait for the store", lambda: spool.backlog_bytes)
