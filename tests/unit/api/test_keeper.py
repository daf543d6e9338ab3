"""Kept values: computed once, forgotten in time, a little old where rows stream in."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from api.keeper import MOST_WAITING, Keeper
from api.problems import Refused


class Clock:
    """Time that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_computed_once_per_key() -> None:
    made: list[str] = []
    keeper: Keeper[str] = Keeper(2)

    def value(key: str) -> str:
        made.append(key)
        return key.upper()

    values = [keeper.get(key, 0, partial(value, key)) for key in "aaba"]
    assert (values, made) == (["A", "A", "B", "A"], ["a", "b"])


def test_the_longest_unused_value_is_forgotten_first() -> None:
    keeper: Keeper[int] = Keeper(2)
    for n, key in enumerate("abc"):
        keeper.get(key, 0, partial(int, n))
    assert [keeper.find(key, 0) for key in "abc"] == [None, 1, 2]


@pytest.mark.parametrize(("took", "age", "holds"), [(2.0, 9.9, True), (2.0, 10.0, False), (100.0, 60.0, False)])
def test_a_value_of_live_data_grows_old_by_what_it_took(took: float, age: float, holds: bool) -> None:
    clock = Clock()
    keeper: Keeper[int] = Keeper(2, clock=clock)

    def make() -> int:
        clock.now += took
        return 1

    keeper.get("a", 0, make)
    clock.now += age
    assert (keeper.find("a", 1) is not None, keeper.find("a", 0)) == (holds, 1)


def test_a_value_that_is_too_large_is_given_and_not_kept() -> None:
    keeper: Keeper[int] = Keeper(2, worth=lambda value: value < 10)
    assert (keeper.get("a", 0, lambda: 11), keeper.find("a", 0)) == (11, None)


def test_so_many_wait_and_further_ones_are_told_to_come_back() -> None:
    keeper: Keeper[int] = Keeper(2)
    release, begun = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        release.wait(30)
        return 1

    threads = [threading.Thread(target=partial(keeper.get, str(n), 0, slow)) for n in range(MOST_WAITING)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    refused: Refused | None = None
    until = time.monotonic() + 10
    while refused is None and time.monotonic() < until:
        try:
            with keeper._waiting():
                time.sleep(0.01)
        except Refused as error:
            refused = error
    release.set()
    for thread in threads:
        thread.join(30)
    assert refused is not None
    assert (refused.status, refused.code, refused.retry_after) == (503, "busy", 5)
