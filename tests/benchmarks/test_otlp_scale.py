"""OTLP files of any size: every span accounted for, memory that does not grow with the file.

Run with: pytest tests/benchmarks/test_otlp_scale.py -m benchmark -s   (0.8 GB against 2.4 GB)
          pytest tests/benchmarks/test_otlp_scale.py -m long -s        (10 GB in one file; 14 GB of disk)
Memory is flat from a file on that fills the readers of both cores and one bucket of the assembly; of smaller ones it is
the file that is held, so a smaller comparison says nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.shared import shared

BUCKET_REQUESTS = 110_000  # of one part: 572,000 spans, nearly a whole bucket of the assembly; 0.8 GB
LARGE_REQUESTS = 200_000  # of one part: 1.04 million spans, 1.44 GB
MOST_GROWTH = 1.3
MOST_MB = 3000
LOAD = """
import json, resource, sys, time
from pathlib import Path
from ingest.load import LoadOptions, load
from ingest.store.database import Store
begin = time.monotonic()
with Store.open(Path(sys.argv[2])) as store:
    receipt = load(Path(sys.argv[1]), store, LoadOptions(attributes="mapped"))
    wall_s = time.monotonic() - begin
    with store.cursor() as cursor:
        stored = cursor.execute("SELECT (SELECT count(*) FROM spans), (SELECT count(*) FROM requests)").fetchall()[0]
usage = resource.getrusage(resource.RUSAGE_SELF)
counts = [receipt.read, receipt.accepted, receipt.duplicate, receipt.rejected]
cpu_s = usage.ru_utime + usage.ru_stime
print(json.dumps([*counts, *stored, wall_s, cpu_s, usage.ru_maxrss / 1000]))
"""


@dataclass(frozen=True)
class Loaded:
    """Counts of the receipt, rows in the store, and what the process took."""

    read: int
    accepted: int
    duplicate: int
    rejected: int
    spans: int
    requests: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def joined(folder: Path, form: str, parts: int, requests: int) -> tuple[Path, int]:
    """One file of the generator's outputs of as many seeds, and the number of its spans."""
    path, part, n_spans = folder / f"{parts}.{form}", folder / "part", 0
    for seed in range(1, parts + 1):
        command = [str(shared("tools/gen_traces.py")), "--format", form, "--requests", str(requests)]
        seeded = [sys.executable, *command, "--seed", str(seed), "--out", str(part)]
        said = subprocess.run(seeded, check=True, capture_output=True, text=True).stderr
        n_spans += int(json.loads(said.strip().splitlines()[-1])["spans"])
        with path.open("ab") as out:
            subprocess.run(["cat", str(part)], check=True, stdout=out)
        part.unlink()
    return path, n_spans


def loaded(path: Path) -> Loaded:
    """What a load of the file by a process of its own gives; file and store are gone after it."""
    store = path.with_suffix(".duckdb")
    try:
        said = subprocess.run(
            [sys.executable, "-c", LOAD, str(path), str(store)], check=True, capture_output=True, text=True
        )
    finally:
        path.unlink()
        store.unlink(missing_ok=True)
    result = Loaded(*json.loads(said.stdout))
    print(f"\n{result}")
    return result


def check(told: Loaded, n_spans: int, n_requests: int) -> None:
    """Every span that was written is a row, every trace a request."""
    assert (told.read, told.accepted, told.duplicate, told.rejected) == (n_spans, n_spans, 0, 0)
    assert (told.spans, told.requests) == (n_spans, n_requests)


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("form", ["otlp-json", "otlp-proto"])
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    peaks = []
    for parts in (1, 3):
        path, n_spans = joined(tmp_path, form, parts, BUCKET_REQUESTS)
        told = loaded(path)
        check(told, n_spans, parts * BUCKET_REQUESTS)
        peaks.append(told.peak_mb)
    assert peaks[1] <= MOST_GROWTH * peaks[0]


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_gigabytes_in_one_file(tmp_path: Path) -> None:
    path, n_spans = joined(tmp_path, "otlp-json", 7, LARGE_REQUESTS)
    told = loaded(path)
    check(told, n_spans, 7 * LARGE_REQUESTS)
    assert told.peak_mb <= MOST_MB
