"""Every row of the tables that stand beside the files of load generators, against what is computed from the files.

A table row has n, min, mean, three interpolated percentiles (those tools), max and three by nearest rank (ours).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from analysis.aggregates.statistics import interpolated
from analysis.aggregates.weighted import Sorted
from analysis.metrics.measure import measure
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.schema import NS_PER_S
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.shared import shared

Row = tuple[str, str, tuple[float, ...]]  # file, quantity, figures
FOLDERS = {
    "vllm-bench-serve": "",
    "aiperf-profile-export": ".jsonl.gz",
    "guidellm-report": "",
    "llmperf-leaderboard": "",
}
# quantity of a table: column of a measured frame, seconds per unit of the table
COLUMNS = {
    "ttft s": ("ttft", 1.0),
    "e2e s": ("e2e", 1.0),
    "tpot s": ("tpot", 1.0),
    "time to first token ms": ("ttft", 1e-3),
    "request_latency ms": ("e2e", 1e-3),
    "inter_token_latency ms": ("tpot", 1e-3),
    "request_ack_ns - request_start_ns ms": ("network", 1e-3),
    "time_to_first_token_ms": ("ttft", 1e-3),
    "request_latency s": ("e2e", 1.0),
    "inter_token_latency_ms": ("tpot", 1e-3),
    "time_per_output_token_ms field": ("whole", 1e-3),
    "ttft_s, all rows": ("ttft", 1.0),
    "ttft_s, error_code null": ("ttft", 1.0),
    "end_to_end_latency_s, all rows": ("e2e", 1.0),
}
NOT_KEPT = {  # what is no figure of one request, or of the load generator alone
    "itl s (all gaps)": "gaps are kept as the longest of a request",
    "inter_chunk_latency ms (all chunks)": "gaps are kept as the longest of a request",
    "request_start - queued s": "time in the load generator; test_data_guidellm_report has it",
    "request_start - targeted_start s": "time in the load generator",
    "resolve_end - request_end s": "time in the load generator",
    "inter_token_latency_s field": "not comparable between files, as their page says",
}
ZERO_FOR_UNKNOWN = "perplexity_70b.json"  # its tables over all rows count two refused ones with a latency of 0


def tables() -> list[Row]:
    found: list[Row] = []
    for folder, ending in FOLDERS.items():
        path = shared(f"data/{folder}/README.md")
        file = "benchmark.json.gz"
        for line in path.read_text().splitlines():
            if line.startswith("## ") and folder != "guidellm-report":
                file = line[3:].strip()
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("|") and len(cells) == 11 and cells[1].isdigit():
                name = file if ending == "" else f"{file}{ending}"
                place = name if name.endswith(".gz") or folder == "llmperf-leaderboard" else f"{name}.gz"
                found.append((f"data/{folder}/{place}", cells[0], tuple(map(float, cells[1:]))))
    return found


@cache
def answers(path: Path) -> pl.DataFrame:
    with Store.open() as store:
        load_paths([path], store, LoadOptions())
        frame = measure(store.requests(Selection())).filter(pl.col("status_class") == "ok")
    last = (pl.col("ttft_ns") + pl.col("generation_ns")) / NS_PER_S  # GuideLLM's is to the last token
    return frame.with_columns((last / pl.col("output_tokens")).alias("whole"))


def figures(ordered: Sorted) -> tuple[float, ...]:
    values = ordered.values
    mean = values.mean()
    assert isinstance(mean, float)
    points = (0.5, 0.95, 0.99)
    middle = [mean, *(interpolated(values, p) or 0 for p in points), float(values.item(-1))]
    return (ordered.n, float(values.item(0)), *middle, *(ordered.at(p) or 0 for p in points))


def test_every_row_of_every_table_is_compared_or_said_not_to_be_kept() -> None:
    rows = tables()
    assert len(rows) == 20 + 14 + 7 + 25
    assert {quantity for _, quantity, _ in rows} == {*COLUMNS, *NOT_KEPT}


@pytest.mark.parametrize("folder", FOLDERS)
def test_figures_are_those_of_the_tables(folder: str) -> None:
    compared = 0
    for file, quantity, expected in tables():
        all_rows = quantity.endswith("all rows") and file.endswith(ZERO_FOR_UNKNOWN)
        if f"/{folder}/" not in file or quantity in NOT_KEPT or all_rows:
            continue
        column, unit = COLUMNS[quantity]
        rows = answers(shared(file))
        if quantity == "ttft_s, error_code null":
            rows = rows.filter(~pl.col("flags").list.contains("short_answer").fill_null(value=False))
        n, *told = figures(Sorted.of(rows, column))
        assert n == expected[0], (file, quantity)
        # GuideLLM subtracts doubles of 1.7e9 s, which are 0.24 us apart; the tables have six to nine decimals
        assert [value / unit for value in told] == pytest.approx(expected[1:], rel=2e-5, abs=3e-6), (file, quantity)
        compared += 1
    assert compared == {"vllm-bench-serve": 15, "aiperf-profile-export": 11, "guidellm-report": 4}.get(folder, 18)
