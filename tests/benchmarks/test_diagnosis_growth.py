"""How the answer for one objective over HTTP grows with the rows in the store.

The sample week is laid on top of itself, each copy a few milliseconds later, so that the shape of the traffic stays
and only its volume grows. TAILWISE_BENCH_ROWS=10000000 measures the largest; the default stays below a minute.
CPU seconds of the process, server and client: on a busy machine the clock tells of others. Seen on two busy cores:
9,880 rows 1.5 s, 98,800 rows 2.7, 395,200 rows 7.6, 997,880 rows 19, the normal of the week before included.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.schema import REQUESTS
from ingest.store.database import Store, StoreSettings
from tests.support.server import client

DEMO = Path(__file__).resolve().parents[2] / "api" / "demo"
MOST = int(os.environ.get("TAILWISE_BENCH_ROWS", "400000"))
SIZES = [size for size in (10_000, 100_000, 400_000, 1_000_000, 4_000_000, 10_000_000) if size <= MOST]


def fill(path: Path, rows: int) -> int:
    """Rows of a store made of so many copies of the sample week."""
    with Store.open(path, StoreSettings((DEMO,))) as store:
        load_paths([DEMO / "2026-W10"], store, LoadOptions())
        with store.writing() as cursor:
            values = {column.name: f'"{column.name}"' for column in REQUESTS}
            columns = ", ".join(values.values())
            values["request_key"] = "request_key || '-' || copy"
            values["started_ns"] = "started_ns + copy * 1000003"
            values["ended_ns"] = "ended_ns + copy * 1000003"
            copies = max(0, rows // 9_880 - 1)
            cursor.execute(
                f"INSERT INTO requests ({columns}) SELECT {', '.join(values.values())} "
                f"FROM requests, range(1, {copies + 1}) AS copies(copy)"
            )
            (count,) = cursor.execute("SELECT count(*) FROM requests").fetchone() or (0,)
    return int(count)


@pytest.mark.benchmark
def test_one_objective_over_http_grows_no_faster_than_the_rows(tmp_path: Path) -> None:
    seen: list[tuple[int, float, float, float]] = []
    for size in SIZES:
        folder = tmp_path / str(size)
        folder.mkdir()
        rows = fill(folder / "store.duckdb", size)
        files = {"objectives": DEMO / "objectives.yaml", "prices": DEMO / "prices.yaml"}
        with client(folder, **files) as service:
            took = []
            for name in ("chat.ttft", "code.ttft", "chat.ttft"):  # cold, another objective, the same again
                began = time.process_time()
                said = service.get(f"/api/v1/objectives/{name}/diagnosis", params={"week": "2026-W10"})
                took.append(time.process_time() - began)
                assert said.json()["objective"]["verdict"] == "breached"
        seen.append((rows, took[0], took[1], took[2]))
        print(
            f"\n{rows:>12,} rows: first {took[0]:.2f} CPU s, next objective {took[1]:.2f}, again {took[2] * 1e3:.0f} ms"
        )
    (few, small, *_), (many, large, *_) = seen[0], seen[-1]
    assert large / max(small, 1.0) <= many / few
