"""Backups of a store: one file that holds everything, packed if its name says so.

Input: an open store, or a backup. Output: a file; a half-written one never stands under the name.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import IO, cast

from api.outlet import place_of
from ingest.errors import ConfigError, StateError, UnreadableInput
from ingest.store import lists
from ingest.store.database import Store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 1 << 20
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def back_up(store: Store, target: Path) -> int:
    """Bytes written to `target`; packed with zstd where it ends in .zst. Nothing is written to the store meanwhile.

    Raises:
        ConfigError: the place cannot be written to.
    """
    try:
        with (
            place_of(target) as place,
            store.settled() as file,
            file.open("rb") as source,
            _writer(place, target) as out,
        ):
            shutil.copyfileobj(source, out, CHUNK)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror or error}") from error
    return target.stat().st_size


def restore(backup: Path, target: Path, *, replace: bool = False) -> dict[str, int]:
    """Rows of the store that now stands at `target`.

    Raises:
        UnreadableInput: the backup is missing, damaged or no store.
        StateError: a store stands there already, and `replace` was not asked for.
        StoreHeld: a process has that store open.
    """
    if target.exists():
        if not replace:
            raise StateError(f"{target} exists already; --replace puts the backup in its place")
        with Store.open(target):
            pass  # held by nobody
    fresh = target.with_name(f".{target.name}.part")
    try:
        _unpack(backup, fresh)
        with Store.open(fresh) as store:
            counted = lists.counts(store)
        fresh.replace(target)
    finally:
        for left in fresh.parent.glob(f"{fresh.name}*"):
            left.unlink()
    return counted


def _writer(fresh: Path, target: Path) -> IO[bytes]:
    return cast(IO[bytes], zstd.open(fresh, "wb")) if target.suffix == ".zst" else fresh.open("wb")


def _unpack(backup: Path, fresh: Path) -> None:
    try:
        with backup.open("rb") as file:
            packed = file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
        with zstd.open(backup, "rb") if packed else backup.open("rb") as source, fresh.open("wb") as out:
            shutil.copyfileobj(source, out, CHUNK)
    except (OSError, EOFError, zstd.ZstdError) as error:
        raise UnreadableInput(f"{backup} cannot be read as a backup: {error}") from error
