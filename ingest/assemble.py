"""Spans of one trace -> one request with its stages.

Input: OTLP JSON files, read by SQL; columns of protobuf messages; RawSpan batches of the Python readers. All end in
table `spans`.
Output: rows of `requests` and `calls` for every trace that got or lost a span.

Steps, all inside the transaction of the given cursor (Store.writing):
    load_spans, stage_pieces    new spans into the store, rejects, duplicates; their traces are noted as pending
    or stage_spans
    assemble                    every pending trace -> its request row, anew, from all its spans in the store
    forget_spans                takes the spans of an upload out again; their traces are noted as pending
Pending traces stand in the store, so spans may be durable before their requests are made.
"""

from __future__ import annotations

import shutil
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from ingest.errors import Cancelled, Reject, UnreadableInput
from ingest.formats import otlp_json
from ingest.formats.contract import RawSpan, Source
from ingest.formats.heads import head_of
from ingest.formats.otlp_columns import Piece
from ingest.lines import UNJUDGED, Refused, json_rejects
from ingest.rejects import Rejects, in_order
from ingest.span_counts import SIGNALS, SpanCounts, SpanOptions, counts_of, summed
from ingest.store import assembly, span_batch, spans, temporary
from ingest.store.span_columns import Learned
from ingest.store.spans import Intake, RawRelation, Refusal
from ingest.store.watch import watched
from ingest.table_lines import Mender
from ingest.unpack import Damage

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ingest.store.database import Store

__all__ = [
    "AssemblyCounts",
    "Cancelled",
    "GatheredSpans",
    "SpanCounts",
    "SpanOptions",
    "assemble",
    "forget_spans",
    "load_spans",
    "stage_pieces",
    "stage_spans",
]

Progress = Callable[[int, int], None]  # bytes done, bytes in all
Cancelling = Callable[[], bool]

SAMPLE_BYTES = 4 << 20  # of a source, to learn its lists of names from
GROUP_ROWS = 122_880  # rows of a row group: fewer in one statement stay in memory until the transaction ends
OF_BATCH = frozenset({"span_batch", "span_stage", "span_shapes", "span_kinds"})  # temporary tables of a batch of spans
STAGED_BYTES = 32 << 20  # smaller sources go through a stage, so several may make up one upload


@dataclass(frozen=True)
class AssemblyCounts:
    """What an assembly made: traces looked at, request rows and call rows written, traces that hold no request."""

    traces: int = 0
    requests: int = 0
    calls: int = 0
    without_request: int = 0


def load_spans(  # noqa: PLR0917  # the first six are what every load has
    store: Store,
    cursor: DuckDBPyConnection,
    source: Source,
    framing: Literal["lines", "document"],
    upload_id: str,
    options: SpanOptions,
    *,
    progress: Progress | None = None,
    cancelled: Cancelling | None = None,
) -> SpanCounts:
    """Counts of one OTLP JSON source whose spans are now in the store; requests follow with `assemble`.

    Args:
        store: gives the folder for spooled sources.
        cursor: of `store.writing()`; everything happens in its transaction.
        framing: "document" reads the source as JSON values however laid out, "lines" looks at its start.
        progress: told (bytes done, bytes in all) now and then, from this thread.
        cancelled: asked now and then; True ends the load.

    Raises:
        Cancelled: the load was ended by `cancelled`; the caller rolls back.
        UnreadableInput: the archive is damaged; the caller rolls back and loads an unpacked copy.
    """
    try:
        with source.open() as stream:
            start = stream.read(SAMPLE_BYTES)
    except Damage as error:
        raise UnreadableInput(f"{source.name} cannot be read to its end: {error}") from error
    load = SpanLoad(store, cursor, source, upload_id, options)
    is_document = framing == "document" or otlp_json.is_document(start[:65_536])
    work = load.document if is_document else lambda: load.lines(start)
    if source.packing == "none" and not is_document and otlp_json.has_long_line(source.path):
        work = load.long_lines
    tick = None if progress is None else lambda done: progress(min(done, source.size_bytes), source.size_bytes)
    try:
        counts = watched(cursor, work, tick=tick, cancelled=cancelled)
    except spans.DAMAGED as error:
        raise UnreadableInput(f"{source.name} cannot be read to its end: {str(error).splitlines()[0]}") from error
    if progress is not None:
        progress(source.size_bytes, source.size_bytes)
    return counts


