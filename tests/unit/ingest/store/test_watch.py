"""Statements that are watched and ended."""

from __future__ import annotations

import pytest

from ingest.errors import Cancelled
from ingest.store.database import Store
from ingest.store.watch import watched

LONG = "SELECT count(*) FROM range(100000) a, range(1000000) b WHERE a.range % 7 = b.range % 11"


def test_a_long_statement_ends_when_it_is_cancelled() -> None:
    with Store.open() as store, store.cursor() as cursor, pytest.raises(Cancelled, match="nothing of it is stored"):
        watched(cursor, lambda: cursor.execute(LONG).fetchall(), cancelled=lambda: True)


def test_the_work_gives_its_result_or_its_error() -> None:
    with Store.open() as store, store.cursor() as cursor:
        told: list[int] = []
        assert watched(cursor, lambda: cursor.execute("SELECT 7").fetchall(), tick=told.append) == [(7,)]
        with pytest.raises(ZeroDivisionError):
            watched(cursor, lambda: 1 // 0, cancelled=lambda: False)
