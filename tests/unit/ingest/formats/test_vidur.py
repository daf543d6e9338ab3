"""Vidur: simulated stages."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_the_end_of_the_prefill_is_the_first_token() -> None:
    path = DATA / "vidur" / "good.csv"
    assert told_format(path) == "vidur"
    assert requests(path) == [
        {
            "e2e_ns": 2500000000,
            "ttft_ns": 750000000,
            "call_ttft_ns": 750000000,
            "queue_ns": 250000000,
            "prefill_ns": 500000000,
            "decode_ns": 1750000000,
            "unattributed_ns": 0,
            "generation_ns": 1750000000,
            "generation_basis": "engine",
            "flags": ["simulated"],
            "vantage": "server",
            "status_class": "ok",
            "request_id": "0",
            "input_tokens": 1000,
            "output_tokens": 36,
            "preemptions": 0.0,
            "attributes": '{"inter_arrival_ns": 0}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "e2e_ns": 3000000000,
            "ttft_ns": 1500000000,
            "call_ttft_ns": 1500000000,
            "queue_ns": 1000000000,
            "prefill_ns": 500000000,
            "decode_ns": 1500000000,
            "unattributed_ns": 0,
            "flags": ["simulated"],
            "vantage": "server",
            "status_class": "ok",
            "request_id": "1",
            "input_tokens": 200,
            "output_tokens": 1,
            "preemptions": 2.0,
            "attributes": '{"inter_arrival_ns": 500000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "vidur" / "torn.csv"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 1
