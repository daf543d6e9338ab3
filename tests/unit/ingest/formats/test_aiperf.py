"""AIPerf records: units, clocks, phases."""

from __future__ import annotations

from array import array

from tests.support.readers import DATA, refusal, rejects, requests, told_format


def test_latencies_carry_their_unit_and_warm_up_is_no_request() -> None:
    path = DATA / "aiperf" / "good.jsonl"
    assert told_format(path) == "aiperf"
    assert requests(path) == [
        {
            "started_ns": 1761254300363258832,
            "ended_ns": 1761254301363258900,
            "e2e_ns": 1000500000,
            "ttft_ns": 50500000,
            "call_ttft_ns": 50500000,
            "streaming": True,
            "network_ns": 2000000,
            "before_first_token_ns": 48500000,
            "after_first_token_ns": 950000000,
            "generation_ns": 950000000,
            "generation_basis": "response_end",
            "flags": ["ttft_split"],
            "itl_max_ns": 100000000,
            "itl_basis": "chunk",
            "token_gaps_ns": array("q", [90_250_000, 100_000_000, 95_500_000]),
            "request_id": "q-1",
            "session": "c-1",
            "vantage": "client",
            "ttfa_ns": 60500000,
            "input_tokens": 100,
            "output_tokens": 11,
            "status_class": "ok",
            "attributes": '{"conversation_id": "conv-1", "turn_index": 0, "worker_id": "w-1"}',
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1761254302363258832,
            "flags": [],
            "request_id": "q-3",
            "vantage": "client",
            "status_class": "cancelled",
            "http_status": 499,
            "error_type": "RequestCancellationError",
            "attributes": '{"worker_id": "w-1"}',
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == [("not_a_request", 2)]


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "aiperf" / "torn.jsonl"
    assert rejects(path) == [("not_a_request", 2), ("torn_line", 3)]
    assert len(requests(path)) == 1


def test_the_summary_is_refused() -> None:
    assert (
        refusal(DATA / "aiperf" / "summary.json")
        == "summary.json is an AIPerf summary: it has percentiles but no requests. Load profile_export.jsonl of the same run"
    )
