"""What a first reading of a source leaves for the second: texts by key, on disk where they are many.

Input: keys and texts. Output: the text of a key. Memory: a few megabytes, however many keys there are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

CACHE_KIB = 8192  # of pages; the rest lies in a file without a name in the folder for temporary files


class Memo:
    """Texts by key. Use `memo()`, which forgets them at the end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.is_empty = True

    def __setitem__(self, key: str, told: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO memo VALUES (?, ?)", (key, told))
        self.is_empty = False

    def get(self, key: str) -> str | None:
        """The text of a key, None if there is none."""
        if self.is_empty:
            return None
        found = self._connection.execute("SELECT told FROM memo WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else None

    def items(self) -> Iterator[tuple[str, str]]:
        """Keys and texts, in order of key."""
        yield from self._connection.execute("SELECT key, told FROM memo ORDER BY key")


@contextmanager
def memo() -> Iterator[Memo]:
    """An empty one, gone at the end."""
    with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as connection:
        for setting in (f"cache_size = -{CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("CREATE TABLE memo (key TEXT PRIMARY KEY, told TEXT) WITHOUT ROWID")
        connection.execute("BEGIN")
        yield Memo(connection)
