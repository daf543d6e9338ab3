"""Reports without requests are refused by the name of the file that works."""

from __future__ import annotations

import pytest

from ingest.errors import UnusableFormat
from tests.support.readers import refusal, rows, told_format
from tests.support.shared import shared

FOLDER = "data/aggregate-only-reports"


def test_the_inference_perf_summary_is_refused() -> None:
    name = "inference_perf_stage_5_lifecycle_metrics.json"
    assert refusal(shared(f"{FOLDER}/{name}")) == (
        f"{name} holds totals only. Load per_request_lifecycle_metrics.json of the same run"
    )


def test_the_bench_summary_is_refused_after_its_arrays_were_looked_for() -> None:
    path = shared(f"{FOLDER}/sglang_bench_serving_online.jsonl")
    assert told_format(path) == "bench_serve"
    with pytest.raises(UnusableFormat, match="is a bench summary: it has percentiles but no requests"):
        rows(path)
