"""Ratios of loading flat tables, each in one run on the same rows: against Parquet, packed against raw, again, memory.

Run with: pytest -m benchmark tests/benchmarks/test_flat.py -s
CPU seconds, not wall time: other work on the machine changes the latter.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from backports import zstd

from ingest.load import LoadOptions, load
from ingest.store.database import Store
from tests.support.shared import shared

pytestmark = pytest.mark.benchmark
ROWS = 200_000
PEAK = """
import resource, sys
from pathlib import Path
from ingest.load import LoadOptions, load
from ingest.store.database import Store
with Store.open(Path(sys.argv[2])) as store:
    receipt = load(Path(sys.argv[1]), store, LoadOptions())
assert receipt.accepted == receipt.read > 0, receipt
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def generated(folder: Path, rows: int) -> Path:
    path = folder / f"requests-{rows}.jsonl"
    tool = shared("tools/gen_traces.py")
    command = [sys.executable, str(tool), "--format", "jsonl", "--requests", str(rows), "--out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def cpu_seconds(path: Path, options: LoadOptions | None = None) -> float:
    """CPU time of a load into a new store, the better of two."""
    best = float("inf")
    for _ in range(2):
        with Store.open() as store:
            before = os.times()
            receipt = load(path, store, options or LoadOptions())
            after = os.times()
        assert (receipt.read, receipt.accepted) == (ROWS, ROWS)
        best = min(best, after.user + after.system - before.user - before.system)
    return best


def test_json_lines_against_the_same_rows_from_parquet(tmp_path: Path) -> None:
    path = generated(tmp_path, ROWS)
    pl.read_ndjson(path).write_parquet(tmp_path / "rows.parquet", compression="lz4")
    parquet, lines = cpu_seconds(tmp_path / "rows.parquet"), cpu_seconds(path)
    mapped = cpu_seconds(path, LoadOptions(attributes="mapped"))
    print(f"\nparquet {parquet:.2f} s; JSON lines {lines / parquet:.2f}x, without attributes {mapped / parquet:.2f}x")
    assert lines <= 1.8 * parquet


def test_packed_against_raw(tmp_path: Path) -> None:
    path = generated(tmp_path, ROWS)
    (tmp_path / "rows.gz").write_bytes(gzip.compress(path.read_bytes(), 6))
    (tmp_path / "rows.zst").write_bytes(zstd.compress(path.read_bytes()))
    raw, packed, frames = (cpu_seconds(each) for each in (path, tmp_path / "rows.gz", tmp_path / "rows.zst"))
    print(f"\nraw {raw:.2f} s; gzip {packed / raw:.2f}x, zstd {frames / raw:.2f}x")
    assert max(packed, frames) <= 1.25 * raw


def test_the_same_file_again_costs_next_to_nothing(tmp_path: Path) -> None:
    path = generated(tmp_path, ROWS)
    times = []
    with Store.open() as store:
        for _ in range(2):
            before = os.times()
            load(path, store, LoadOptions())
            after = os.times()
            times.append(after.user + after.system - before.user - before.system)
    print(f"\nfirst {times[0]:.2f} s; again {times[1] / times[0]:.3f}x")
    assert times[1] <= 0.2 * times[0]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for rows in (ROWS, 3 * ROWS):
        path = generated(tmp_path, rows)
        store = tmp_path / f"{rows}.duckdb"
        told = subprocess.run(
            [sys.executable, "-c", PEAK, str(path), str(store)], check=True, capture_output=True, text=True
        )
        peaks.append(int(told.stdout))
    print(f"\npeak {peaks[0] / 1e3:.0f} MB; three times the rows {peaks[1] / peaks[0]:.2f}x")
    assert peaks[1] <= 1.3 * peaks[0]
