"""GuideLLM: groups of requests, clocks of the generator."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.readers import DATA, rejects, requests, runs, told_format


def test_requests_cut_off_by_the_end_of_the_run_are_cancelled() -> None:
    path = DATA / "guidellm" / "good.json"
    assert told_format(path) == "guidellm"
    assert requests(path) == [
        {
            "started_ns": 1776823677250000000,
            "ended_ns": 1776823678750000000,
            "e2e_ns": 1500000000,
            "ttft_ns": 250000000,
            "call_ttft_ns": 250000000,
            "streaming": True,
            "before_first_token_ns": 250000000,
            "after_first_token_ns": 1250000000,
            "generation_ns": 1000000000,
            "generation_basis": "last_token",
            "flags": ["ttft_split"],
            "request_id": "g-1",
            "session": "c-1",
            "vantage": "client",
            "status_class": "ok",
            "input_tokens": 199,
            "cached_input_tokens": 64,
            "output_tokens": 5,
            "attributes": '{"generator_wait_ns": 750000000, "response_id": "cmpl-1"}',
            "scenario": "constant, rate 5.0",
            "model": "m-9b",
            "requested_model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1776823679000000000,
            "ended_ns": 1776823679500000000,
            "e2e_ns": 500000000,
            "model_ns": 500000000,
            "flags": [],
            "request_id": "g-2",
            "vantage": "client",
            "status_class": "shed",
            "error_type": "RateLimitError",
            "input_tokens": 199,
            "cached_input_tokens": 64,
            "attributes": '{"response_id": "cmpl-2"}',
            "scenario": "constant, rate 5.0",
            "model": "m-9b",
            "requested_model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1776823680000000000,
            "flags": [],
            "request_id": "g-3",
            "vantage": "client",
            "status_class": "cancelled",
            "input_tokens": 199,
            "cached_input_tokens": 64,
            "output_tokens": 2,
            "attributes": '{"response_id": "cmpl-3"}',
            "scenario": "constant, rate 5.0",
            "model": "m-9b",
            "requested_model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "guidellm" / "torn.json"
    assert rejects(path) == [("torn_line", 1)]
    assert len(requests(path)) == 1


def test_the_measured_time_of_a_benchmark_is_told_where_the_report_states_it(tmp_path: Path) -> None:
    path = DATA / "guidellm" / "good.json"
    assert runs(path) == [None]
    document = json.loads(path.read_text())
    document["benchmarks"][0]["scheduler_metrics"] = {
        "measure_start_time": 1776823677.25,
        "measure_end_time": 1776823682.5,
        "end_time": 1776823690.0,
    }
    told = tmp_path / "report.json"
    told.write_text(json.dumps(document))
    assert runs(told) == [5_250_000_000]
