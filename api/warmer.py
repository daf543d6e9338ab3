"""The answer to the commonest question, worked out before anybody asks.

Input: pokes, whenever rows came or went. Output: the kept result of everything loaded. It waits until no job waits, so
a load is never held up by it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

PATIENCE_S = 0.5  # between two looks whether a job is under way


class Warmer:
    """A thread that works when it is poked and nothing else is to be done.

    Args:
        work: what it does; an error of it is logged, for nobody asked.
        is_busy: whether something more urgent is under way.
    """

    def __init__(self, work: Callable[[], object], is_busy: Callable[[], bool]) -> None:
        self._work = work
        self._is_busy = is_busy
        self._poked = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warmer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def poke(self) -> None:
        """Rows came or went."""
        self._poked.set()

    def close(self) -> None:
        """Wait for the work under way; begin no other."""
        self._ending.set()
        self._poked.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while self._poked.wait() and not self._ending.is_set():
            if self._is_busy():
                self._ending.wait(PATIENCE_S)
                continue
            self._poked.clear()
            try:
                self._work()
            except Exception:
                structlog.get_logger("warmer").exception("the first answer could not be worked out")
