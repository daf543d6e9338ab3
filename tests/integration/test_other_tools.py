"""Figures of other tools, computed from their own per-request files, against what they printed into them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.aggregates.compatible import compatible_figures
from analysis.metrics.measure import measure
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.shared import shared


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def figures(store: Store, path: Path, tool: str) -> dict[str, float]:
    load_paths([path], store, LoadOptions())
    found = compatible_figures(measure(store.requests(Selection())), ())
    return {figure.figure: figure.value for figure in found if figure.tool == tool and figure.value is not None}


@pytest.mark.parametrize("run", ["c1", "c2", "c4", "c8", "c16"])
def test_vllm_bench_serve(store: Store, run: str) -> None:
    path = shared(f"data/vllm-bench-serve/day06_{run}_i128_o64_n64.json.gz")
    printed = json.loads(gzip.decompress(path.read_bytes()))
    ours = figures(store, path, "vLLM bench serve")
    names = {"mean": "mean", "p50": "median", "p95": "p95", "p99": "p99"}
    for figure, tolerance in (("ttft", 1e-9), ("tpot", 2e-4), ("e2el", 2e-4)):  # its own E2E is not in the file
        for point, name in names.items():
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed[f"{name}_{figure}_ms"], rel=tolerance)


def test_aiperf(store: Store) -> None:
    folder = "data/aiperf-profile-export/llama3-8b_concurrency1_profile_export"
    printed = json.loads(shared(f"{folder}_aiperf.json").read_text())
    ours = figures(store, shared(f"{folder}.jsonl.gz"), "AIPerf")
    for figure in ("time_to_first_token", "inter_token_latency", "request_latency"):
        for point, name in (("mean", "avg"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99")):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed[figure][name], rel=1e-6)


def test_guidellm(store: Store) -> None:
    path = shared("data/guidellm-report/benchmark.json.gz")
    metrics: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))["benchmarks"][0]["metrics"]
    ours = figures(store, path, "GuideLLM")
    for figure, scale in (
        ("time_to_first_token", "time_to_first_token_ms"),
        ("time_per_output_token", "time_per_output_token_ms"),
        ("inter_token_latency", "inter_token_latency_ms"),
        ("request_latency", "request_latency"),
    ):
        printed = metrics[scale]["successful"]
        factor = 1.0 if scale.endswith("_ms") else 1000.0
        assert ours[f"mean_{figure}_ms"] == pytest.approx(printed["mean"] * factor, rel=1e-6)
        for point in ("p50", "p95", "p99"):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed["percentiles"][point] * factor, rel=1e-6)


@pytest.mark.parametrize("provider", ["anyscale", "bedrock", "fireworks", "perplexity", "together"])
def test_llmperf(store: Store, provider: str) -> None:
    """Its files hold no summary; its summaries are pandas quantiles of these columns, rows with any error code dropped."""
    path = shared(f"data/llmperf-leaderboard/{provider}_70b.json")
    rows = [row for row in json.loads(path.read_text()) if row["error_code"] is None]
    ours = figures(store, path, "LLMPerf")
    for figure, column in (("ttft", "ttft_s"), ("end_to_end_latency", "end_to_end_latency_s")):
        values = np.array([row[column] for row in rows]) * 1000
        assert ours[f"mean_{figure}_ms"] == pytest.approx(values.mean(), rel=1e-6)
        for point, p in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(np.quantile(values, p), rel=1e-6)
