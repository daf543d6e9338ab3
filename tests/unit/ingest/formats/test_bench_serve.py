"""Bench serve: monotonic starts, gaps, failures, runs without arrays."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from ingest.errors import UnusableFormat
from tests.support.readers import DATA, notes, rejects, requests, rows, runs, told_format


def test_starts_are_counted_from_the_end_of_the_run() -> None:
    path = DATA / "bench_serve" / "good.json"
    assert told_format(path) == "bench_serve"
    assert requests(path) == [
        {
            "started_ns": 1781956805500000000,
            "ended_ns": 1781956805610000000,
            "e2e_ns": 110000000,
            "ttft_ns": 50000000,
            "call_ttft_ns": 50000000,
            "streaming": True,
            "before_first_token_ns": 50000000,
            "after_first_token_ns": 60000000,
            "generation_ns": 60000000,
            "generation_basis": "last_token",
            "flags": ["ttft_split", "approximate_time"],
            "itl_max_ns": 30000000,
            "itl_basis": "chunk",
            "token_gaps_ns": array("q", [20_000_000, 30_000_000, 10_000_000]),
            "vantage": "client",
            "status_class": "ok",
            "input_tokens": 100,
            "output_tokens": 4,
            "model": "m-9b",
            "requested_model": "m-9b",
            "scenario": "rate inf, concurrency 2",
            "attributes": '{"backend": "vllm", "date": "20260620-120010"}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1781956805750000000,
            "ended_ns": 1781956805812500000,
            "e2e_ns": 62500000,
            "ttft_ns": 62500000,
            "call_ttft_ns": 62500000,
            "streaming": True,
            "before_first_token_ns": 62500000,
            "after_first_token_ns": 0,
            "flags": ["ttft_split", "approximate_time"],
            "vantage": "client",
            "status_class": "ok",
            "input_tokens": 150,
            "output_tokens": 1,
            "model": "m-9b",
            "requested_model": "m-9b",
            "scenario": "rate inf, concurrency 2",
            "attributes": '{"backend": "vllm", "date": "20260620-120010"}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1781956806250000000,
            "flags": ["approximate_time"],
            "vantage": "client",
            "status_class": "timeout",
            "error_type": "error",
            "input_tokens": 120,
            "model": "m-9b",
            "requested_model": "m-9b",
            "scenario": "rate inf, concurrency 2",
            "attributes": '{"backend": "vllm", "date": "20260620-120010"}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_run_without_arrays_is_set_apart_among_others() -> None:
    path = DATA / "bench_serve" / "lines.jsonl"
    assert rejects(path) == [("not_a_request", 1)]
    assert len(requests(path)) == 3


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "bench_serve" / "torn.json"
    assert rejects(path) == [("torn_line", 1)]


def test_a_run_without_arrays_alone_is_refused_with_the_way_out() -> None:
    with pytest.raises(UnusableFormat, match="Run the benchmark with --save-detailed"):
        rows(DATA / "bench_serve" / "summary.json")


def test_prompts_without_a_row_are_said() -> None:
    assert notes(DATA / "bench_serve" / "survivors.json") == [
        "latencies count from the sending of a request; time that it waited in the load generator before is not in them",
        "2 of 3 prompts have no row, so figures tell of survivors alone",
        "the runs tell one time of day, at their end: starts were counted from it, read as UTC",
    ]


def test_the_duration_of_the_run_is_told_where_the_file_states_it() -> None:
    assert runs(DATA / "bench_serve" / "good.json") == [4_500_000_000]


@pytest.mark.parametrize("rate", ['"inf"', "Infinity"])
def test_a_run_without_a_rate_is_told_alike_as_text_and_as_python_writes_it(rate: str, tmp_path: Path) -> None:
    line = f'{{"backend": "vllm", "completed": 1, "request_rate": {rate}, "ttfts": [0.1], "input_lens": [5], "output_lens": [2]}}'
    (tmp_path / "a.json").write_text(line)
    assert [row["scenario"] for row in requests(tmp_path / "a.json")] == ["rate inf"]
