"""Facts of the LiteLLM rows, as their page states them, from the reader alone."""

from __future__ import annotations

from tests.support.readers import notes, requests, told_format
from tests.support.shared import shared

FOLDER = "data/litellm-logs"
TIMES = {"started_ns": 1737710446847371000, "ended_ns": 1737710446851954000, "e2e_ns": 4583000, "model_ns": 4583000}
CALL = {
    "model": "gpt-4o",
    "requested_model": "gpt-4o",
    "provider": "openai",
    "vantage": "gateway",
    "input_tokens": 10,
    "output_tokens": 20,
    "source_cost_usd": 225_000_000,
    "status_class": "ok",
    "llm_calls": 1,
    "attempts": 1,
    "attributes": '{"call_type": "acompletion"}',
}


def test_the_spend_row_was_not_streamed_for_its_first_token_is_its_end() -> None:
    path = shared(f"{FOLDER}/spend_logs_row.json")
    assert told_format(path) == "litellm"
    own = {
        "request_id": "chatcmpl-2283081b-dc89-41f6-93e6-d4f914774027",
        "session": "1234567890",
        "streaming": False,
        "flags": [],
    }
    assert requests(path) == [TIMES | CALL | own]
    assert notes(path) == ["times without zone were read as UTC; timezone in the mapping file sets another"]


def test_the_payload_was_streamed_and_its_first_token_is_missing() -> None:
    path = shared(f"{FOLDER}/standard_logging_payload.json")
    assert told_format(path) == "litellm"
    own = {
        "request_id": "chatcmpl-2299b6a2-82a3-465a-b47c-04e685a2227f",
        "streaming": True,
        "finish_reason": "stop",
        "flags": ["ttft_missing"],
    }
    assert requests(path) == [TIMES | CALL | own]
