"""Facts of the gateway lines, as their page states them, from the reader alone."""

from __future__ import annotations

from tests.support.readers import requests, told_format
from tests.support.shared import shared


def test_the_apisix_line_is_one_unstreamed_request() -> None:
    path = shared("data/gateway-logs/apisix_access.log")
    assert told_format(path) == "apisix"
    assert requests(path) == [
        {
            "started_ns": 1_742_531_280_142_000_000,
            "ended_ns": 1_742_531_283_000_000_000,
            "e2e_ns": 2_858_000_000,
            "streaming": False,
            "network_ns": 0,
            "model_ns": 2_858_000_000,
            "flags": ["approximate_time"],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "5c5e0b95f8d303cb81e4dc456a4b12d9",
            "model": "gpt-4",
            "requested_model": "gpt-4",
            "route": "/anything",
            "input_tokens": 23,
            "output_tokens": 8,
            "attempts": 1,
            "llm_calls": 1,
            "attributes": '{"host": "api.openai.com", "request_type": "ai_chat"}',
        }
    ]


def test_the_envoy_line_keeps_no_address() -> None:
    path = shared("data/gateway-logs/envoy_ai_gateway_access.jsonl")
    assert told_format(path) == "envoy_ai_gateway"
    assert requests(path) == [
        {
            "started_ns": 1_756_572_697_894_000_000,
            "ended_ns": 1_756_572_699_420_000_000,
            "e2e_ns": 1_526_000_000,
            "network_ns": 1_075_000_000,
            "model_ns": 451_000_000,
            "flags": ["upstream_to_first_byte"],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "83b63da3-45a9-4196-98b8-1a7f697d6d8d",
            "model": "gpt-4o-mini",
            "requested_model": "gpt-4o-mini",
            "provider": "default/tars/route/aigw-run/rule/0/ref/0",
            "route": "httproute/default/aigw-run/rule/0/match/0/*",
            "input_tokens": 15,
            "output_tokens": 7,
            "llm_calls": 1,
            "attempts": 1,
            "attributes": '{"path": "/v1/chat/completions", "upstream_service_ns": 451000000}',
        }
    ]
