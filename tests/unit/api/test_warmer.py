"""The warmer: works when it is poked, once for many pokes, and never before what is more urgent."""

from __future__ import annotations

import threading
import time

from api.warmer import Warmer


def test_it_works_when_it_is_poked_and_stops_when_it_is_closed() -> None:
    done = threading.Event()
    warmer = Warmer(done.set, lambda: False)
    warmer.start()
    warmer.poke()
    assert done.wait(10)
    warmer.close()


def test_it_waits_while_a_job_is_under_way() -> None:
    busy, done = threading.Event(), threading.Event()
    busy.set()
    warmer = Warmer(done.set, busy.is_set)
    warmer.start()
    warmer.poke()
    time.sleep(0.1)
    before = done.is_set()
    busy.clear()
    assert (before, done.wait(10)) == (False, True)
    warmer.close()


def test_a_fault_of_its_work_does_not_end_it() -> None:
    worked: list[int] = []
    twice = threading.Event()

    def work() -> None:
        worked.append(1)
        if len(worked) == 2:
            twice.set()
        raise ZeroDivisionError

    warmer = Warmer(work, lambda: False)
    warmer.start()
    warmer.poke()
    while not worked:
        time.sleep(0.01)
    warmer.poke()
    assert twice.wait(10)
    warmer.close()
