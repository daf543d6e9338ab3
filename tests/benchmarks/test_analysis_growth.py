"""How the whole analysis and the diagnosis of everything grow with the rows in a store: CPU seconds and memory.

Run with: pytest -m benchmark tests/benchmarks/test_analysis_growth.py -s
Rows come from the shared generator as Parquet; each figure is a process of its own, imports included, on one thread,
so that a busy machine decides less. TAILWISE_BENCH_ROWS=10000000 measures the largest; the default stops at 400,000.
Seen on two busy cores, the analysis of 1 million rows: 18.5 CPU s, 1.9 GB; of 10 million: 178 CPU s, 12.7 GB at the peak,
of which the requests with all their figures are 7.5, and the search for causes, on one in ten of them, 3.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared import shared
from tests.support.spent import Spent, spent

MOST = int(os.environ.get("TAILWISE_BENCH_ROWS", "400000"))
SIZES = [size for size in (100_000, 400_000, 1_000_000, 4_000_000, 10_000_000) if size <= MOST]
SLACK = 1.3  # of the growth of the rows: group keys grow with them, and sorts by their logarithm
LOAD = """
import sys
from pathlib import Path
from ingest.load import LoadOptions, load_paths
from ingest.store.database import Store, StoreSettings
folder = Path(sys.argv[1])
with Store.open(folder / "store.duckdb", StoreSettings((folder,), threads=1)) as store:
    load_paths(sorted((folder / "rows").iterdir()), store, LoadOptions(attributes="mapped"))
"""
WORK = """
import sys
from pathlib import Path
from api.question import Question
from api.service import Service
from ingest.store.database import Store, StoreSettings
with Store.open(Path(sys.argv[1]) / "store.duckdb", StoreSettings(threads=1)) as store:
    found = getattr(Service(store), sys.argv[2])(Question())
assert found.objectives
"""


def store_of(rows: int, folder: Path) -> None:
    tool = shared("tools/gen_traces.py")
    command = [sys.executable, str(tool), "--format", "parquet", "--requests", str(rows), "--out", str(folder / "rows")]
    subprocess.run(command, check=True, capture_output=True)
    spent(LOAD, str(folder))
    shutil.rmtree(folder / "rows")


@pytest.mark.benchmark
@pytest.mark.timeout(7200)
def test_analysis_and_diagnosis_grow_no_faster_than_the_rows(tmp_path: Path) -> None:
    seen: dict[str, list[Spent]] = {"judgement": [], "analyze": []}
    for rows in SIZES:
        folder = tmp_path / str(rows)
        folder.mkdir()
        store_of(rows, folder)
        for work, figures in seen.items():
            figures.append(spent(WORK, str(folder), work))
            told = figures[-1]
            print(f"\n{rows:>12,} rows: {work} {told.cpu_s:.1f} CPU s, {told.peak_mb:,.0f} MB at the peak", end="")
        shutil.rmtree(folder)
    growth = SIZES[-1] / SIZES[0]
    for figures in seen.values():
        assert figures[-1].cpu_s <= SLACK * growth * figures[0].cpu_s
        assert figures[-1].peak_mb <= SLACK * growth * figures[0].peak_mb
