"""Large files of the shared generator of traces, for benchmarks.

The size is 200,000 requests, some 1 million spans; TAILWISE_BENCH_REQUESTS makes it smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.shared import shared


@contextmanager
def generated(folder: Path, form: str) -> Iterator[Path]:
    """A file of traces in a form of the generator, "otlp-json" or "otlp-proto"; gone afterwards."""
    path = folder / {"otlp-json": "traces.otlp.jsonl", "otlp-proto": "traces.otlp.pb"}[form]
    requests = os.environ.get("TAILWISE_BENCH_REQUESTS", "200000")
    generator = shared("tools/gen_traces.py")
    subprocess.run(
        [sys.executable, str(generator), "--format", form, "--requests", requests, "--out", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    yield path
    path.unlink()