def stage_spans(
    cursor: DuckDBPyConnection, batch: Sequence[RawSpan], upload_id: str, options: SpanOptions
) -> SpanCounts:
    """Counts of one batch of spans from a Python reader, now in the store; requests follow with `assemble`."""
    gathered = GatheredSpans(cursor, upload_id, options)
    gathered.add(batch)
    return gathered.staged()


class GatheredSpans:
    """Spans of a Python reader on their way into the store, as many at once as it writes to disk at once.

    The same rules as for OTLP JSON: rejects, duplicates, names.
    """

    def __init__(self, cursor: DuckDBPyConnection, upload_id: str, options: SpanOptions) -> None:
        self._cursor = cursor
        self._upload_id = upload_id
        self._options = options
        self._lines = array("q")  # 0: none

    @property
    def is_full(self) -> bool:
        """Whether they are as many as the store writes at once; fewer are kept in memory until the transaction ends."""
        return len(self._lines) >= GROUP_ROWS

    def add(self, batch: Sequence[RawSpan]) -> None:
        """Takes some more; a batch of some thousands is cheap per span, one span at a time is not."""
        span_batch.gather(self._cursor, batch, self._options.mapping, before=len(self._lines))
        self._lines.extend(span.line or 0 for span in batch)

    def staged(self) -> SpanCounts:
        """Counts of the spans since the last time, now in the store; requests follow with `assemble`."""
        if not self._lines:
            return SpanCounts()
        cursor, relation, learned = self._cursor, span_batch.gathered(), _learned(self._options)
        spans.prepare(cursor)
        spans.learn(cursor, relation.sql, relation.parameters, learned)
        intake = _take_in(cursor, [relation], learned, self._upload_id, self._options, staged=True)
        told = spans.refusals(cursor, relation, learned) if intake.rejected else ()
        rejects = Rejects(
            Reject(self._lines[number - 1] or None, None, reason, head_of(head or ""), detail)
            for number, reason, head, detail in told
        )
        temporary.release(cursor, OF_BATCH.__contains__)  # else the transaction holds those of all batches
        self._lines = array("q")
        return counts_of(intake, learned, rejects)


def stage_pieces(
    cursor: DuckDBPyConnection,
    pieces: Iterable[Piece],
    again: Callable[[], Iterable[Piece]],
    upload_id: str,
    options: SpanOptions,
    *,
    is_large: bool,
) -> SpanCounts:
    """Counts of a source of protobuf messages, now in the store; requests follow with `assemble`.

    The same rules as for OTLP JSON. Rejects have the place of their message as `offset`.

    Args:
        pieces: the next is asked for when the one before is in the store.
        again: the same once more; asked for only if spans were refused, to tell where they stand.
        is_large: the spans go straight into the store, if nothing of the upload is there yet.
    """
    spans.prepare(cursor)
    learned = _learned(options)

    def relations() -> Generator[RawRelation, None, None]:
        for piece in pieces:
            with span_batch.piece_relation(cursor, piece, options.mapping) as relation:
                spans.learn_new(cursor, relation, learned)
                yield relation

    is_staged = not is_large or spans.holds(cursor, upload_id)
    with closing(relations()) as told_pieces:  # what is lent goes before the cursor does, though the load ends midway
        intake = _take_in(cursor, told_pieces, learned, upload_id, options, staged=is_staged)
    rejects = Rejects()
    for piece in again() if intake.rejected else ():
        with span_batch.piece_relation(cursor, piece, options.mapping) as relation:
            told = spans.refusals(cursor, relation, learned)
        rejects.extend(Reject(None, place, reason, head_of(head or ""), detail) for place, reason, head, detail in told)
    return counts_of(intake, learned, rejects)


def assemble(cursor: DuckDBPyConnection, *, cancelled: Cancelling | None = None) -> AssemblyCounts:
    """Makes the request and call rows of all pending traces anew, from all their spans in the store."""
    made = watched(cursor, lambda: assembly.assemble_pending(cursor), cancelled=cancelled)
    return AssemblyCounts(made.traces, made.requests, made.calls, made.without_request)


