"""Cloudflare AI Gateway: cached and refused answers."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_a_cached_answer_had_no_model_behind_it() -> None:
    path = DATA / "cloudflare" / "good.json"
    assert told_format(path) == "cloudflare"
    assert requests(path) == [
        {
            "started_ns": 1788108697894000000,
            "ended_ns": 1788108699394000000,
            "e2e_ns": 1500000000,
            "model_ns": 1500000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "c-1",
            "model": "m-9b",
            "requested_model": "m-9b",
            "provider": "openai",
            "user": "u-1",
            "tenant": "red",
            "route": "chat/completions",
            "input_tokens": 15,
            "output_tokens": 7,
            "source_cost_usd": 120000000,
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1788108698000000000,
            "ended_ns": 1788108698004000000,
            "e2e_ns": 4000000,
            "gateway_ns": 4000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "c-2",
            "model": "m-9b",
            "requested_model": "m-9b",
            "provider": "openai",
            "input_tokens": 0,
            "output_tokens": 0,
            "response_cached": True,
            "attributes": '{"stored_input_tokens": 15, "stored_output_tokens": 7}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1788108699000000000,
            "ended_ns": 1788108699020000000,
            "e2e_ns": 20000000,
            "model_ns": 20000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "shed",
            "http_status": 429,
            "request_id": "c-3",
            "model": "m-9b",
            "requested_model": "m-9b",
            "provider": "openai",
            "input_tokens": 0,
            "output_tokens": 0,
            "source_cost_usd": 0,
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "cloudflare" / "torn.json"
    assert rejects(path) == [("torn_line", 35)]
    assert len(requests(path)) == 2
