"""Files of spans that Python reads, in every format: memory that does not grow with the file.

Run with: pytest tests/benchmarks/test_readers_scale.py -m benchmark -s      (a format takes some minutes)
A million spans against three times as many, so that both fill the buckets of the assembly; TAILWISE_BENCH_REQUESTS is
the number of traces of the smaller file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.large import FORMS

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

MOST_GROWTH = 1.3
LOAD = """
import json, resource, sys
from pathlib import Path
from ingest.load import LoadOptions, load
from ingest.store.database import Store
with Store.open(Path(sys.argv[2])) as store:
    receipt = load(Path(sys.argv[1]), store, LoadOptions())
    with store.cursor() as cursor:
        requests = cursor.execute("SELECT count(*) FROM requests").fetchall()[0][0]
print(json.dumps([receipt.read, receipt.accepted, requests, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000]))
"""


def peak_mb(form: str, traces: int, folder: Path) -> float:
    """Peak memory of a process of its own that loads such a file; file and store are gone after it."""
    path, store = folder / f"{traces}-{form}", folder / "store.duckdb"
    try:
        FORMS[form](traces, path)
        command = [sys.executable, "-c", LOAD, str(path), str(store)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        path.unlink(missing_ok=True)
        store.unlink(missing_ok=True)
    read, accepted, requests, peak = json.loads(said)
    assert read == accepted >= 2 * traces
    assert requests == traces
    return float(peak)


@pytest.mark.parametrize("form", FORMS)
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    traces = int(os.environ.get("TAILWISE_BENCH_REQUESTS", "350000"))
    peaks = [peak_mb(form, n_traces, tmp_path) for n_traces in (traces, 3 * traces)]
    print(f"\n{form}: {peaks[0]:.0f} MB; three times the file {peaks[1] / peaks[0]:.2f}x")
    assert peaks[1] <= MOST_GROWTH * peaks[0]
