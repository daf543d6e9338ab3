"""Formats read in Python: batches of raw requests and raw spans into the store.

Input: an opened source and its format. Output: Told. Everything within the transaction of the given cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.assemble import GatheredSpans, SpanCounts, SpanOptions, load_spans
from ingest.errors import REJECT_REASONS, Cancelled, Reject
from ingest.formats.contract import (
    Format,
    Head,
    RawNote,
    RawReject,
    RawRequest,
    RawRun,
    RawSpan,
    RowReader,
    Source,
    SpanReader,
)
from ingest.formats.unread import Unread
from ingest.messages import load_messages
from ingest.normalize import Normalizer, Stamp
from ingest.receipts import FIRST_REJECTS, LoadOptions
from ingest.span_counts import MOST_NAMES, summed
from ingest.store.append import add_rejects, add_requests
from ingest.store.files import reachable
from ingest.store.retention import closed
from ingest.told import Told

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ingest.store.database import Store

BATCH = 10_000  # rows held in Python at once; the store takes a batch of spans at a fixed cost


class RowLoad:
    """One source read by a RowReader; call `run` once."""

    def __init__(
        self, store: Store, cursor: DuckDBPyConnection, file_format: Format, upload_id: str, options: LoadOptions
    ) -> None:
        self.store = store
        self.cursor = cursor
        self.format = file_format
        self.upload_id = upload_id
        self.options = options
        assert isinstance(file_format.reader, RowReader)  # noqa: S101  # the dispatch of load_source
        self.reader = file_format.reader
        self.unread = Unread(self.reader.redundant)
        self.spans = SpanOptions(options.mapping, options.attributes, options.sampling_rate, file_format.name)
        self.gathered = GatheredSpans(cursor, upload_id, self.spans)
        self.read = self.accepted = self.duplicate = self.rejected = 0
        self.first: list[Reject] = []
        self.names: Counter[str] = Counter()
        self.told = SpanCounts()  # of the spans among the rows
        self.made: list[RawSpan] = []  # spans that are no rows, and are not counted as such
        self.unmade: Counter[str] = Counter()  # those of them that cannot be, by reason
        self.notes: dict[str, None] = {}
        self.has_spans = False
        self.runs: list[int | None] = []
        self.timeless = 0  # accepted rows with neither start nor end

    def run(
        self, source: Source, head: Head, now_ns: int, tick: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Told:
        """What became of the rows.

        Args:
            tick: called after each batch.

        Raises:
            Cancelled: `cancelled` said so between two batches.
        """
        rate = self.options.sampling_rate or self.options.mapping.sampling_rate or 1.0
        keeps = self.options.attributes == "all"
        normalizer = Normalizer(Stamp(self.upload_id, self.format.name, now_ns, rate, keeps, closed(self.cursor)))
        zone, start = self.options.mapping.timezone, self.options.origin_ns
        rows = self.reader.read(replace(source, timezone=zone, start_ns=start, unread=self.unread), head)
        while batch := list(islice(rows, BATCH)):
            self._rejects(
                [Reject(r.line, r.offset, r.reason, r.head, r.detail) for r in batch if isinstance(r, RawReject)]
            )
            self._requests(normalizer, [row for row in batch if isinstance(row, RawRequest)])
            self._spans([row for row in batch if isinstance(row, RawSpan)])
            self.notes |= dict.fromkeys(row.says for row in batch if isinstance(row, RawNote))
            self.runs += [row.duration_ns for row in batch if isinstance(row, RawRun)]
            tick()
            if cancelled():
                raise Cancelled("the load was cancelled; nothing of it is stored")
        self._staged()
        if self.timeless and not any("belong to no week" in note for note in self.notes):
            are = (
                "row has no time, so its request belongs"
                if self.timeless == 1
                else "rows have no time, so their requests belong"
            )
            self.notes[f"{self.timeless:,} {are} to no week"] = None
        self.names.update(dict(self.told.not_understood))
        self.names.update(self.unread.counts())
        self.notes |= dict.fromkeys(replace(self.told, not_understood=()).notes)
        for reason, n in self.unmade.items():
            traces = "trace gets no span" if n == 1 else "traces get no span"
            self.notes[f"{n} {traces} above its several roots: {REJECT_REASONS[reason]}"] = None
        if len(self.names) > MOST_NAMES:
            self.notes[f"{len(self.names) - MOST_NAMES} further names are not understood"] = None
        return Told(
            self.read,
            self.accepted,
            self.duplicate,
            self.rejected,
            tuple(self.first),
            dict(sorted(self.names.items(), key=lambda item: (-item[1], item[0]))[:MOST_NAMES]),
            tuple(self.notes),
            self.has_spans,
            _together(self.runs),
        )

    def _rejects(self, rejects: list[Reject]) -> None:
        add_rejects(self.store, self.cursor, self.upload_id, rejects)
        self.first.extend(rejects[: max(0, FIRST_REJECTS - len(self.first))])
        self.read += len(rejects)
        self.rejected += len(rejects)

    def _requests(self, normalizer: Normalizer, batch: list[RawRequest]) -> None:
        if not batch:
            return
        requests, calls, rejects = normalizer.rows(batch)
        timed = requests["started_ns"].count() if "started_ns" in requests.columns else 0
        self.timeless += requests.height - timed
        self._rejects(rejects)
        added = add_requests(self.store, self.cursor, requests, calls) if requests.height else 0
        self.read += requests.height
        self.accepted += added
        self.duplicate += requests.height - added

    def _spans(self, batch: list[RawSpan]) -> None:
        if not batch:
            return
        self.has_spans = True
        self.made += [span for span in batch if span.is_made]
        if told := [span for span in batch if not span.is_made]:
            self.gathered.add(told)
        if self.gathered.is_full or len(self.made) >= BATCH:
            self._staged()

    def _staged(self) -> None:
        counts = self.gathered.staged()
        add_rejects(self.store, self.cursor, self.upload_id, counts.rejects)
        self.first.extend(counts.rejects[: max(0, FIRST_REJECTS - len(self.first))])
        self.read += counts.read
        self.accepted += counts.accepted
        self.duplicate += counts.duplicate
        self.rejected += counts.rejected
        self.told = summed((self.told, replace(counts, rejects=())))
        if self.made:
            self.gathered.add(self.made)
            self.unmade.update(reject.reason for reject in self.gathered.staged().rejects)
            self.made = []


def _together(runs: list[int | None]) -> int | None:
    """How long runs took one after another, as one generator makes them; None if any does not say it."""
    told = [run for run in runs if run is not None and run > 0]
    total = sum(told)
    return total if told and len(told) == len(runs) and total < 2**63 else None


def load_otlp(
    store: Store,
    cursor: DuckDBPyConnection,
    source: Source,
    file_format: Format,
    *,
    head: Head,
    upload_id: str,
    options: LoadOptions,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Told:
    """What became of the spans of an OTLP source."""
    reader = file_format.reader
    assert isinstance(reader, SpanReader)  # noqa: S101  # the dispatch of load.py
    spans = SpanOptions(options.mapping, options.attributes, options.sampling_rate, file_format.name)
    counts: SpanCounts
    if reader.framing == "messages":
        counts = load_messages(cursor, source, head, upload_id, spans, progress=progress, cancelled=cancelled)
    else:
        reached = replace(source, path=Path(reachable(store, cursor, source.path)))
        counts = load_spans(
            store, cursor, reached, reader.framing, upload_id, spans, progress=progress, cancelled=cancelled
        )
    add_rejects(store, cursor, upload_id, counts.rejects)
    return Told(
        counts.read,
        counts.accepted,
        counts.duplicate,
        counts.rejected,
        tuple(counts.rejects[:FIRST_REJECTS]),
        dict(counts.most_frequent),
        counts.notes,
        has_spans=True,
    )
