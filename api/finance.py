"""The finance bundle as one download, and on a disk.

Input: the files of the bundle by name. Output: a zip with the same bytes for the same files; a folder with them.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from ingest.errors import ConfigError
from ingest.selection import parse_instant, to_datetime

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest instant a zip can hold; a clock would change the bytes


def zipped(files: dict[str, bytes]) -> bytes:
    """The files as one zip, in the order of their names."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), files[name], zipfile.ZIP_DEFLATED)
    return target.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The files of a zip that `zipped` made."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put_files(files: dict[str, bytes], folder: Path) -> Path:
    """The files in a folder, the manifest last: it is complete once that stands there.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    names = sorted(files, key=lambda name: (name == "manifest.json", name))
    fresh = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").unlink(missing_ok=True)
        for name in names:
            fresh = folder / f".{name}.part"
            fresh.write_bytes(files[name])
            fresh.replace(folder / name)
    except OSError as error:
        if fresh != folder:
            fresh.unlink(missing_ok=True)
        raise ConfigError(f"{folder} cannot be written to: {error.strerror or error}. Give a folder with -o") from error
    return folder


def month_range(period: str) -> tuple[str, str]:
    """First instant of a calendar month such as 2026-11 and of the next one, in UTC, as ISO 8601.

    Raises:
        ConfigError: not of that form.
    """
    try:
        start = to_datetime(parse_instant(f"{period}-01T00:00:00Z", "UTC"))
    except ConfigError:
        raise ConfigError(f'period "{period}" is no month; write 2026-11') from None
    end = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    return f"{start:%Y-%m-%dT%H:%M:%SZ}", f"{end:%Y-%m-%dT%H:%M:%SZ}"


def source_hash(hashes: Iterable[str]) -> str:
    """One hash over the uploads behind a file, whatever their order."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()
