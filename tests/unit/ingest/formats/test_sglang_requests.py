"""SGLang request log: stages, post-processing, aborts."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_time_after_the_last_token_is_post_processing() -> None:
    path = DATA / "sglang_requests" / "good.jsonl"
    assert told_format(path) == "sglang_requests"
    assert requests(path) == [
        {
            "started_ns": 1771434740000000000,
            "ended_ns": 1771434742125000000,
            "e2e_ns": 2125000000,
            "ttft_ns": 750000000,
            "call_ttft_ns": 750000000,
            "streaming": True,
            "queue_ns": 250000000,
            "prefill_ns": 375000000,
            "postprocess_ns": 125000000,
            "after_first_token_ns": 1250000000,
            "unattributed_ns": 125000000,
            "generation_ns": 1250000000,
            "generation_basis": "last_token",
            "flags": [],
            "vantage": "server",
            "status_class": "ok",
            "request_id": "g-1",
            "model": "m-9b",
            "requested_model": "m-9b",
            "finish_reason": "stop",
            "input_tokens": 64,
            "cached_input_tokens": 32,
            "output_tokens": 11,
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1771434745000000000,
            "flags": [],
            "vantage": "server",
            "status_class": "shed",
            "error_type": "abort",
            "request_id": "g-2",
            "finish_reason": "abort",
            "input_tokens": 64,
            "output_tokens": 0,
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "sglang_requests" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(requests(path)) == 1
