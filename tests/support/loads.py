"""Loads into a store of their own, for tests of ingest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from ingest.load import LoadOptions, Receipt, load_paths
from ingest.mapping import parse_mapping
from ingest.store.database import Store, StoreSettings

PLAIN = LoadOptions()


def write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """The files in a folder, in the order given."""
    paths = [folder / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths


def mapped(text: str) -> LoadOptions:
    """Options with a mapping file of that text."""
    return replace(PLAIN, mapping=parse_mapping(text))


def load_files(*paths: str | Path, options: LoadOptions = PLAIN) -> tuple[list[Receipt], pl.DataFrame]:
    """Receipts and request rows of a load into a new store."""
    with Store.open(settings=StoreSettings(threads=2)) as store:
        receipts = load_paths(paths, store, options)
        return receipts, store.read("requests", order="started_ns NULLS LAST, request_key")


def load_bytes(
    folder: Path, content: bytes, name: str = "requests.jsonl", options: LoadOptions = PLAIN
) -> tuple[Receipt, pl.DataFrame]:
    """Receipt and request rows of one file."""
    (path,) = write(folder, {name: content})
    receipts, requests = load_files(path, options=options)
    return receipts[0], requests


def counts(receipt: Receipt) -> tuple[int, int, int, int]:
    """(read, accepted, duplicate, rejected)."""
    return receipt.read, receipt.accepted, receipt.duplicate, receipt.rejected


def places(receipt: Receipt) -> list[tuple[int | None, int | None, str]]:
    """(line, byte offset, reason) of the rejects shown."""
    return [(reject.line, reject.offset, reject.reason) for reject in receipt.rejects]
