"""DOOR of ingest: bytes in, canonical rows in the store, one receipt per source.

Input: files, directories, globs, standard input. Output: rows of requests, calls, replica_hours; receipts.
Steps: sniff, read, assemble, normalize, append; one transaction per source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ingest.receipts import Inspection, LoadOptions, Receipt
from ingest.store.database import Store

__all__ = ["Inspection", "LoadOptions", "Receipt", "inspect_paths", "load", "load_paths"]

Progress = Callable[[int, int], None]  # bytes done, bytes in all
Cancelled = Callable[[], bool]


def load(
    source: Path,
    store: Store,
    options: LoadOptions,
    *,
    name: str | None = None,
    upload_id: str | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Receipt:
    """Receipt of one file, its rows stored; a failed or cancelled load leaves nothing behind but its upload row.

    Args:
        source: the file.
        name: name to show; default the file's name.
        upload_id: id of the upload; default a new one.
        progress: told (bytes done, bytes in all) now and then, from this thread.
        cancelled: asked now and then; True ends the load with state "cancelled".
    """
    raise NotImplementedError


def load_paths(
    paths: Sequence[str | Path], store: Store, options: LoadOptions, *, progress: Progress | None = None
) -> list[Receipt]:
    """Receipts of all files of the paths (file, directory, glob, "-"), in order of name within a directory.

    A run.json with a sampling rate among them applies to the others. Spans are assembled once, at the end.

    Raises:
        UnreadableInput: a path does not exist or a glob matches nothing.
    """
    raise NotImplementedError


def inspect_paths(paths: Sequence[str | Path], options: LoadOptions) -> list[Inspection]:
    """What each file of the paths is and what could be read of it; nothing is stored.

    Raises:
        UnreadableInput: a path does not exist or a glob matches nothing.
    """
    raise NotImplementedError
