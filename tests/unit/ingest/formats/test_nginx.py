"""nginx: logged at the end, tries, header times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.loads import counts, load_bytes
from tests.support.readers import DATA, rejects, requests, told_format


def test_text_lines_tell_tries_and_a_believable_first_token() -> None:
    path = DATA / "nginx" / "good.log"
    assert told_format(path) == "nginx"
    assert requests(path) == [
        {
            "started_ns": 1774067280500000000,
            "ended_ns": 1774067283000000000,
            "e2e_ns": 2500000000,
            "ttft_ns": 400000000,
            "call_ttft_ns": 400000000,
            "streaming": True,
            "before_first_token_ns": 400000000,
            "after_first_token_ns": 2100000000,
            "flags": ["ttft_split", "approximate_time"],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "route": "/v1/chat/completions",
            "attempts": 1,
            "llm_calls": 1,
        },
        {
            "started_ns": 1774067288100000000,
            "ended_ns": 1774067289000000000,
            "e2e_ns": 900000000,
            "network_ns": 90000000,
            "model_ns": 810000000,
            "flags": ["approximate_time"],
            "vantage": "gateway",
            "status_class": "error",
            "http_status": 502,
            "user": "u-2",
            "route": "/v1/chat/completions",
            "attempts": 2,
            "llm_calls": 1,
        },
    ]
    assert rejects(path) == []


def test_json_lines_with_one_piece_answers_have_no_first_token() -> None:
    path = DATA / "nginx" / "good.jsonl"
    assert told_format(path) == "nginx"
    assert requests(path) == [
        {
            "started_ns": 1771434738923000000,
            "ended_ns": 1771434740123000000,
            "e2e_ns": 1200000000,
            "network_ns": 50000000,
            "model_ns": 1150000000,
            "flags": [],
            "vantage": "gateway",
            "status_class": "ok",
            "http_status": 200,
            "request_id": "n-1",
            "user": "u-1",
            "route": "/v1/chat/completions",
            "attempts": 1,
            "llm_calls": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "nginx" / "torn.log"
    assert rejects(path) == [("torn_line", 2)]
    assert len(requests(path)) == 1


@pytest.mark.parametrize(
    ("end", "seconds"), [("1970-01-01T00:00:00Z", "1.2"), ("1969-12-31T23:00:00Z", "0.1"), ("1e8", "0.5")]
)
def test_a_request_that_would_begin_before_2015_is_refused_at_the_door(end: str, seconds: str, tmp_path: Path) -> None:
    good = (DATA / "nginx" / "good.jsonl").read_bytes()
    early = json.loads(good) | {"msec": end, "request_time": seconds, "request_id": "early"}
    receipt, rows = load_bytes(tmp_path, good + json.dumps(early).encode() + b"\n")
    assert (receipt.format, counts(receipt), rows["request_id"].to_list()) == ("nginx", (2, 1, 0, 1), ["n-1"])
    (refused,) = receipt.rejects
    assert (refused.line, refused.reason) == (2, "time_out_of_range")
    assert refused.detail.endswith("is out of range, in ns since 1970")
