"""inference-perf: monotonic clock, chunks, labels."""

from __future__ import annotations

from array import array

from tests.support.readers import DATA, refusal, rejects, requests, told_format


def test_a_monotonic_clock_gives_durations_and_no_dates() -> None:
    path = DATA / "inference_perf" / "good.json"
    assert told_format(path) == "inference_perf"
    assert requests(path) == [
        {
            "e2e_ns": 2000000000,
            "ttft_ns": 250000000,
            "call_ttft_ns": 250000000,
            "streaming": True,
            "before_first_token_ns": 250000000,
            "after_first_token_ns": 1750000000,
            "generation_ns": 1500000000,
            "generation_basis": "last_token",
            "flags": ["ttft_split"],
            "itl_max_ns": 1000000000,
            "itl_basis": "chunk",
            "token_gaps_ns": array("q", [500_000_000, 1_000_000_000]),
            "input_tokens": 64,
            "cached_input_tokens": 16,
            "output_tokens": 5,
            "vantage": "client",
            "status_class": "ok",
            "model": "m-9b",
            "scenario": "stage 2",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "e2e_ns": 250000000,
            "model_ns": 250000000,
            "flags": [],
            "input_tokens": 10,
            "vantage": "client",
            "status_class": "timeout",
            "error_type": "TimeoutError",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "inference_perf" / "torn.json"
    assert rejects(path) == [("torn_line", 34)]
    assert len(requests(path)) == 1


def test_the_summary_is_refused() -> None:
    assert (
        refusal(DATA / "inference_perf" / "summary.json")
        == "summary.json holds totals only. Load per_request_lifecycle_metrics.json of the same run"
    )
