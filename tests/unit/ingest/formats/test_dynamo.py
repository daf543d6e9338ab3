"""Dynamo: only the end of a request is one."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_queue_and_prefill_are_kept_and_decode_is_not_derived() -> None:
    path = DATA / "dynamo" / "good.jsonl"
    assert told_format(path) == "dynamo"
    assert requests(path) == [
        {
            "started_ns": 1771434740000000000,
            "ended_ns": 1771434741350000000,
            "e2e_ns": 1350000000,
            "ttft_ns": 350000000,
            "call_ttft_ns": 350000000,
            "queue_ns": 100500000,
            "prefill_ns": 200250000,
            "after_first_token_ns": 1000000000,
            "unattributed_ns": 49250000,
            "generation_ns": 1000000000,
            "generation_basis": "response_end",
            "flags": [],
            "vantage": "server",
            "status_class": "ok",
            "request_id": "x-1",
            "model": "m-9b",
            "requested_model": "m-9b",
            "session": "s-1",
            "scenario": "coder",
            "replica": "9",
            "input_tokens": 1000,
            "cached_input_tokens": 640,
            "output_tokens": 11,
            "queue_depth": 3.0,
            "attributes": '{"engine_request_id": "d-1", "kv_hit_rate": 0.64}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == [("not_a_request", 1)]


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "dynamo" / "torn.jsonl"
    assert rejects(path) == [("not_a_request", 1), ("torn_line", 2)]
