"""LLMPerf: zeros of failures, short answers, names of files."""

from __future__ import annotations

from pathlib import Path

from tests.support.loads import load_bytes
from tests.support.readers import DATA, rejects, requests, told_format


def test_failures_have_no_latency_and_short_answers_are_flagged() -> None:
    path = DATA / "llmperf" / "m-9b_550_150_individual_responses.json"
    assert told_format(path) == "llmperf"
    assert requests(path) == [
        {
            "e2e_ns": 2300000000,
            "ttft_ns": 300000000,
            "call_ttft_ns": 300000000,
            "streaming": True,
            "before_first_token_ns": 300000000,
            "after_first_token_ns": 2000000000,
            "generation_ns": 2000000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "vantage": "client",
            "status_class": "ok",
            "input_tokens": 550,
            "output_tokens": 21,
            "scenario": "550 to 150",
            "model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "flags": [],
            "vantage": "client",
            "status_class": "shed",
            "http_status": 429,
            "error_type": "429",
            "input_tokens": 550,
            "output_tokens": 1,
            "scenario": "550 to 150",
            "model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "e2e_ns": 1300000000,
            "ttft_ns": 500000000,
            "call_ttft_ns": 500000000,
            "streaming": True,
            "before_first_token_ns": 500000000,
            "after_first_token_ns": 800000000,
            "generation_ns": 800000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split", "short_answer"],
            "vantage": "client",
            "status_class": "ok",
            "input_tokens": 550,
            "output_tokens": 9,
            "scenario": "550 to 150",
            "model": "m-9b",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "llmperf" / "torn.json"
    assert rejects(path) == [("torn_line", 22)]
    assert len(requests(path)) == 2


def test_the_receipt_says_that_rows_without_times_belong_to_no_week(tmp_path: Path) -> None:
    path = DATA / "llmperf" / "m-9b_550_150_individual_responses.json"
    receipt, found = load_bytes(tmp_path, path.read_bytes(), path.name)
    assert (receipt.read, found["started_ns"].null_count()) == (3, 3)
    assert "3 rows have no time, so their requests belong to no week" in receipt.notes
