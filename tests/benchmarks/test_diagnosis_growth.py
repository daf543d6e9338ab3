"""How the answer for one objective over HTTP grows with the rows in the store.

Run with: pytest -m benchmark tests/benchmarks/test_diagnosis_growth.py -s
The sample week is laid on top of itself, each copy a few milliseconds later, so that the shape of the traffic stays
and only its volume grows. TAILWISE_BENCH_ROWS=10000000 measures the largest; the default stays below a minute.
CPU seconds of a process of its own, server and client, on two threads: on a busy machine the clock tells of others. The
rows are made by another process, which is gone by then, and the answer to everything, which a server works out by
itself, is left out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.spent import spent

MOST = int(os.environ.get("TAILWISE_BENCH_ROWS", "400000"))
SIZES = [size for size in (10_000, 100_000, 400_000, 1_000_000, 4_000_000, 10_000_000) if size <= MOST]
FILL = """
import sys
from pathlib import Path
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.schema import REQUESTS
from ingest.store.database import Store, StoreSettings
demo = Path("api/demo").resolve()
with Store.open(Path(sys.argv[1]) / "store.duckdb", StoreSettings((demo,))) as store:
    load_paths([demo / "2026-W10"], store, LoadOptions())
    values = {column.name: f'"{column.name}"' for column in REQUESTS}
    columns = ", ".join(values.values())
    values["request_key"] = "request_key || '-' || copy"
    values["started_ns"] = "started_ns + copy * 1000003"
    values["ended_ns"] = "ended_ns + copy * 1000003"
    with store.writing() as cursor:
        cursor.execute("CREATE TABLE one_week AS SELECT * FROM requests")
    copies, step = int(sys.argv[2]) // 9_880, 50
    for first in range(1, copies, step):
        with store.writing() as cursor:
            cursor.execute(
                f"INSERT INTO requests ({columns}) SELECT {', '.join(values.values())} "
                f"FROM one_week, range({first}, {min(first + step, copies)}) AS copies(copy)"
            )
    with store.writing() as cursor:
        cursor.execute("DROP TABLE one_week")
        print(cursor.execute("SELECT count(*) FROM requests").fetchone()[0])
"""
ASK = """
import json, sys, time
from pathlib import Path
from api.warmer import Warmer
from tests.support.server import client
Warmer.start = lambda self: None
demo, took = Path("api/demo").resolve(), []
with client(Path(sys.argv[1]), objectives=demo / "objectives.yaml", prices=demo / "prices.yaml") as service:
    for name in ("chat.ttft", "code.ttft", "chat.ttft"):  # cold, another objective, the same again
        began = time.process_time()
        said = service.get(f"/api/v1/objectives/{name}/diagnosis", params={"week": "2026-W10"})
        took.append(time.process_time() - began)
        assert said.json()["objective"]["verdict"] == "breached", said.text[:500]
print(json.dumps(took))
"""


@pytest.mark.benchmark
@pytest.mark.timeout(7200)
def test_one_objective_over_http_grows_no_faster_than_the_rows(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []
    for size in SIZES:
        folder = tmp_path / str(size)
        folder.mkdir()
        rows = int(spent(FILL, str(folder), str(size)).said)
        found = spent(ASK, str(folder), threads=2)
        first, second, again = json.loads(found.said.splitlines()[-1])
        seen.append((rows, first))
        print(
            f"\n{rows:>12,} rows: first {first:.2f} CPU s, next objective {second:.2f}, again {again * 1e3:.0f} ms, "
            f"{found.peak_mb:,.0f} MB at the peak"
        )
        (folder / "store.duckdb").unlink()
    (few, small), (many, large) = seen[0], seen[-1]
    assert large / max(small, 1.0) <= many / few
