"""BurstGPT: relative times stay relative, no answer is a failure."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_relative_times_stay_relative_and_no_answer_is_a_failure() -> None:
    path = DATA / "burstgpt" / "good.csv"
    assert told_format(path) == "burstgpt"
    assert requests(path) == [
        {
            "e2e_ns": 2500000000,
            "model_ns": 2500000000,
            "flags": [],
            "model": "ChatGPT",
            "requested_model": "ChatGPT",
            "scenario": "Conversation log",
            "session": "s-1",
            "input_tokens": 472,
            "output_tokens": 18,
            "status_class": "ok",
            "attributes": '{"trace_offset_ns": 5000000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "flags": [],
            "model": "GPT-4",
            "requested_model": "GPT-4",
            "scenario": "API log",
            "session": "s-2",
            "input_tokens": 1087,
            "output_tokens": 0,
            "status_class": "error",
            "attributes": '{"trace_offset_ns": 45000000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "burstgpt" / "torn.csv"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 1
