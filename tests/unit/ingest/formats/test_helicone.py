"""Helicone: properties, first tokens, failures."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_properties_carry_scenario_and_tenant() -> None:
    path = DATA / "helicone" / "good.jsonl"
    assert told_format(path) == "helicone"
    assert requests(path) == [
        {
            "started_ns": 1788108697894000000,
            "ended_ns": 1788108699394000000,
            "e2e_ns": 1500000000,
            "ttft_ns": 500000000,
            "call_ttft_ns": 500000000,
            "streaming": True,
            "before_first_token_ns": 500000000,
            "after_first_token_ns": 1000000000,
            "generation_ns": 1000000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "input_tokens": 15,
            "cached_input_tokens": 5,
            "output_tokens": 11,
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "h-1",
            "model": "m-9b",
            "requested_model": "m",
            "provider": "openai",
            "user": "mail-72497f475e4f76d0",
            "tenant": "red",
            "scenario": "rag",
            "source_cost_usd": 200000000,
            "attributes": '{"properties": ["scenario", "team"]}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1788108720000000000,
            "ended_ns": 1788108720040000000,
            "e2e_ns": 40000000,
            "model_ns": 40000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "error",
            "http_status": 500,
            "request_id": "h-2",
            "model": "m",
            "requested_model": "m",
            "provider": "openai",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "helicone" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(requests(path)) == 1
