"""Facts of the GuideLLM report, as its page states them, from the reader alone."""

from __future__ import annotations

import json

import pytest

from ingest.formats import values as v
from tests.support.readers import nearest_rank, numbers, requests, told_format, tpots_ns
from tests.support.shared import shared

PATH = "data/guidellm-report/benchmark.json.gz"
NR = (0.5, 0.95, 0.99)


def test_counts_and_tokens_are_those_of_the_page() -> None:
    path = shared(PATH)
    found = requests(path)
    assert told_format(path) == "guidellm"
    assert {(row["status_class"], row["model"], row["scenario"]) for row in found} == {
        ("ok", "Qwen/Qwen2.5-1.5B-Instruct", "synchronous, concurrency 1")
    }
    sums = (len(found), sum(numbers(found, "input_tokens")), sum(numbers(found, "output_tokens")))
    assert sums == (500, 99500, 52500)
    first, last = v.instant_ns("2026-04-22T02:07:57.008578Z"), v.instant_ns("2026-04-22T02:13:47.745186Z")
    assert first is not None
    assert last is not None
    assert min(numbers(found, "started_ns")) == first
    assert max(numbers(found, "ended_ns")) // 1000 * 1000 == last


def test_latencies_are_those_of_the_page() -> None:
    found = requests(shared(PATH))
    facts = (
        (numbers(found, "ttft_ns"), 1e6, (121.665955, 146.435738, 185.554266, 350.205898, 375.254154)),
        (numbers(found, "e2e_ns"), 1e9, (0.661707, 0.691608, 0.737986, 0.87805, 1.466084)),
        (tpots_ns(found), 1e6, (3.467576, 5.232722, 5.414243, 6.202478, 12.410586)),
    )
    for values, unit, expected in facts:
        told = (min(values), *(nearest_rank(values, share) for share in NR), max(values))
        assert len(values) == 500
        # the tool subtracts doubles of 1.7e9 s, which are 0.24 us apart; here the same times are subtracted exactly
        assert [value / unit for value in told] == pytest.approx(expected, abs=3e-4 if unit == 1e6 else 1e-6)


def test_time_in_the_load_generator_is_beside_and_no_queue() -> None:
    found = requests(shared(PATH))
    waits = [json.loads(str(row["attributes"]))["generator_wait_ns"] / 1e9 for row in found]
    told = (min(waits), *(nearest_rank(waits, share) for share in NR), max(waits))
    assert told == pytest.approx((0.978851, 2.765948, 3.000908, 3.548444, 3.618058), abs=1e-6)
    assert numbers(found, "queue_ns") == []
