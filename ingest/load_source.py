"""One source from bytes to receipt: survey, ledger, sniff, read by the format's kind of reader, ledger entry.

Input: a file and options. Output: Receipt. Rows, rejects and the ledger entry are one transaction. A source that SQL
cannot read as it lies (a damaged archive, lines above the limit, UTF-16) is read from an unpacked copy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ingest.assemble import assemble
from ingest.errors import Cancelled, Reject, UnknownFormat, UnreadableInput, UnusableFormat
from ingest.formats import flat
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import FlatReader, Format, Head, Refusal, RowReader, Source, SpanReader
from ingest.load_flat import TableLoad
from ingest.load_rows import RowLoad, load_otlp
from ingest.paths import Found
from ingest.receipts import FIRST_REJECTS, LoadOptions, Receipt, State
from ingest.sniff import is_known, other_heads, read_head, recognize, source_encoding
from ingest.store import lists
from ingest.store.append import add_rejects, loaded_before, reject_counts
from ingest.store.database import Store
from ingest.store.flat_source import told as store_errors
from ingest.store.watch import watched
from ingest.told import Told
from ingest.unpack import (
    MAX_LINE_BYTES,
    Damage,
    Positions,
    Spool,
    Survey,
    open_source,
    spool,
    survey,
    unzipped,
    whole_chunks,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SURVEY_SHARE = 0.1  # of the bar: hashing is about that part of a load
PASSES = 3  # readings of a flat file


@dataclass(frozen=True)
class Job:
    """How one source is loaded: under which id, who is told, whether requests are made of its spans at once."""

    upload_id: str | None = None
    progress: Callable[[int, int], None] | None = None
    cancelled: Callable[[], bool] | None = None
    assembles: bool = True


@dataclass(frozen=True)
class Copy:
    """An unpacked copy of a source, read in its place."""

    source: Source
    spool: Spool


class SourceLoad:
    """The load of one source; call `run` once."""

    def __init__(self, file: Found, store: Store, options: LoadOptions, job: Job) -> None:
        self.file = file
        self.store = store
        self.options = options
        self.job = job
        self.upload_id = job.upload_id or f"u-{uuid4().hex[:12]}"
        self.now_ns = time.time_ns()
        self.positions = Positions()
        self.survey: Survey | None = None
        self.format: Format | None = None
        self.has_spans = False
        self.rewrites = False

    def run(self) -> Receipt:
        """The receipt of a load that is done.

        Raises:
            InputError: the source cannot be used; nothing of it is stored.
            Cancelled: the job was cancelled; nothing of it is stored.
        """
        source = open_source(self.file.path, self.file.name, self.positions)
        self.survey = survey(source, self._surveyed)
        before = self._told_before()
        if before is not None:
            return before
        with unzipped(source, self.store.scratch, self.positions) as unpacked:
            return self._run(unpacked)

    def _run(self, source: Source) -> Receipt:
        assert self.survey is not None  # noqa: S101  # set by run
        head = read_head(source)
        if head.shape == "empty":
            self._refuse_damage(source)
            return self._entered(Told(), message=f"{self.file.name} is empty: there is nothing to read")
        self.format, head = self._recognized(source, head)
        encoding = source_encoding(source)
        if encoding != "utf-8" or (
            self.survey.longest_gap > MAX_LINE_BYTES and isinstance(self.format.reader, FlatReader)
        ):
            with self._copy(source, encoding) as copy:
                return self._stored(copy.source, head, copy)
        try:
            return self._stored_or_rewritten(source, head)
        except UnreadableInput:
            if source.packing == "none":
                raise
        with self._copy(source, encoding) as copy:
            return self._stored(copy.source, head, copy)

    def _stored_or_rewritten(self, source: Source, head: Head) -> Receipt:
        """A delimited table that the store's reader does not take (line ends of two kinds) goes record by record."""
        try:
            return self._stored(source, head, None)
        except UnreadableInput:
            if head.shape != "csv" or not isinstance(self._reader, FlatReader):
                raise
        self.rewrites = True
        return self._stored(source, head, None)

    @property
    def _reader(self) -> object:
        return self.format.reader if self.format is not None else None

    def _refuse_damage(self, source: Source) -> None:
        """An archive that unpacks to nothing is empty only if it is whole."""
        for chunk in whole_chunks(source):
            if isinstance(chunk, UnreadableInput):
                raise UnreadableInput(f"{chunk.message}; nothing of it is whole")

    def _surveyed(self, done: int) -> None:
        self._stop_if_cancelled()
        self._tell(SURVEY_SHARE * done)

    def _stop_if_cancelled(self) -> None:
        if self.job.cancelled is not None and self.job.cancelled():
            raise Cancelled("the load was cancelled; nothing of it is stored")

    def _tell(self, done: float) -> None:
        """Progress in bytes of the file; the survey and the reading share one bar."""
        if self.job.progress is not None:
            total = self.file.path.stat().st_size
            self.job.progress(min(round(done), total), total)

    def _recognized(self, source: Source, head: Head) -> tuple[Format, Head]:
        """The format, and the head that tells it."""
        try:
            found = recognize(head, FORMATS, self.options.format)
        except UnknownFormat:
            names = {column.name for column in self.options.mapping.columns.values()}
            if names & {*head.columns, *head.keys}:
                return flat.FORMAT, head  # the mapping tells its columns
            for other in other_heads(source, head):
                if is_known(other, FORMATS):
                    found, head = recognize(other, FORMATS), other
                    break
            else:
                raise
        if isinstance(found.reader, Refusal):
            raise UnusableFormat(found.reader.says(head))
        return found, head

    @contextmanager
    def _copy(self, source: Source, encoding: str) -> Iterator[Copy]:
        """The source unpacked, as far as it is whole; removed afterwards."""
        made = spool(source, self.store.scratch, encoding=encoding)
        size = made.path.stat().st_size
        try:
            if size == 0:
                raise UnreadableInput(made.notes[0].replace("what is whole was read", "nothing of it is whole"))
            yield Copy(Source(made.path, source.name, "none", size, lambda: made.path.open("rb")), made)
        finally:
            made.path.unlink(missing_ok=True)

    def _stored(self, source: Source, head: Head, copy: Copy | None) -> Receipt:
        """The receipt after everything is in the store, in one transaction."""
        with self.store.writing() as cursor:
            with store_errors(source.name):
                told = self._read(cursor, source, head, copy)
            if copy is not None:
                told = self._with_cut_lines(cursor, told, copy.spool)
            self.has_spans = told.has_spans
            if told.has_spans and self.job.assembles:
                with store_errors(source.name):
                    assemble(cursor, cancelled=self.job.cancelled)
            nothing = None if told.read else self._nothing(source)
            receipt = self._entered(told, message=nothing, cursor=cursor)
        self._tell(source.size_bytes if copy is None else self.file.path.stat().st_size)
        return receipt

    def _nothing(self, source: Source) -> str:
        title = self.format.title if self.format is not None else ""
        return f"{source.name} looks like {title}, and no row was found in it: there is none, or its frame is damaged"

    def _read(self, cursor: DuckDBPyConnection, source: Source, head: Head, copy: Copy | None) -> Told:
        assert self.format is not None  # noqa: S101  # set by run
        reader = self.format.reader
        try:
            if isinstance(reader, FlatReader):
                return watched(
                    cursor,
                    lambda: self._read_flat(cursor, source, head, copy),
                    tick=self._ticked if self.job.progress else None,
                    cancelled=self.job.cancelled,
                )
            if isinstance(reader, SpanReader):
                progress = self._otlp_progress if self.job.progress else None
                return load_otlp(
                    self.store,
                    cursor,
                    source,
                    self.format,
                    head=head,
                    upload_id=self.upload_id,
                    options=self.options,
                    progress=progress,
                    cancelled=self.job.cancelled,
                )
            assert isinstance(reader, RowReader)  # noqa: S101  # refusals have ended in run
            rows = RowLoad(self.store, cursor, self.format, self.upload_id, self.options)
            return rows.run(source, head, self.now_ns, self._row_tick, self.job.cancelled or (lambda: False))
        except Damage as error:
            raise UnreadableInput(f"{source.name} is damaged: {error}") from error

    def _read_flat(self, cursor: DuckDBPyConnection, source: Source, head: Head, copy: Copy | None) -> Told:
        assert self.format is not None  # noqa: S101  # set by run
        longest = MAX_LINE_BYTES if copy is not None else self.survey.longest_gap if self.survey else 0
        table = TableLoad(
            self.store, cursor, self.format, self.upload_id, self.options, self.now_ns, longest, self.rewrites
        )
        return table.run(source, head, copy.spool.in_source if copy is not None else _as_it_is)

    def _ticked(self, bytes_read: int) -> None:
        size = self.file.path.stat().st_size
        self._tell(size * (SURVEY_SHARE + (1 - SURVEY_SHARE) * min(bytes_read / max(PASSES * size, 1), 0.99)))

    def _otlp_progress(self, done: int, total: int) -> None:
        size = self.file.path.stat().st_size
        self._tell(size * (SURVEY_SHARE + (1 - SURVEY_SHARE) * done / max(total, 1)))

    def _row_tick(self) -> None:
        size = self.file.path.stat().st_size
        self._tell(size * SURVEY_SHARE + (1 - SURVEY_SHARE) * self.positions.done())

    def _with_cut_lines(self, cursor: DuckDBPyConnection, told: Told, made: Spool) -> Told:
        add_rejects(self.store, cursor, self.upload_id, made.rejects)
        return replace(
            told,
            read=told.read + len(made.rejects),
            rejected=told.rejected + len(made.rejects),
            rejects=(*told.rejects, *made.rejects),
            notes=(*made.notes, *told.notes),
        )

    def _entered(self, told: Told, *, message: str | None = None, cursor: DuckDBPyConnection | None = None) -> Receipt:
        """The receipt, entered in the ledger."""
        receipt = replace(
            self.blank("done", message),
            read=told.read,
            accepted=told.accepted,
            duplicate=told.duplicate,
            rejected=told.rejected,
            reasons=reject_counts(cursor, self.upload_id) if cursor is not None and told.rejected else {},
            rejects=_first(told.rejects),
            not_understood=told.not_understood,
            notes=told.notes,
            run_ns=told.run_ns,
        )
        self.store.put_upload(self.row(receipt), cursor)
        return receipt

    def blank(self, state: State, message: str | None, code: str | None = None) -> Receipt:
        """A receipt without counts."""
        return Receipt(
            upload_id=self.upload_id,
            name=self.file.name,
            state=state,
            format=self.format.name if self.format else None,
            sha256=self.survey.sha256 if self.survey else None,
            size_bytes=self.survey.size_bytes if self.survey else None,
            message=message,
            code=code,
            sampling_rate=self.options.sampling_rate or self.options.mapping.sampling_rate,
        )

    def row(self, receipt: Receipt) -> dict[str, Any]:
        """The row of table uploads that a receipt becomes; when it was received stays as it stands."""
        row: dict[str, Any] = {
            "upload_id": receipt.upload_id,
            "name": receipt.name,
            "sha256": receipt.sha256,
            "size_bytes": receipt.size_bytes,
            "format": receipt.format,
            "state": receipt.state,
            "n_read": receipt.read,
            "n_accepted": receipt.accepted,
            "n_duplicate": receipt.duplicate,
            "n_rejected": receipt.rejected,
            "sampling_rate": receipt.sampling_rate,
            "run_ns": receipt.run_ns,
            "finished_ns": time.time_ns(),
            "message": receipt.message,
            "receipt": json.dumps(
                receipt.to_json() | {"options": self._options_digest()}, sort_keys=True, ensure_ascii=False
            ),
        }
        if lists.upload(self.store, receipt.upload_id) is None:
            row["received_ns"] = self.now_ns
        return row

    def _told_before(self) -> Receipt | None:
        """The receipt of bytes that were loaded before with the same options: all duplicate, nothing is read."""
        assert self.survey is not None  # noqa: S101  # set by run
        for upload in loaded_before(self.store, self.survey.sha256):
            told = json.loads(upload["receipt"] or "{}")
            if upload["upload_id"] == self.upload_id or told.get("options") != self._options_digest():
                continue
            receipt = replace(
                self.blank("done", f"the same bytes were loaded before, as {upload['name']} ({upload['upload_id']})"),
                format=upload["format"],
                read=upload["n_read"] or 0,
                duplicate=(upload["n_accepted"] or 0) + (upload["n_duplicate"] or 0),
                rejected=upload["n_rejected"] or 0,
                reasons=told.get("reasons", {}),
                rejects=tuple(Reject(**reject) for reject in told.get("rejects", [])),
                not_understood=told.get("not_understood", {}),
                notes=tuple(told.get("notes", [])),
            )
            self.store.put_upload(self.row(receipt))
            self._tell(self.survey.size_bytes)
            return receipt
        return None

    def _options_digest(self) -> str:
        """What of the options changes the rows, as a short text."""
        text = json.dumps(asdict(self.options), sort_keys=True, ensure_ascii=False, default=str)
        return sha256(text.encode()).hexdigest()[:16]


def _as_it_is(reject: Reject) -> Reject:
    return reject


def _first(rejects: tuple[Reject, ...]) -> tuple[Reject, ...]:
    """The first of the rejects, by line."""
    return tuple(sorted(rejects, key=lambda reject: (reject.line is None, reject.line or 0))[:FIRST_REJECTS])
