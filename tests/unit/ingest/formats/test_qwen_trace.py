"""Qwen trace: turns of conversations."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_a_turn_knows_its_parent_and_no_wall_time() -> None:
    path = DATA / "qwen_trace" / "good.jsonl"
    assert told_format(path) == "qwen_trace"
    assert requests(path) == [
        {
            "request_id": "1",
            "scenario": "text",
            "input_tokens": 181,
            "output_tokens": 363,
            "status_class": "ok",
            "attributes": '{"trace_offset_ns": 61114000000, "turn": 1}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "request_id": "2",
            "scenario": "search",
            "input_tokens": 10,
            "output_tokens": 3,
            "status_class": "ok",
            "attributes": '{"parent_chat_id": "1", "trace_offset_ns": 62500000000, "turn": 2}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "qwen_trace" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(requests(path)) == 1
