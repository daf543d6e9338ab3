"""Facts of the OpenAI header timings, as their page states them, from the reader alone."""

from __future__ import annotations

import json
from collections import Counter

from ingest.formats import values as v
from tests.support.readers import nearest_rank, numbers, requests, told_format
from tests.support.shared import shared

PATH = "data/openai-header-timings/openai_calls.jsonl.gz"


def header_ms(row: dict[str, object], name: str) -> float | None:
    stated = json.loads(str(row["attributes"])).get(name)
    return None if stated is None else stated / 1e6


def test_counts_and_tokens_are_those_of_the_page() -> None:
    path = shared(PATH)
    found = requests(path)
    assert told_format(path) == "openai_headers"
    assert dict(Counter(row["http_status"] for row in found)) == {200: 542, 400: 6}
    assert dict(Counter(row["status_class"] for row in found)) == {"ok": 542, "rejected": 6}
    assert dict(Counter(row["route"] for row in found)) == {
        "/v1/chat/completions": 375,
        "/v1/completions": 67,
        "/v1/embeddings": 37,
        "/v1/responses": 69,
    }
    assert dict(Counter(row["streaming"] for row in found)) == {False: 409, True: 139}
    assert len({row["request_id"] for row in found if "request_id" in row}) == 381
    assert sum("request_id" not in row for row in found) == 43
    sums = [sum(numbers(found, name)) for name in ("input_tokens", "output_tokens", "cached_input_tokens")]
    assert sums == [139642, 30802, 17536]
    assert sum("input_tokens" in row for row in found) == 438


def test_processing_and_proxy_times_are_those_of_the_page() -> None:
    found = requests(shared(PATH))
    processing = [ms for row in found if (ms := header_ms(row, "openai_processing_ns")) is not None]
    good = [header_ms(row, "openai_processing_ns") or 0 for row in found if row["http_status"] == 200]
    proxy = [
        upstream - (header_ms(row, "openai_processing_ns") or 0)
        for row in found
        if (upstream := header_ms(row, "upstream_service_ns")) is not None
    ]
    spreads = [
        (len(values), min(values), *(nearest_rank(values, share) for share in (0.5, 0.95, 0.99)), max(values))
        for values in (processing, good, proxy)
    ]
    assert spreads == [
        (548, 15.0, 511.0, 5966.0, 15182.0, 17416.0),
        (542, 16.0, 511.0, 5966.0, 15182.0, 17416.0),
        (114, 2.0, 13.0, 207.0, 350.0, 1720.0),
    ]


def test_a_streamed_answer_has_neither_first_token_nor_end() -> None:
    found = [row for row in requests(shared(PATH)) if row["streaming"] is True]
    assert [set(row) & {"e2e_ns", "ttft_ns", "model_ns"} for row in found] == [set()] * 139
    assert {"time_to_first_byte"} == {flag for row in found for flag in row["flags"]} - {"approximate_time"}  # type: ignore[attr-defined]


def test_created_is_the_start_in_whole_seconds() -> None:
    starts = numbers(requests(shared(PATH)), "started_ns")
    last = v.instant_ns("2026-05-28T14:06:24Z")
    assert len(starts) == 548
    assert last in starts
