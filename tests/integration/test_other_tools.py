"""Figures of other tools, computed from their own per-request files, against what they printed into them.

What they cannot equal to the last digit, and why:

    vLLM bench TPOT and E2E    the file has the first token and the gaps of a request, not its latency, which the tool
                               took some microseconds later: within one of the last digit that it shows, 0.01 ms
    vLLM bench, AIPerf gaps    gaps are told per request here, percentiles of all gaps together are not
    GuideLLM percentiles of    its distributions over time, of which only the means are told here
    rates
    LLMPerf throughput         the rows state it for another number of tokens than the one they give
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.analyze import analyze
from analysis.objectives import read_objectives
from analysis.prices import default_prices
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.shared import shared

POINTS = {"mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
PRINTED = 1e-9  # of the printed figure: all of its digits but those that nanoseconds cut
GOOD = "objectives: [{id: g, all_of: [{metric: ttft, threshold: 10ms}, {metric: e2e, threshold: 143ms}], target: 90%}]"
LAST_SHOWN_MS = 0.01
NOW = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def figures(
    store: Store, path: Path, tool: str, *, objectives: str = GOOD, selection: Selection | None = None
) -> dict[str, float]:
    load_paths([path], store, LoadOptions())
    result = analyze(
        store, selection or Selection(), objectives=read_objectives(objectives), prices=default_prices(), now=NOW
    )
    return {found.figure: found.value for found in result.compatible if found.tool == tool and found.value is not None}


@pytest.mark.parametrize("run", ["c1", "c2", "c4", "c8", "c16"])
def test_vllm_bench_serve(store: Store, run: str) -> None:
    path = shared(f"data/vllm-bench-serve/day06_{run}_i128_o64_n64.json.gz")
    printed = json.loads(gzip.decompress(path.read_bytes()))
    ours = figures(store, path, "vLLM bench serve")
    for name in ("request_throughput", "output_throughput", "total_token_throughput"):
        assert ours[name] == pytest.approx(printed[name], rel=PRINTED)
    for point in POINTS:
        assert ours[f"{point}_ttft_ms"] == pytest.approx(printed[f"{point}_ttft_ms"], rel=PRINTED)
        for figure in ("tpot", "e2el"):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed[f"{point}_{figure}_ms"], abs=LAST_SHOWN_MS)
    latencies = [ttft + sum(gaps) for ttft, gaps in zip(printed["ttfts"], printed["itls"], strict=True)]
    good = sum(ttft <= 0.010 and e2e <= 0.143 for ttft, e2e in zip(printed["ttfts"], latencies, strict=True))
    assert ours["request_goodput"] == pytest.approx(good / printed["duration"], rel=PRINTED)


def test_the_duration_of_a_part_of_a_run_is_not_the_runs(store: Store) -> None:
    path = shared("data/vllm-bench-serve/day06_c4_i128_o64_n64.json.gz")
    whole = figures(store, path, "vLLM bench serve")
    first = store.requests(Selection()).get_column("started_ns").min()
    assert isinstance(first, int)
    part = figures(store, path, "vLLM bench serve", selection=Selection(first, first + 10**9))
    assert part["request_throughput"] != pytest.approx(whole["request_throughput"], rel=1e-6)
    result = analyze(
        store, Selection(first, first + 10**9), objectives=read_objectives(""), prices=default_prices(), now=NOW
    )
    says = {found.figure: found.says for found in result.compatible if found.tool == "vLLM bench serve"}
    assert says["request_throughput"] == "over first start to last end"


def test_runs_one_after_another_are_over_the_sum_of_their_durations(store: Store) -> None:
    paths = [shared(f"data/vllm-bench-serve/day06_{run}_i128_o64_n64.json.gz") for run in ("c1", "c8")]
    printed = [json.loads(gzip.decompress(path.read_bytes())) for path in paths]
    load_paths(paths[:1], store, LoadOptions())
    ours = figures(store, paths[1], "vLLM bench serve")
    seconds = sum(one["duration"] for one in printed)
    assert ours["request_throughput"] == pytest.approx(128 / seconds, rel=PRINTED)


def test_aiperf(store: Store) -> None:
    folder = "data/aiperf-profile-export/llama3-8b_concurrency1_profile_export"
    printed = json.loads(shared(f"{folder}_aiperf.json").read_text())
    ours = figures(store, shared(f"{folder}.jsonl.gz"), "AIPerf")
    for point, name in (POINTS | {"mean": "avg"}).items():
        for figure in ("time_to_first_token", "inter_token_latency", "request_latency"):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed[figure][name], rel=PRINTED)
        speed = "output_token_throughput_per_user"
        assert ours[f"{point}_{speed}"] == pytest.approx(printed[speed][name], rel=PRINTED)
    for figure in ("request_throughput", "output_token_throughput"):
        assert ours[figure] == pytest.approx(printed[figure]["avg"], rel=PRINTED)


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
        for point in ("p50", "p90", "p95", "p99"):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(printed["percentiles"][point] * factor, rel=1e-6)
    for rate in ("requests", "prompt_tokens", "output_tokens", "tokens"):
        told = metrics[f"{rate}_per_second"]["successful"]["mean"]
        assert ours[f"mean_{rate}_per_second"] == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("provider", ["anyscale", "bedrock", "fireworks", "perplexity", "together"])
def test_llmperf(store: Store, provider: str) -> None:
    """Its files hold no summary; its summaries are pandas quantiles of these columns, rows with any error code dropped."""
    path = shared(f"data/llmperf-leaderboard/{provider}_70b.json")
    rows = [row for row in json.loads(path.read_text()) if row["error_code"] is None]
    ours = figures(store, path, "LLMPerf")
    for figure, column in (("ttft", "ttft_s"), ("end_to_end_latency", "end_to_end_latency_s")):
        values = np.array([row[column] for row in rows]) * 1000
        assert ours[f"mean_{figure}_ms"] == pytest.approx(values.mean(), rel=PRINTED)
        for point, p in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
            assert ours[f"{point}_{figure}_ms"] == pytest.approx(np.quantile(values, p), rel=PRINTED)
    speeds = [row["number_output_tokens"] / row["end_to_end_latency_s"] for row in rows]
    assert ours["mean_request_output_throughput"] == pytest.approx(np.mean(speeds), rel=PRINTED)
