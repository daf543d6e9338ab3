"""The simulator's run.json: it says what share of the requests a run's other files hold.

Input: files of a load. Output: their sampling rates; the receipt of such a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from ingest.bounds import LEAST_RATE
from ingest.paths import Found
from ingest.receipts import Receipt

MAX_BYTES = 65_536  # the file has five keys
_MARKS = frozenset({"sampling_rate", "hours", "seed"})


def rates(files: list[Found]) -> dict[Path, float]:
    """Sampling rate by path, of the files that are such a file."""
    found = {}
    for file in files:
        rate = _rate(file.path)
        if rate is not None:
            found[file.path] = rate
    return found


def _rate(path: Path) -> float | None:
    try:
        if path.suffix.lower() != ".json" or path.stat().st_size > MAX_BYTES:
            return None
        content: Any = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    if not isinstance(content, dict) or not content.keys() >= _MARKS:
        return None
    rate = content["sampling_rate"]
    return float(rate) if isinstance(rate, (int, float)) and LEAST_RATE <= rate <= 1 else None


def rate_for(file: Found, known: Mapping[Path, float]) -> float | None:
    """Rate of the run that a file belongs to: of its own folder, else the only one there is."""
    for path, rate in known.items():
        if path.parent == file.path.parent:
            return rate
    return next(iter(known.values())) if len(known) == 1 else None


def receipt(file: Found, rate: float) -> Receipt:
    """The receipt of such a file: nothing of it is stored."""
    return Receipt(
        upload_id=f"u-{uuid4().hex[:12]}",
        name=file.name,
        state="skipped",
        size_bytes=file.path.stat().st_size,
        message=f"not a trace file; its sampling rate {rate:g} applies to the others",
        code="run_file",
        sampling_rate=rate,
    )
