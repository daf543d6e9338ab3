"""Live spans: acknowledged once they are on disk, brought into the store about once a second.

Input: bodies of OTLP, over HTTP or gRPC. Output: durable records, then spans and requests in the store.
A batch that cannot be stored is tried body by body; the body that fails is set aside in a file, so it neither blocks
what comes after it nor is lost.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import structlog

from api.spool import Spool, records
from api.telemetry import Telemetry
from ingest.receipts import LoadOptions
from ingest.receive import Checked, Kind, check, receive, set_aside
from ingest.store.database import Store

KINDS: dict[bytes, Kind] = {b"j": "json", b"p": "protobuf"}
MARKS = {kind: mark for mark, kind in KINDS.items()}
LAST_S = 15.0  # in which batches are still begun when the server is told to stop
SET_ASIDE = "set-aside"  # folder of bodies that could not be stored


class Receiver:
    """Takes bodies and stores them. `changed` is told after each batch."""

    def __init__(
        self,
        store: Store,
        spool: Spool,
        options: LoadOptions,
        telemetry: Telemetry,
        *,
        batch_seconds: float,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._spool = spool
        self._options = options
        self._telemetry = telemetry
        self._seconds = batch_seconds
        self._changed = changed
        self._ending = threading.Event()
        self._until = math.inf  # when no further batch is begun
        self._flushed = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)
        self._log = structlog.get_logger("receiver")

    def start(self) -> None:
        self._spool.start()
        self._thread.start()

    def close(self) -> None:
        """What was acknowledged is in the store when this returns; a backlog that takes long stays on disk, and is stored
        when the server starts again."""
        self._until = time.monotonic() + LAST_S
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._spool.close()
        self.flush()

    async def take(self, kind: Kind, body: bytes) -> Checked:
        """What the body holds; it is on disk when this returns.

        Raises:
            UnreadableInput: it is no export request.
            Refused: too much waits, or the disk is full.
        """
        checked = await asyncio.to_thread(check, kind, body)
        if checked.spans or kind == "json":
            await asyncio.wrap_future(self._spool.offer(MARKS[kind], body))
        refused = sum(checked.refused.values())
        self._telemetry.spans.labels("accepted").inc(checked.spans - refused)
        self._telemetry.spans.labels("rejected").inc(refused)
        return checked

    def flush(self) -> None:
        """Bring into the store what is on disk now."""
        with self._flushed:
            for segment in self._spool.take():
                if time.monotonic() > self._until:
                    return
                self._store_segment(segment)

    def _run(self) -> None:
        while not self._ending.wait(self._seconds):
            self.flush()

    def _store_segment(self, segment: Path) -> None:
        began = time.perf_counter()
        try:
            stored = self._store_bodies((KINDS[mark], body) for mark, body in records(segment))
        except Exception:
            self._log.exception("batch not stored, trying body by body", segment=segment.name)
            stored = self._one_by_one(segment)
        self._spool.done(segment)
        if stored:
            self._telemetry.batch_seconds.observe(time.perf_counter() - began)
            self._changed()

    def _store_bodies(self, bodies: Iterable[tuple[Kind, bytes]]) -> int:
        return receive(bodies, self._store, self._options, time.time_ns()).read

    def _one_by_one(self, segment: Path) -> int:
        stored = 0
        for number, (mark, body) in enumerate(records(segment)):
            try:
                stored += self._store_bodies([(KINDS[mark], body)])
            except Exception as error:
                aside = self._spool.folder / SET_ASIDE
                aside.mkdir(exist_ok=True)
                file = aside / f"{segment.stem}-{number}.{KINDS[mark]}"
                file.write_bytes(body)
                why = f"{type(error).__name__}: {error}"
                self._log.error("body set aside", file=str(file), error=why)
                self._tell(KINDS[mark], body, file, why)
        return stored

    def _tell(self, kind: Kind, body: bytes, file: Path, why: str) -> None:
        """The upload of the hour says so too, unless the store takes nothing at all."""
        try:
            told = f"{SET_ASIDE}/{file.name}"
            set_aside(kind, body, self._store, file=told, why=why, now_ns=time.time_ns())
        except Exception:
            self._log.exception("the upload does not tell of the body that was set aside", file=str(file))
