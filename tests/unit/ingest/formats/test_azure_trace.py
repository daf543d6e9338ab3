"""Azure trace: seven digits of a second, CRLF, no last line end."""

from __future__ import annotations

from tests.support.readers import DATA, rejects, requests, told_format


def test_rows_have_arrival_and_tokens_and_no_latency() -> None:
    path = DATA / "azure_trace" / "good.csv"
    assert told_format(path) == "azure_trace"
    assert requests(path) == [
        {
            "started_ns": 1700158546680590000,
            "input_tokens": 374,
            "output_tokens": 44,
            "status_class": "ok",
            "llm_calls": 1,
            "attempts": 1,
        },
        {
            "started_ns": 1700158550995169000,
            "input_tokens": 396,
            "output_tokens": 109,
            "status_class": "ok",
            "llm_calls": 1,
            "attempts": 1,
        },
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "azure_trace" / "torn.csv"
    assert rejects(path) == [("torn_line", 3)]
    assert len(requests(path)) == 1
