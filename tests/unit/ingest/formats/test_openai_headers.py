"""OpenAI headers: time to the first byte is neither first token nor end."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_processing_time_is_the_models_only_where_not_streamed() -> None:
    path = DATA / "openai_headers" / "good.jsonl"
    assert told_format(path) == "openai_headers"
    assert requests(path) == [
        {
            "started_ns": 1763640366000000000,
            "ended_ns": 1763640366510000000,
            "e2e_ns": 510000000,
            "streaming": False,
            "gateway_ns": 12000000,
            "model_ns": 498000000,
            "flags": ["approximate_time"],
            "input_tokens": 23,
            "cached_input_tokens": 0,
            "output_tokens": 7,
            "vantage": "server",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "chatcmpl-1",
            "model": "gpt-x-1",
            "requested_model": "gpt-x",
            "provider": "openai",
            "route": "/v1/chat/completions",
            "attributes": '{"openai_processing_ns": 498000000, "upstream_service_ns": 510000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1763640369000000000,
            "streaming": True,
            "flags": ["approximate_time", "time_to_first_byte"],
            "input_tokens": 50,
            "cached_input_tokens": 10,
            "output_tokens": 9,
            "vantage": "server",
            "status_class": "ok",
            "http_status": 200,
            "model": "gpt-x",
            "requested_model": "gpt-x",
            "provider": "openai",
            "route": "/v1/responses",
            "attributes": '{"openai_processing_ns": 120000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1763640369985000000,
            "ended_ns": 1763640370000000000,
            "e2e_ns": 15000000,
            "streaming": False,
            "model_ns": 15000000,
            "flags": ["approximate_time"],
            "vantage": "server",
            "status_class": "rejected",
            "http_status": 400,
            "model": "gpt-x",
            "requested_model": "gpt-x",
            "provider": "openai",
            "route": "/v1/chat/completions",
            "attributes": '{"openai_processing_ns": 15000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "openai_headers" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 2