def note_traces(cursor: DuckDBPyConnection, upload_id: str) -> int:
    """Number of traces with spans of an upload; their requests are made anew by `assemble`."""
    return spans.pend(cursor, "spans", upload_id)


def forget_pending(cursor: DuckDBPyConnection) -> None:
    """Notes no trace as pending, so that those of one upload can be made apart."""
    spans.forget_pending(cursor)


def forget_spans(cursor: DuckDBPyConnection, upload_id: str) -> int:
    """Number of spans of an upload taken out of the store; `assemble` then mends the requests they belonged to."""
    return spans.forget(cursor, upload_id)


class SpanLoad:
    """The load of one OTLP JSON source into one upload."""

    def __init__(
        self, store: Store, cursor: DuckDBPyConnection, source: Source, upload_id: str, options: SpanOptions
    ) -> None:
        self.store = store
        self.cursor = cursor
        self.source = source
        self.upload_id = upload_id
        self.options = options
        self.learned = _learned(options)

    def lines(self, start: bytes) -> SpanCounts:
        """Reads the source as JSON lines.

        Args:
            start: its first bytes, to learn from.
        """
        mender = Mender(self.store.scratch / f"mended-{uuid4().hex}.jsonl")
        try:
            counts = self._as_they_are(start, mender)
            return self._with_mended(counts, mender) if mender.places.lines else counts
        finally:
            mender.path.unlink(missing_ok=True)

    def _as_they_are(self, start: bytes, mender: Mender) -> SpanCounts:
        """The lines that need no mending; those that do are left to the mender."""
        spans.prepare(self.cursor)
        relation = spans.lines_of(str(self.source.path), self.source.packing, "camel", self.options.mapping)
        sample = start[: start.rfind(b"\n") + 1] or start
        self._learn(sample)
        is_staged = self.source.size_bytes < STAGED_BYTES or spans.holds(self.cursor, self.upload_id)
        intake = _take_in(self.cursor, [relation], self.learned, self.upload_id, self.options, staged=is_staged)
        rejects = self._line_rejects(relation, intake, mender)
        if intake.refused.get("line.snake"):
            snake = spans.lines_of(str(self.source.path), self.source.packing, "snake", self.options.mapping)
            spans.learn(self.cursor, snake.sql, snake.parameters, self.learned)
            more = _take_in(self.cursor, [snake], self.learned, self.upload_id, self.options, staged=True)
            rejects = in_order(rejects, self._line_rejects(snake, more, None))
            intake = intake.plus(more)
        return counts_of(intake, self.learned, rejects)

    def document(self) -> SpanCounts:
        """Reads the source as JSON values however laid out: cut into lines first."""
        if self.source.packing == "none":
            return self._cut(otlp_json.pieces(otlp_json.mapped(self.source.path)))
        path = self.store.scratch / f"unpacked-{uuid4().hex}.json"
        try:
            with self.source.open() as stream, path.open("wb") as out:
                shutil.copyfileobj(stream, out, 1 << 20)
            return self._cut(otlp_json.pieces(otlp_json.mapped(path)))
        finally:
            path.unlink(missing_ok=True)

    def long_lines(self) -> SpanCounts:
        """Reads a source of JSON lines of which some are too long for the reader of the store."""
        with self.source.open() as stream:
            return self._cut(otlp_json.short_lines(stream))

    def _cut(self, pieces: Iterator[otlp_json.Piece | Reject]) -> SpanCounts:
        """Reads pieces through a file of lines; rejects are told where the pieces came from."""
        refused = Rejects()
        places = array("q")
        path = self.store.scratch / f"pieces-{uuid4().hex}.jsonl"
        try:
            with path.open("wb") as out:
                for piece in pieces:
                    if isinstance(piece, Reject):
                        refused.extend([piece])
                    else:
                        places.extend((piece.line, piece.offset))
                        is_long = len(piece.text) > otlp_json.LONG_LINE_BYTES
                        out.write(otlp_json.slim(piece.text) if is_long else piece.text)
                        out.write(b"\n" if piece.is_ended else b"")
            counts = self._spooled(path)
        finally:
            path.unlink(missing_ok=True)
        placed = (self._placed(reject, places) for reject in counts.rejects)
        return replace(
            counts,
            read=counts.read + len(refused),
            rejected=counts.rejected + len(refused),
            rejects=in_order(placed, refused),
        )

    def _spooled(self, path: Path) -> SpanCounts:
        spool = Source(path, self.source.name, "none", path.stat().st_size, lambda: path.open("rb"))
        if not spool.size_bytes:
            return SpanCounts()
        with spool.open() as stream:
            start = stream.read(SAMPLE_BYTES)
        return SpanLoad(self.store, self.cursor, spool, self.upload_id, self.options).lines(start)

    @staticmethod
    def _placed(reject: Reject, places: array[int]) -> Reject:
        line, offset = places[2 * (reject.line or 1) - 2], places[2 * (reject.line or 1) - 1]
        return replace(reject, line=line, offset=offset)

    def _learn(self, sample: bytes) -> None:
        path = self.store.scratch / f"sample-{uuid4().hex}.jsonl"
        try:
            path.write_bytes(sample)
            relation = spans.lines_of(str(path), "none", "camel", self.options.mapping)
            spans.learn(self.cursor, relation.sql, relation.parameters, self.learned)
        finally:
            path.unlink(missing_ok=True)

    def _with_mended(self, counts: SpanCounts, mender: Mender) -> SpanCounts:
        """The counts with those lines that only half a character kept from being read."""
        places = mender.places
        more = self._spooled(mender.path)
        placed = (
            replace(reject, line=places.lines[reject.line - 1], offset=places.offsets[reject.line - 1])
            for reject in more.rejects
            if reject.line
        )
        n = len(places.lines)
        note = f"half characters in {n} {'line' if n == 1 else 'lines'} became question marks"
        both = summed((replace(counts, rejects=()), replace(more, rejects=())))
        return replace(both, rejects=in_order(counts.rejects, placed), remarks=(*both.remarks, note))

    def _line_rejects(self, relation: RawRelation, intake: Intake, mender: Mender | None) -> Rejects:
        """Where the refused lines and spans stand: read again with numbers, only if there are any.

        Args:
            mender: takes the lines that it can mend, which are no rejects then.
        """
        if not any(state not in spans.SILENT and state not in SIGNALS for state in intake.refused):
            return Rejects()
        told = (row for row in spans.refusals(self.cursor, relation, self.learned) if row[1] not in SIGNALS)
        waiting: deque[list[Refusal]] = deque()  # of the lines that are walked to, by line

        def wanted() -> Iterator[Refused]:
            for record, of_line in groupby(told, key=lambda row: row[0]):
                waiting.append(list(of_line))
                yield record, UNJUDGED, ""

        def is_mended(line: int, offset: int, data: bytes) -> bool:
            if mender is None or not mender.take(line, offset, data):
                return False
            waiting.popleft()
            return True

        rejects = Rejects()
        with self.source.open() as stream:
            for place in json_rejects(stream, wanted(), is_mended):
                rejects.extend(_judged(place, row) for row in waiting.popleft())
        return rejects


def _judged(place: Reject, refusal: Refusal) -> Reject:
    """A refused line, or a span of it, at the place of the line."""
    _, reason, head, detail = refusal
    whole = {"line.bad": "invalid_json", "line.other": "not_a_request"}
    if reason in whole:
        return replace(place, reason=whole[reason]) if place.reason == "no_time" else place
    return replace(place, reason=reason, head=head_of(head) if head else place.head, detail=detail)


def _learned(options: SpanOptions) -> Learned:
    return Learned(options.mapping, options.attributes == "all")


def _take_in(
    cursor: DuckDBPyConnection,
    relations: Iterable[RawRelation],
    learned: Learned,
    upload_id: str,
    options: SpanOptions,
    *,
    staged: bool,
) -> Intake:
    return spans.take_in(
        cursor,
        relations,
        learned,
        upload_id=upload_id,
        source=options.source,
        sampling_rate=_rate(options),
        staged=staged,
    )


def _rate(options: SpanOptions) -> float | None:
    return options.sampling_rate if options.sampling_rate is not None else options.mapping.sampling_rate
