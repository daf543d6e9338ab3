"""DOOR of ingest: bytes in, canonical rows in the store, one receipt per source.

Input: files, folders, patterns, standard input. Output: rows of requests, calls, replica_hours; receipts.
Steps: sniff, read, assemble, normalize, append; one transaction per source, so a failed load leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ingest import run_file
from ingest.assemble import assemble, forget_pending, forget_spans, note_traces
from ingest.errors import Cancelled, InputError, ServiceError, UnreadableInput
from ingest.formats.catalog import FORMATS
from ingest.load_source import Job, SourceLoad
from ingest.paths import Found, find
from ingest.receipts import Inspection, LoadOptions, Receipt
from ingest.sniff import named
from ingest.store import lists
from ingest.store.append import filled
from ingest.store.database import Store, StoreSettings
from ingest.store.flat_source import told as store_errors
from ingest.store.removal import delete_rows

__all__ = ["Inspection", "LoadOptions", "Receipt", "inspect_paths", "load", "load_paths"]

Progress = Callable[[int, int], None]  # bytes done, bytes in all
Cancelling = Callable[[], bool]


def load(
    source: Path,
    store: Store,
    options: LoadOptions,
    *,
    name: str | None = None,
    upload_id: str | None = None,
    progress: Progress | None = None,
    cancelled: Cancelling | None = None,
) -> Receipt:
    """Receipt of one file, its rows stored; a failed or cancelled load leaves nothing behind but its upload row.

    Args:
        source: the file.
        name: name to show; default the file's name.
        upload_id: id of the upload; default a new one.
        progress: told (bytes done, bytes in all) now and then, from this thread.
        cancelled: asked now and then; True ends the load with state "cancelled".

    Raises:
        ConfigError: the options name a format that is not known.
    """
    file = Found(source, name or source.name, is_named=True)
    receipt, _ = _load_one(file, store, options, Job(upload_id, progress, cancelled))
    return receipt


def load_paths(
    paths: Sequence[str | Path], store: Store, options: LoadOptions, *, progress: Progress | None = None
) -> list[Receipt]:
    """Receipts of all files of the paths (file, directory, glob, "-"), in order of name within a directory.

    A run.json with a sampling rate among them applies to the others. Spans are assembled once, at the end.

    Raises:
        ConfigError: the options name a format that is not known.
        UnreadableInput: a path does not exist or a glob matches nothing.
    """
    if options.format is not None:
        named(FORMATS, options.format)
    files = find(paths, store.scratch)
    rates = run_file.rates(files)
    sizes = [file.path.stat().st_size if file.path.is_file() else 0 for file in files]
    receipts: list[Receipt] = []
    pending: list[str] = []
    for number, file in enumerate(files):
        told = _share(progress, sum(sizes[:number]), sum(sizes)) if progress is not None else None
        if file.path in rates:
            receipts.append(run_file.receipt(file, rates[file.path]))
            continue
        rate = run_file.rate_for(file, rates)
        given = options
        if rate is not None and options.sampling_rate is None and options.mapping.sampling_rate is None:
            given = replace(options, sampling_rate=rate)
        receipt, is_pending = _load_one(file, store, given, Job(None, told, None, assembles=False), is_one_of_many=True)
        receipts.append(receipt)
        pending += [receipt.upload_id] if is_pending else []
    if pending:
        try:
            _make_requests(store, "the spans of this load")
        except UnreadableInput:
            receipts = _each_apart(store, receipts, pending)
    return receipts


def _make_requests(store: Store, name: str) -> None:
    """Requests of all spans that wait for it, in one transaction.

    Raises:
        UnreadableInput: it could not be done; the spans still wait.
    """
    with store.writing() as cursor, store_errors(name):
        assemble(cursor)


def _each_apart(store: Store, receipts: list[Receipt], uploads: list[str]) -> list[Receipt]:
    """Receipts after the requests of each source were made apart; a source whose spans make none is taken out again.

    Raises:
        UnreadableInput: what is left makes no requests either; its spans still wait.
    """
    told = {receipt.upload_id: receipt for receipt in receipts}
    waiting = store.read("pending_traces")
    with store.writing() as cursor:
        forget_pending(cursor)
    for upload_id in uploads:
        try:
            with store.writing() as cursor, store_errors(told[upload_id].name):
                note_traces(cursor, upload_id)
                assemble(cursor)
        except UnreadableInput as error:
            told[upload_id] = _taken_out(store, told[upload_id], error)
    store.append("pending_traces", waiting)
    _make_requests(store, "the spans that are left")
    return [told[receipt.upload_id] for receipt in receipts]


def _taken_out(store: Store, receipt: Receipt, error: UnreadableInput) -> Receipt:
    """The receipt of a source of which no requests could be made; nothing of it is stored any more."""
    why = error.message.partition("cannot be read: ")[2]
    message = f"{receipt.name}: no requests could be made of its spans, so nothing of it is stored: {why}"
    failed = Receipt(
        upload_id=receipt.upload_id,
        name=receipt.name,
        state="failed",
        format=receipt.format,
        sha256=receipt.sha256,
        size_bytes=receipt.size_bytes,
        message=message,
        code=error.code,
    )
    with store.writing() as cursor:
        row = {**(lists.upload(store, receipt.upload_id) or {}), "upload_id": receipt.upload_id}
        forget_spans(cursor, receipt.upload_id)
        delete_rows(cursor, receipt.upload_id)
        counts = dict.fromkeys(("n_read", "n_accepted", "n_duplicate", "n_rejected"), 0)
        told = json.dumps(failed.to_json(), sort_keys=True, ensure_ascii=False)
        store.put_upload(row | counts | {"state": "failed", "message": message, "receipt": told}, cursor)
    return failed


def inspect_paths(paths: Sequence[str | Path], options: LoadOptions) -> list[Inspection]:
    """What each file of the paths is and what could be read of it; nothing is stored.

    Raises:
        ConfigError: the options name a format that is not known.
        UnreadableInput: a path does not exist or a glob matches nothing.
    """
    if options.format is not None:
        named(FORMATS, options.format)
    titles = {candidate.name: candidate.title for candidate in FORMATS}
    inspections: list[Inspection] = []
    with tempfile.TemporaryDirectory(prefix="tailwise-") as folder:
        files = find(paths, Path(folder))
        rates = run_file.rates(files)
        for file in files:
            if file.path in rates:
                inspections.append(Inspection(run_file.receipt(file, rates[file.path]), "Sampling rate of a run"))
                continue
            rate = run_file.rate_for(file, rates)
            given = options if rate is None or options.sampling_rate else replace(options, sampling_rate=rate)
            with Store.open(settings=StoreSettings(folders=(file.path.parent,))) as store:
                receipt, _ = _load_one(file, store, given, Job())
                columns = filled(store)
            title = titles.get(receipt.format or "")
            inspections.append(Inspection(receipt, title, columns.get("request_key", 0), columns))
    return inspections


def _load_one(
    file: Found, store: Store, options: LoadOptions, job: Job, *, is_one_of_many: bool = False
) -> tuple[Receipt, bool]:
    """The receipt of one file, and whether spans of it wait to be assembled.

    Args:
        is_one_of_many: an error that nobody foresaw fails this file alone, so that the next are read.
    """
    work = SourceLoad(file, store, options, job)
    try:
        return work.run(), work.has_spans
    except Cancelled as error:
        receipt = work.blank("cancelled", error.message, error.code)
    except InputError as error:
        is_bystander = not file.is_named and error.code in ("unknown_format", "unusable_format")
        receipt = work.blank("skipped" if is_bystander else "failed", error.message, error.code)
    except OSError as error:  # the file went away, or the disk of the scratch folder is full
        receipt = work.blank("failed", f"{file.name} cannot be read: {error.strerror or error}", "unreadable_input")
    except ServiceError:
        raise
    except Exception as error:
        if not is_one_of_many or os.environ.get("TAILWISE_DEBUG"):
            raise
        met = f"{file.name} stopped its reader by an error that it does not know: {type(error).__name__}: {error}"
        receipt = work.blank("failed", f"{met}. Nothing of it is stored; TAILWISE_DEBUG=1 shows where", "unforeseen")
    if receipt.state != "skipped":
        store.put_upload(work.row(receipt))
    return receipt, False


def _share(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)
