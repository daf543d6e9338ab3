"""Mooncake: blocks seen before are counted, cached tokens stay unknown."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_blocks_seen_before_are_counted_beside() -> None:
    path = DATA / "mooncake" / "good.jsonl"
    assert told_format(path) == "mooncake"
    assert requests(path) == [
        {
            "input_tokens": 1200,
            "output_tokens": 50,
            "status_class": "ok",
            "attributes": '{"prefix_blocks": 3, "prefix_blocks_seen_before": 0, "trace_offset_ns": 0}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "input_tokens": 700,
            "output_tokens": 9,
            "status_class": "ok",
            "attributes": '{"prefix_blocks": 2, "prefix_blocks_seen_before": 1, "trace_offset_ns": 3000000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "mooncake" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(requests(path)) == 1
