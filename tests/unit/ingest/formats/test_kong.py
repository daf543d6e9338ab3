"""Kong: own time, network, cache hits, first tokens."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_own_time_network_and_cache_hits_are_told_apart() -> None:
    path = DATA / "kong" / "good.jsonl"
    assert told_format(path) == "kong"
    assert requests(path) == [
        {
            "started_ns": 1771434740123000000,
            "ended_ns": 1771434741323000000,
            "e2e_ns": 1200000000,
            "gateway_ns": 15000000,
            "network_ns": 85000000,
            "model_ns": 1100000000,
            "flags": [],
            "input_tokens": 30,
            "output_tokens": 12,
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "k-1",
            "model": "m-9b",
            "requested_model": "m",
            "provider": "openai",
            "user": "u-1",
            "tenant": "team-a",
            "route": "chat",
            "source_cost_usd": 400000000,
            "attributes": '{"llm_latency_ns": 1090000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1771434740123000000,
            "ended_ns": 1771434740132000000,
            "e2e_ns": 9000000,
            "gateway_ns": 9000000,
            "flags": [],
            "input_tokens": 0,
            "output_tokens": 0,
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "k-2",
            "model": "m",
            "requested_model": "m",
            "provider": "openai",
            "user": "u-1",
            "tenant": "team-a",
            "route": "chat",
            "response_cached": True,
            "attributes": '{"stored_input_tokens": 30, "stored_output_tokens": 12}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1771434740123000000,
            "ended_ns": 1771434742123000000,
            "e2e_ns": 2000000000,
            "ttft_ns": 300000000,
            "call_ttft_ns": 300000000,
            "streaming": True,
            "gateway_ns": 10000000,
            "before_first_token_ns": 290000000,
            "after_first_token_ns": 1700000000,
            "generation_ns": 1700000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "input_tokens": 30,
            "output_tokens": 11,
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "k-3",
            "model": "m-9b",
            "requested_model": "m",
            "provider": "openai",
            "user": "u-1",
            "tenant": "team-a",
            "route": "chat",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "kong" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 2
