"""The door for what leaves: between two days it can be stopped, within a day it cannot be halved."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ingest.errors import Cancelled
from ingest.retire import is_due
from ingest.store.database import Store
from tests.support.retention import DAY_NS, at, drop, filled, some_rows

BEFORE = at("2026-03-05T23:00:00")


def totals(store: Store) -> tuple[int, int]:
    """Requests that stand, requests that were rolled up."""
    return store.read("requests").height, int(store.read("rolled_days")["n_requests"].sum())


def test_every_request_stands_or_is_rolled_up_once() -> None:
    with Store.open() as store:
        filled(store, some_rows(400))
        assert is_due(store, BEFORE, "Europe/Berlin")
        done = drop(store, BEFORE)
        stands, rolled = totals(store)
        assert (stands + rolled, rolled, done.requests) == (400, done.requests, rolled)
        assert rolled > 200
        status = store.read("rolled_status")
        assert int(status["requests"].sum()) == rolled
        assert min(store.read("requests")["started_ns"].to_list()) >= BEFORE
        assert not is_due(store, BEFORE, "Europe/Berlin")
        assert drop(store, BEFORE).pieces == ()


def test_stopped_between_two_days_it_goes_on_from_there() -> None:
    with Store.open() as store:
        filled(store, some_rows(400))
        asked = iter([False, False, True])
        with pytest.raises(Cancelled, match="between two days"):
            drop(store, BEFORE, cancelled=lambda: next(asked))
        stands, rolled = totals(store)
        assert (stands + rolled, store.read("rolled_days").height) == (400, 2)
        drop(store, BEFORE)
        assert sum(totals(store)) == 400


@pytest.mark.parametrize("moment", ["before_delete", "before_commit"])
def test_killed_within_a_day_it_leaves_that_day_as_it_was(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "s.duckdb"
    code = f"""
        import os, signal
        from pathlib import Path
        from ingest import retire
        from ingest.store import retention
        from ingest.store.database import Store
        from tests.support.retention import at, drop, filled, some_rows
        done = []
        real = retention.replace_rows
        def dying(store, cursor, piece, rolled, now_ns):
            if len(done) == 2 and {moment!r} == "before_delete":
                os.kill(os.getpid(), signal.SIGKILL)
            found = real(store, cursor, piece, rolled, now_ns)
            if len(done) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(piece)
            return found
        retire.replace_rows = dying
        with Store.open(Path({str(path)!r})) as store:
            filled(store, some_rows(400))
            drop(store, {BEFORE})
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False, capture_output=True, text=True)
    assert ended.returncode == -9, ended.stderr
    with Store.open(path) as store:
        stands, rolled = totals(store)
        assert (stands + rolled, store.read("rolled_days").height) == (400, 2)
        assert int(store.read("rolled_status")["requests"].sum()) == rolled
        drop(store, BEFORE)
        assert sum(totals(store)) == 400
        assert int(store.read("rolled_status")["requests"].sum()) == totals(store)[1]


def test_later_rows_take_the_room_of_dropped_ones(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    rng = random.Random(1)

    def fill(weeks: int) -> int:
        rows = [
            row | {"started_ns": row["started_ns"] + weeks * 7 * DAY_NS, "attributes": rng.randbytes(200).hex()}
            for row in some_rows(20_000, days=3)
        ]
        with Store.open(path) as store:
            filled(store, rows)
        return path.stat().st_size

    full = fill(0)
    with Store.open(path) as store:
        drop(store, BEFORE)
        assert store.read("requests").is_empty()
    rolled = path.stat().st_size
    assert rolled < 1.5 * full
    assert fill(2) <= rolled  # as many rows again, and the file is no longer
