"""Envoy AI Gateway: arrival, upstream, clients that went away."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_a_client_that_left_is_cancelled_and_a_health_check_is_no_request() -> None:
    path = DATA / "envoy_ai_gateway" / "good.jsonl"
    assert told_format(path) == "envoy_ai_gateway"
    assert requests(path) == [
        {
            "started_ns": 1788108697894000000,
            "ended_ns": 1788108699394000000,
            "e2e_ns": 1500000000,
            "network_ns": 1050000000,
            "model_ns": 450000000,
            "flags": ["upstream_to_first_byte"],
            "input_tokens": 15,
            "output_tokens": 7,
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "e-1",
            "model": "m-9b",
            "requested_model": "m-9b",
            "provider": "backend-a",
            "user": "u-1",
            "route": "chat",
            "attributes": '{"path": "/v1/chat/completions", "upstream_service_ns": 450000000}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1788108697894000000,
            "ended_ns": 1788108698194000000,
            "e2e_ns": 300000000,
            "model_ns": 300000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "cancelled",
            "request_id": "e-2",
            "model": "m-9b",
            "requested_model": "m-9b",
            "provider": "backend-a",
            "user": "u-1",
            "route": "chat",
            "attributes": '{"path": "/v1/chat/completions", "response_flags": "DC"}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == [("not_a_request", 3)]


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "envoy_ai_gateway" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 2
