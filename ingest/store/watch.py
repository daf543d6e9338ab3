"""A long statement that can be watched and ended: it runs in a thread of its own while the caller's thread looks on.

Input: work that uses one cursor. Output: what the work returns. How far a reading is, is told by the bytes that the
process has read meanwhile, where the system counts them; else nothing is told between beginning and end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb
from duckdb import DuckDBPyConnection

from ingest.errors import Cancelled

T = TypeVar("T")
TICK_S = 0.2  # a person sees a bar move, and the work is not disturbed
_COUNTERS = Path("/proc/self/io")  # Linux; rchar counts what read calls returned


def watched(
    cursor: DuckDBPyConnection,
    work: Callable[[], T],
    *,
    tick: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> T:
    """What `work` returns.

    Args:
        cursor: the only one that `work` uses; it is interrupted when `cancelled` says so.
        tick: told the bytes read since the beginning, a few times a second, from the calling thread.

    Raises:
        Cancelled: `cancelled` said so.
    """
    if tick is None and cancelled is None:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller's thread as it is
            errors.append(error)

    thread = threading.Thread(target=run, name="load")
    before = _bytes_read()
    thread.start()
    is_ended = False
    while thread.is_alive():
        thread.join(TICK_S)
        if cancelled is not None and not is_ended and cancelled():
            is_ended = True
        if is_ended:
            cursor.interrupt()
        elif tick is not None and thread.is_alive():
            tick(_bytes_read() - before)
    if is_ended or (errors and isinstance(errors[0], duckdb.InterruptException)):
        raise Cancelled("the load was cancelled; nothing of it is stored")
    if errors:
        raise errors[0]
    return results[0]


def _bytes_read() -> int:
    try:
        with _COUNTERS.open() as counters:
            return int(counters.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
