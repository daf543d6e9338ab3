"""What the engine takes for nothing but the parse of a file: the yardstick of every load.

Input: a file of JSON, CSV or Parquet, packed or not. Output: CPU seconds of this process.
"""

from __future__ import annotations

import resource
from pathlib import Path

import duckdb

from ingest.store.database import Store
from ingest.store.files import reachable

LARGEST_DOCUMENT = 64 << 20  # bytes of one JSON value; two such buffers are held per thread
PACKINGS = {".gz": "gzip", ".zst": "zstd"}
JSON = f"SELECT sum(len(json_keys(json))) FROM read_json_objects($path, compression = $packing, maximum_object_size = {LARGEST_DOCUMENT})"
CSV = "SELECT count(COLUMNS(*)) FROM read_csv($path, compression = $packing)"
PARQUET = "SELECT count(COLUMNS(*)) FROM read_parquet($path)"
READS = {".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV, ".parquet": PARQUET}


def cpu_s() -> float:
    """CPU seconds that this process has taken, all of its threads together."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def bare_parse_s(store: Store, path: Path, times: int = 3) -> float | None:
    """CPU seconds of a parse that keeps nothing, the best of some; None: the engine by itself cannot read the file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = PACKINGS.get(suffixes[-1] if suffixes else "")
    kind = suffixes[-2 if packing and len(suffixes) > 1 else -1] if suffixes else ""
    if kind not in READS:
        return None
    taken = []
    with store.cursor() as cursor:
        values = {"path": reachable(store, cursor, path)}
        if READS[kind] != PARQUET:
            values["packing"] = packing or "none"
        for _ in range(times):
            before = cpu_s()
            try:
                cursor.execute(READS[kind], values).fetchall()
            except duckdb.Error:
                return None
            taken.append(cpu_s() - before)
    return min(taken)
