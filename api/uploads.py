"""Files that are sent in: spooled to disk, loaded by a job, taken out again on demand.

Input: a stream of bytes with a name that nobody vouches for. Output: an upload, its job, its receipt.
The name is shown and never used as a path: on disk an upload is called by its id.
"""

from __future__ import annotations

import json
import os
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.concurrency import run_in_threadpool

from api.bodies import too_large
from api.jobs import Cancelled, Job, Jobs
from api.problems import Refused
from ingest.errors import NotFound, ServiceError, StateError, UnreadableInput
from ingest.forget import forget
from ingest.load import load
from ingest.mapping import Mapping, parse_mapping
from ingest.receipts import LoadOptions
from ingest.schema import NS_PER_S
from ingest.selection import parse_instant, to_iso
from ingest.store import lists
from ingest.store.database import Store

KIND = "upload"
LONGEST_NAME = 200
READING = {"waiting": "waiting", "running": "reading"}  # state of the job: state of the upload


class Uploads:
    """The uploads of a store. `changed` is told whenever rows came or went."""

    def __init__(
        self, store: Store, folder: Path, *, mapping: Mapping, max_bytes: int, changed: Callable[[], None]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._store = store
        self._folder = folder
        self._mapping = mapping
        self._max_bytes = max_bytes
        self._changed = changed
        for torn in folder.glob("*.part"):
            torn.unlink()

    async def take(
        self, name: str, stream: AsyncIterator[bytes], jobs: Jobs, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """The upload of a stream that is now wholly on disk, with its job in the queue.

        Raises:
            Refused: longer than the server takes, or the disk is full.
        """
        upload_id = f"u-{uuid4().hex[:12]}"
        path = self._folder / upload_id
        part = path.with_suffix(".part")
        try:
            size = await self._write(stream, part)
            await run_in_threadpool(_settle, part, path)
        except OSError as error:
            raise Refused(
                f"the file cannot be written: {error.strerror or error}", status=507, code="disk_full"
            ) from error
        finally:
            part.unlink(missing_ok=True)
        return await run_in_threadpool(self._enter, upload_id, safe_name(name), size, jobs, parameters)

    def work(self, job: Job) -> None:
        """What a job of kind "upload" does: load the file, then remove it."""
        path = self._folder / job.subject
        if not path.is_file():
            raise UnreadableInput("the received file is gone; send it again")
        upload = self.get(job.subject)
        self._store.put_upload({"upload_id": job.subject, "state": "reading"})
        try:
            options = self._options(job.parameters)
            receipt = load(
                path,
                self._store,
                options,
                name=upload["name"],
                upload_id=job.subject,
                progress=job.progress,
                cancelled=job.stop.is_set,
            )
        except Exception as error:
            why = error.message if isinstance(error, ServiceError) else "the server met an error; its log has more"
            self._finish(job.subject, "failed", why)
            path.unlink(missing_ok=True)  # a failure is final: whoever sent it may send it again
            raise
        if receipt.state == "cancelled":
            raise Cancelled
        path.unlink(missing_ok=True)
        self._finish(job.subject, receipt.state, receipt.message)
        job.message = receipt.message
        self._changed()

    def get(self, upload_id: str) -> dict[str, Any]:
        """The row of an upload.

        Raises:
            NotFound: no such upload.
        """
        row = lists.upload(self._store, upload_id)
        if row is None:
            raise NotFound(f'no upload has the id "{upload_id}"')
        return row

    def remove(self, upload_id: str, jobs: Jobs) -> None:
        """Take an upload and all its rows out again; one that is being read is stopped first.

        Raises:
            NotFound: no such upload.
            StateError: it could not be stopped in time.
        """
        self.get(upload_id)
        job = jobs.about(upload_id)
        if job is not None:
            jobs.cancel(job)
            if not jobs.wait(job, 30.0):
                raise StateError("the upload is being read and did not stop within 30 s; try again")
        forget(self._store, upload_id)
        (self._folder / upload_id).unlink(missing_ok=True)
        self._changed()

    def _finish(self, upload_id: str, state: str, message: str | None) -> None:
        row = {"upload_id": upload_id, "state": state, "message": message, "finished_ns": time.time_ns()}
        self._store.put_upload(row)

    def _options(self, parameters: Any) -> LoadOptions:
        text, start = parameters.get("mapping"), parameters.get("start")
        mapping = parse_mapping(text) if text else self._mapping
        return LoadOptions(
            format=parameters.get("format"),
            mapping=mapping,
            start_ns=parse_instant(start, mapping.timezone) if start else None,
            sampling_rate=parameters.get("sampling_rate"),
            attributes=parameters.get("attributes", "all"),
        )

    async def _write(self, stream: AsyncIterator[bytes], part: Path) -> int:
        size = 0
        with part.open("wb") as file:
            async for chunk in stream:
                size += len(chunk)
                if size > self._max_bytes:
                    raise too_large("file", self._max_bytes)
                await run_in_threadpool(file.write, chunk)
        return size

    def _enter(self, upload_id: str, name: str, size: int, jobs: Jobs, parameters: dict[str, Any]) -> dict[str, Any]:
        row = {"upload_id": upload_id, "name": name, "size_bytes": size, "state": "waiting"}
        self._store.put_upload(row | {"received_ns": time.time_ns()})
        jobs.put(KIND, upload_id, {k: v for k, v in parameters.items() if v is not None}, total=size)
        return self.get(upload_id)


def safe_name(name: str) -> str:
    """A file name to show: the last part of a path, without control characters, at most 200 characters."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()
    return shown[-LONGEST_NAME:] or "unnamed"


def upload_view(row: dict[str, Any], job: Job | None) -> dict[str, Any]:
    """An upload as JSON: its counts, its receipt, and the progress of its job while it is read."""
    receipt = json.loads(row["receipt"]) if row.get("receipt") else {}
    state = READING.get(job.state, row["state"]) if job is not None else row["state"]
    view = {
        "id": row["upload_id"],
        "name": row["name"],
        "state": state,
        "format": row["format"],
        "sha256": row["sha256"],
        "size_bytes": row["size_bytes"],
        "read": row["n_read"],
        "accepted": row["n_accepted"],
        "duplicate": row["n_duplicate"],
        "rejected": row["n_rejected"],
        "sampling_rate": row["sampling_rate"],
        "run_s": None if row["run_ns"] is None else row["run_ns"] / NS_PER_S,
        "received": _iso(row["received_ns"]),
        "finished": _iso(row["finished_ns"]),
        "message": row["message"],
        "reasons": receipt.get("reasons", {}),
        "not_understood": receipt.get("not_understood", {}),
        "notes": receipt.get("notes", []),
        "rolled_up": row["n_rolled"] or 0,
    }
    if job is not None and job.state in READING:
        view["progress"] = job.view()
    return view


def _iso(ns: int | None) -> str | None:
    return None if ns is None else to_iso(ns)


def _settle(part: Path, path: Path) -> None:
    """Durable under its name: the bytes, then the folder."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.rename(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
