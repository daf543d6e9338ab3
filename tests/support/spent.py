"""What a process of its own took: CPU seconds, memory at the peak, and what it said."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Spent:
    cpu_s: float
    peak_mb: float
    said: str


def spent(code: str, *words: str, threads: int = 1) -> Spent:
    """What a process took that runs this code; `threads` of Polars."""
    command = [sys.executable, "-c", code, *words]
    surroundings = os.environ | {"POLARS_MAX_THREADS": str(threads)}
    with subprocess.Popen(command, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read() if process.stdout is not None else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, said)
