"""DOOR of ingest: bytes in, canonical rows in the store, one receipt per source.

Input: files, folders, patterns, standard input. Output: rows of requests, calls, replica_hours; receipts.
Steps: sniff, read, assemble, normalize, append; one transaction per source, so a failed load leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ingest import run_file
from ingest.assemble import assemble
from ingest.errors import Cancelled, InputError
from ingest.formats.catalog import FORMATS
from ingest.load_source import Job, SourceLoad
from ingest.paths import Found, find
from ingest.receipts import Inspection, LoadOptions, Receipt
from ingest.sniff import named
from ingest.store.append import filled
from ingest.store.database import Store, StoreSettings

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
    is_unassembled = False
    for number, file in enumerate(files):
        told = _share(progress, sum(sizes[:number]), sum(sizes)) if progress is not None else None
        if file.path in rates:
            receipts.append(run_file.receipt(file, rates[file.path]))
            continue
        rate = run_file.rate_for(file, rates)
        given = options
        if rate is not None and options.sampling_rate is None and options.mapping.sampling_rate is None:
            given = replace(options, sampling_rate=rate)
        receipt, is_pending = _load_one(file, store, given, Job(None, told, None, assembles=False))
        receipts.append(receipt)
        is_unassembled = is_unassembled or is_pending
    if is_unassembled:
        with store.writing() as cursor:
            assemble(cursor)
    return receipts


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


def _load_one(file: Found, store: Store, options: LoadOptions, job: Job) -> tuple[Receipt, bool]:
    """The receipt of one file, and whether spans of it wait to be assembled."""
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
    if receipt.state != "skipped":
        store.put_upload(work.row(receipt))
    return receipt, False


def _share(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(before + done, total)
