"""Facts of the AIPerf exports, as their page states them, from the reader alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ingest.formats import values as v
from tests.support.readers import nearest_rank, numbers, refusal, requests, told_format, tpots_ns
from tests.support.shared import shared

FOLDER = "data/aiperf-profile-export"
# file: rows, cancelled, input, output, reasoning, first request
COUNTS = {
    "llama3-8b_concurrency1_profile_export": (64, 0, 6400, 12800, 0, "2025-10-23T21:18:20.363259Z"),
    "qwen_concurrency8_profile_export": (64, 0, 6400, 12796, 0, "2025-11-07T21:46:53.082449Z"),
    "run1_old_schema_profile_export": (100, 11, 48950, 21624, 19792, "2025-10-03T20:13:39.154569Z"),
}
# column: file: n, min, nr50, nr95, nr99, max in ms
MS = {
    "ttft_ns": {
        "llama3-8b_concurrency1_profile_export": (64, 24.396229, 26.490504, 29.694621, 33.73769, 33.73769),
        "qwen_concurrency8_profile_export": (64, 32.741351, 71.126306, 90.37527, 92.525501, 92.525501),
        "run1_old_schema_profile_export": (89, 464.664101, 2369.317693, 3826.825868, 3853.857423, 3853.857423),
    },
    "e2e_ns": {
        "llama3-8b_concurrency1_profile_export": (64, 3580.798194, 3783.659896, 3934.033649, 4012.760404, 4012.760404),
        "qwen_concurrency8_profile_export": (64, 3672.885624, 3727.660169, 3867.501847, 3867.785149, 3867.785149),
        "run1_old_schema_profile_export": (89, 7936.968269, 9097.345015, 9288.616496, 9299.772642, 9299.772642),
    },
    "tpot": {
        "llama3-8b_concurrency1_profile_export": (64, 17.854887, 18.882027, 19.634415, 20.028186, 20.028186),
        "qwen_concurrency8_profile_export": (64, 18.175269, 18.368521, 19.069526, 19.081601, 19.081601),
        "run1_old_schema_profile_export": (89, 22.127876, 27.61513, 33.48412, 34.860576, 34.860576),
    },
    "network_ns": {
        "llama3-8b_concurrency1_profile_export": (64, 4.325712, 5.21622, 5.913649, 8.793611, 8.793611),
        "qwen_concurrency8_profile_export": (64, 9.45983, 41.610268, 45.944046, 48.087557, 48.087557),
    },
}
LONGEST_CHUNK_MS = {
    "llama3-8b_concurrency1_profile_export": 49.150141,
    "qwen_concurrency8_profile_export": 44.998628,
    "run1_old_schema_profile_export": 164.617523,
}


def path_of(name: str) -> Path:
    return shared(f"{FOLDER}/{name}.jsonl.gz")


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_tokens_are_those_of_the_page(name: str) -> None:
    path = path_of(name)
    found = requests(path)
    n_rows, n_cancelled, tokens_in, tokens_out, reasoning, first = COUNTS[name]
    assert told_format(path) == "aiperf"
    expected = {"ok": n_rows - n_cancelled} | ({"cancelled": n_cancelled} if n_cancelled else {})
    assert dict(Counter(row["status_class"] for row in found)) == expected
    sums = [sum(numbers(found, column)) for column in ("input_tokens", "output_tokens", "reasoning_tokens")]
    assert sums == [tokens_in, tokens_out, reasoning]
    first_ns = v.instant_ns(first)
    assert first_ns is not None
    assert abs(first_ns - min(numbers(found, "started_ns"))) <= 500  # the page rounds to microseconds


@pytest.mark.parametrize(("column", "name"), [(column, name) for column, files in MS.items() for name in files])
def test_latencies_are_those_of_the_page(column: str, name: str) -> None:
    found = requests(path_of(name))
    values = tpots_ns(found) if column == "tpot" else numbers(found, column)
    told = (min(values), *(nearest_rank(values, share) for share in (0.5, 0.95, 0.99)), max(values))
    n, *expected = MS[column][name]
    assert len(values) == n
    assert [value / 1e6 for value in told] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", LONGEST_CHUNK_MS)
def test_the_longest_gap_is_between_chunks(name: str) -> None:
    found = requests(path_of(name))
    assert max(numbers(found, "itl_max_ns")) / 1e6 == pytest.approx(LONGEST_CHUNK_MS[name], abs=1e-6)
    assert {row.get("itl_basis") for row in found} <= {"chunk", None}


def test_a_cancelled_request_has_no_latency() -> None:
    found = [row for row in requests(path_of("run1_old_schema_profile_export")) if row["status_class"] == "cancelled"]
    assert [set(row) & {"e2e_ns", "ttft_ns", "ended_ns"} for row in found] == [set()] * 11
    assert {row["http_status"] for row in found} == {499}


def test_the_summary_is_refused_by_the_name_of_the_file_that_works() -> None:
    name = "llama3-8b_concurrency1_profile_export_aiperf.json"
    assert refusal(shared(f"{FOLDER}/{name}")) == (
        f"{name} is an AIPerf summary: it has percentiles but no requests. Load profile_export.jsonl of the same run"
    )
