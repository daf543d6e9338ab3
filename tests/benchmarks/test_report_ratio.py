"""A report over six hours of a service takes at most ten times what DuckDB takes to read the same file into a table.

Both run as processes of their own, imports included, and their CPU seconds are compared, so a busy machine does not
decide. The yardstick makes a table of the file and nothing else; the report loads it row by row checked, judges,
searches causes, prices and draws.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.shared import shared

HOURS = os.environ.get("TAILWISE_BENCH_HOURS", "6")  # 139,000 requests; 43 hours are a million
MOST_RATIO = 10.0  # measured: 9.1 on two busy cores; 12 before values were sorted once
MOST_MB = 1500.0  # for six hours; measured: 1,010
ROOT = Path(__file__).resolve().parents[2]
READ = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('create table t as select * from read_json_auto(?)', [sys.argv[2]])"


@dataclass(frozen=True)
class Spent:
    cpu_s: float
    peak_mb: float


def spent(arguments: Sequence[str]) -> Spent:
    """What a process of its own took, imports included."""
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def simulated(folder: Path) -> Path:
    """A run of the simulator in which replicas fail, with its objectives and prices."""
    if importlib.util.find_spec("numba") is None:
        pytest.skip("the simulator needs numba; install it to measure a report")
    simulator, convert = shared("incidents/simulate.py"), shared("incidents/convert.py")
    case = folder / "case"
    run = [str(simulator), "run", "--incident", "replica_down", "--seed", "7", "--hours", HOURS, "--out", str(case)]
    subprocess.run([sys.executable, *run], check=True, capture_output=True)
    subprocess.run([sys.executable, str(convert), "config", str(case), str(case)], check=True, capture_output=True)
    return case


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_a_report_takes_at_most_ten_times_the_reading_of_its_file(tmp_path: Path) -> None:
    case = simulated(tmp_path)
    requests = case / "requests.jsonl"
    yardsticks = [spent(["-c", READ, str(tmp_path / f"{n}.duckdb"), str(requests)]) for n in range(3)]
    paths = [str(requests), str(case / "replica_hours.jsonl"), str(case / "run.json")]
    books = ["--objectives", str(case / "objectives.yaml"), "--prices", str(case / "prices.yaml")]
    page = tmp_path / "report.html"
    command = ["-m", "api.cli", "report", *paths, *books, "-o", str(page), "--json", str(tmp_path / "report.json")]
    reports = [spent(command) for _ in range(3)]
    read, report = (min(runs, key=lambda one: one.cpu_s) for runs in (yardsticks, reports))
    ratio = report.cpu_s / read.cpu_s
    peak = max(one.peak_mb for one in reports)
    print(
        f"{requests.stat().st_size / 1e6:.0f} MB: DuckDB read {read.cpu_s:.2f} CPU s, {read.peak_mb:.0f} MB; "
        f"report {report.cpu_s:.2f} CPU s = {ratio:.1f}x, {peak:.0f} MB"
    )
    assert page.stat().st_size > 500_000
    assert ratio <= MOST_RATIO
    assert peak <= MOST_MB * max(1.0, float(HOURS) / 6)
