"""GenAI-Perf: first response of several, none of one."""

from __future__ import annotations

from array import array

from tests.support.readers import DATA, rejects, requests, told_format


def test_a_single_response_was_not_streamed() -> None:
    path = DATA / "genai_perf" / "good.json"
    assert told_format(path) == "genai_perf"
    assert requests(path) == [
        {
            "started_ns": 1761254300000000001,
            "ended_ns": 1761254300450000001,
            "e2e_ns": 450000000,
            "ttft_ns": 200000000,
            "call_ttft_ns": 200000000,
            "streaming": True,
            "before_first_token_ns": 200000000,
            "after_first_token_ns": 250000000,
            "flags": ["ttft_split"],
            "itl_max_ns": 150000000,
            "itl_basis": "chunk",
            "token_gaps_ns": array("q", [100_000_000, 150_000_000]),
            "vantage": "client",
            "status_class": "ok",
            "scenario": "concurrency 4",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1761254301000000001,
            "ended_ns": 1761254301700000001,
            "e2e_ns": 700000000,
            "streaming": False,
            "model_ns": 700000000,
            "flags": [],
            "vantage": "client",
            "status_class": "ok",
            "scenario": "concurrency 4",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "genai_perf" / "torn.json"
    assert rejects(path) == [("torn_line", 22)]
    assert len(requests(path)) == 1
