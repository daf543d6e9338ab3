"""LiteLLM: three spellings of time, replays, failures, payloads."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.readers import DATA, rejects, requests, told_format


def test_replays_cost_nothing_and_failures_have_no_duration() -> None:
    path = DATA / "litellm" / "good.jsonl"
    assert told_format(path) == "litellm"
    assert requests(path) == [
        {
            "started_ns": 1794909600000000000,
            "ended_ns": 1794909602000000000,
            "e2e_ns": 2000000000,
            "ttft_ns": 500000000,
            "call_ttft_ns": 500000000,
            "streaming": True,
            "before_first_token_ns": 500000000,
            "after_first_token_ns": 1500000000,
            "generation_ns": 1500000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "request_id": "r-1",
            "model": "m-9b",
            "requested_model": "small",
            "provider": "openai",
            "user": "u-1",
            "tenant": "team-a",
            "session": "s-1",
            "scenario": "chat",
            "attributes": '{"call_type": "acompletion", "tags": ["chat"]}',
            "input_tokens": 1000,
            "cached_input_tokens": 400,
            "output_tokens": 51,
            "vantage": "gateway",
            "status_class": "ok",
            "source_cost_usd": 1500000000,
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1794906060000000000,
            "ended_ns": 1794906060020000000,
            "e2e_ns": 20000000,
            "streaming": False,
            "gateway_ns": 20000000,
            "flags": [],
            "request_id": "r-2",
            "model": "m-9b",
            "requested_model": "small",
            "provider": "openai",
            "user": "u-2",
            "session": "s-2",
            "attributes": '{"call_type": "acompletion", "stored_input_tokens": 900, "stored_output_tokens": 80}',
            "input_tokens": 0,
            "output_tokens": 0,
            "vantage": "gateway",
            "status_class": "ok",
            "response_cached": True,
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1794909840500000000,
            "flags": [],
            "request_id": "r-3",
            "model": "m-9b",
            "requested_model": "small",
            "provider": "openai",
            "user": "u-2",
            "session": "s-3",
            "attributes": '{"call_type": "acompletion"}',
            "vantage": "gateway",
            "status_class": "shed",
            "http_status": 429,
            "error_type": "RateLimitError",
            "source_cost_usd": 0,
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_table_dump_reads_as_the_lines_do() -> None:
    path = DATA / "litellm" / "good.csv"
    assert told_format(path) == "litellm"
    assert requests(path) == [
        {
            "started_ns": 1794909600000000000,
            "ended_ns": 1794909602000000000,
            "e2e_ns": 2000000000,
            "ttft_ns": 500000000,
            "call_ttft_ns": 500000000,
            "streaming": True,
            "before_first_token_ns": 500000000,
            "after_first_token_ns": 1500000000,
            "generation_ns": 1500000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "request_id": "r-1",
            "model": "m-9b",
            "requested_model": "small",
            "provider": "openai",
            "user": "u-1",
            "tenant": "team-a",
            "session": "s-1",
            "scenario": "chat",
            "attributes": '{"call_type": "acompletion", "tags": ["chat"]}',
            "input_tokens": 1000,
            "cached_input_tokens": 400,
            "output_tokens": 51,
            "vantage": "gateway",
            "status_class": "ok",
            "source_cost_usd": 1500000000,
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1794906060000000000,
            "ended_ns": 1794906060020000000,
            "e2e_ns": 20000000,
            "streaming": False,
            "gateway_ns": 20000000,
            "flags": [],
            "request_id": "r-2",
            "model": "m-9b",
            "requested_model": "small",
            "provider": "openai",
            "user": "u-2",
            "session": "s-2",
            "attributes": '{"call_type": "acompletion", "stored_input_tokens": 900, "stored_output_tokens": 80}',
            "input_tokens": 0,
            "output_tokens": 0,
            "vantage": "gateway",
            "status_class": "ok",
            "response_cached": True,
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_payload_tells_the_gateways_own_time() -> None:
    path = DATA / "litellm" / "callback.json"
    assert told_format(path) == "litellm"
    assert requests(path) == [
        {
            "started_ns": 1794916800000000000,
            "ended_ns": 1794916803000000000,
            "e2e_ns": 3000000000,
            "ttft_ns": 1000000000,
            "call_ttft_ns": 1000000000,
            "streaming": True,
            "gateway_ns": 12500000,
            "before_first_token_ns": 987500000,
            "after_first_token_ns": 2000000000,
            "generation_ns": 2000000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "request_id": "r-4",
            "model": "claude-x",
            "requested_model": "claude",
            "provider": "anthropic",
            "user": "u-9",
            "tenant": "red",
            "session": "t-4",
            "scenario": "batch",
            "attributes": '{"call_type": "acompletion", "tags": ["batch"]}',
            "input_tokens": 200,
            "cached_input_tokens": 100,
            "output_tokens": 21,
            "vantage": "gateway",
            "status_class": "ok",
            "finish_reason": "stop",
            "source_cost_usd": 10000000000,
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "litellm" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 2


def test_retries_fallbacks_and_the_end_user_of_the_key_stand_in_the_metadata(tmp_path: Path) -> None:
    row = json.loads((DATA / "litellm" / "good.jsonl").read_text().splitlines()[0])
    told = {
        "attempted_retries": 2,
        "attempted_fallbacks": 1,
        "user_api_key_end_user_id": "e-1",
        "user_api_key_user_id": "k-1",
    }
    row |= {"end_user": "", "user": None, "metadata": json.dumps(told)}
    (tmp_path / "spend.jsonl").write_text(json.dumps(row) + "\n")
    (found,) = requests(tmp_path / "spend.jsonl")
    assert (found["attempts"], found["degraded"], found["user"]) == (3, True, "e-1")
