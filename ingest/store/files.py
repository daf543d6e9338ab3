"""Files as SQL may read them: only from the store's folders, and never under a name that is a pattern.

Input: a file anywhere. Output: the path of the same bytes that the database accepts.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from duckdb import DuckDBPyConnection

from ingest.store.database import Store

_PATTERN = set("*?[]{}")


def reachable(store: Store, cursor: DuckDBPyConnection, path: Path) -> str:
    """The path itself if it lies in a folder that SQL may read, else a link to it (or a copy) in the store's scratch."""
    real = path.resolve()
    folders = cursor.execute("SELECT current_setting('allowed_directories')").fetchall()[0][0]
    if not _PATTERN & set(str(real)) and any(str(real).startswith(str(folder)) for folder in folders):
        return str(real)
    stat = real.stat()
    link = store.scratch / f"source-{stat.st_dev}-{stat.st_ino}-{stat.st_mtime_ns}"
    if not link.exists():
        try:
            os.link(real, link)
        except OSError:  # another file system, or one without links
            shutil.copyfile(real, link)
    return str(link.resolve())
