"""APISIX lines: logged at the end, tries, defaults of 0."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_tries_zeros_and_first_tokens_are_told_apart() -> None:
    path = DATA / "apisix" / "good.log"
    assert told_format(path) == "apisix"
    assert requests(path) == [
        {
            "started_ns": 1742531280142000000,
            "ended_ns": 1742531283000000000,
            "e2e_ns": 2858000000,
            "streaming": False,
            "network_ns": 0,
            "model_ns": 2858000000,
            "flags": ["approximate_time"],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "id-1",
            "model": "m-9b",
            "requested_model": "m",
            "route": "/chat",
            "input_tokens": 23,
            "output_tokens": 8,
            "attempts": 1,
            "attributes": '{"host": "api.example", "request_type": "ai_chat"}',
            "llm_calls": 1,
        },
        {
            "started_ns": 1742531340000000000,
            "ended_ns": 1742531343000000000,
            "e2e_ns": 3000000000,
            "ttft_ns": 700000000,
            "call_ttft_ns": 700000000,
            "streaming": True,
            "before_first_token_ns": 700000000,
            "after_first_token_ns": 2300000000,
            "generation_ns": 2300000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split", "approximate_time"],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "id-2",
            "model": "m-9b",
            "requested_model": "m",
            "user": "u-7",
            "tenant": "team-a",
            "route": "/chat",
            "input_tokens": 23,
            "output_tokens": 11,
            "attempts": 2,
            "attributes": '{"host": "api.example", "request_type": "ai_stream"}',
            "llm_calls": 1,
        },
        {
            "started_ns": 1742531343000000000,
            "ended_ns": 1742531403000000000,
            "e2e_ns": 60000000000,
            "streaming": False,
            "network_ns": 0,
            "model_ns": 60000000000,
            "flags": ["approximate_time"],
            "vantage": "gateway",
            "status_class": "timeout",
            "http_status": 504,
            "request_id": "id-3",
            "requested_model": "m",
            "route": "/chat",
            "attempts": 1,
            "attributes": '{"host": "api.example", "request_type": "ai_chat"}',
            "llm_calls": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "apisix" / "torn.log"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 2
