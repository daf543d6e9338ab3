"""Values that took a while to compute, kept for as long as what they were computed from holds.

Input: a key that names everything a value depends on but live rows, and a counter of those. Output: the value.
A value of live data may be a little old: a busy stream would else be analyzed without end.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from api.problems import Refused

T = TypeVar("T")

IDLE_SHARE = 5  # a value of live data may be as old as so many times what it took to compute ...
MOST_WAITING = 16  # of the forty threads that answer
RETRY_AFTER_S = 5
OLDEST_S = 60.0  # ... and no older than this


@dataclass(frozen=True)
class _Kept(Generic[T]):
    value: T
    live: int
    made: float
    took: float


class Keeper(Generic[T]):
    """At most `most` values, the longest unused forgotten first; one is computed at a time.

    Args:
        worth: whether a value is kept at all, such as by its size.
        clock: seconds that only grow.
    """

    def __init__(
        self, most: int, *, worth: Callable[[T], bool] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._worth = worth
        self._clock = clock
        self._kept: OrderedDict[str, _Kept[T]] = OrderedDict()
        self._lock = threading.RLock()
        self._places = threading.BoundedSemaphore(MOST_WAITING)

    def get(self, key: str, live: int, make: Callable[[], T]) -> T:
        """The value of a key, computed if it is not kept or no longer holds.

        Raises:
            Refused: so many wait for a value already that more would take the threads of everything else.
        """
        found = self.find(key, live)
        if found is not None:
            return found
        with self._waiting(), self._lock:
            found = self.find(key, live)
            if found is not None:
                return found
            began = self._clock()
            value = make()
            ended = self._clock()
            if self._worth is None or self._worth(value):
                self._kept[key] = _Kept(value, live, ended, ended - began)
                self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return value

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise Refused(
                f"{MOST_WAITING} questions are being worked out or wait for that already",
                status=503,
                code="busy",
                retry_after=RETRY_AFTER_S,
            )
        try:
            yield
        finally:
            self._places.release()

    def find(self, key: str, live: int) -> T | None:
        """The value of a key if it is kept and holds; never waits for a computation."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        age = self._clock() - kept.made
        if kept.live != live and age >= min(OLDEST_S, IDLE_SHARE * kept.took):
            return None
        return kept.value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
