"""Facts of the bench serve results, as their page states them, from the reader alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.formats import values as v
from tests.support.readers import nearest_rank, numbers, requests, told_format, tpots_ns
from tests.support.shared import shared

# concurrency: ttft, e2e, tpot, each min, nr50, nr95, nr99, max in s; longest gap in s
FACTS = {
    1: (
        (0.006705617, 0.008087209, 0.008608917, 0.010767921, 0.010767921),
        (0.132711604, 0.133987375, 0.134509222, 0.136244829, 0.136244829),
        (0.001991697, 0.001998386, 0.002000208, 0.002000622, 0.002000622),
        0.002659732,
    ),
    2: (
        (0.006653045, 0.008094409, 0.010251483, 0.012036351, 0.012036351),
        (0.137130455, 0.138385816, 0.140297087, 0.142276948, 0.142276948),
        (0.002052421, 0.002069034, 0.002071941, 0.002073506, 0.002073506),
        0.00257183,
    ),
    4: (
        (0.007694132, 0.010356675, 0.012450208, 0.013647077, 0.013647077),
        (0.138964566, 0.14175779, 0.143833633, 0.144767468, 0.144767468),
        (0.002069960, 0.002086512, 0.002093106, 0.002111311, 0.002111311),
        0.004157506,
    ),
    8: (
        (0.009282098, 0.012052921, 0.016128706, 0.016404601, 0.016404601),
        (0.142765568, 0.145112715, 0.148935446, 0.149139499, 0.149139499),
        (0.002093194, 0.002101542, 0.002120829, 0.002123752, 0.002123752),
        0.003375734,
    ),
    16: (
        (0.010858393, 0.020676449, 0.022097271, 0.022399616, 0.022399616),
        (0.148712873, 0.158008590, 0.160221555, 0.160831056, 0.160831056),
        (0.002172095, 0.002193184, 0.002208973, 0.002209393, 0.002209393),
        0.005184813,
    ),
}


def path_of(concurrency: int) -> Path:
    return shared(f"data/vllm-bench-serve/day06_c{concurrency}_i128_o64_n64.json.gz")


@pytest.mark.parametrize("concurrency", FACTS)
def test_counts_and_tokens_are_those_of_the_page(concurrency: int) -> None:
    path = path_of(concurrency)
    found = requests(path)
    assert told_format(path) == "bench_serve"
    assert {row["status_class"] for row in found} == {"ok"}
    assert {row["scenario"] for row in found} == {f"rate inf, concurrency {concurrency}"}
    sums = (len(found), sum(numbers(found, "input_tokens")), sum(numbers(found, "output_tokens")))
    assert sums == (64, 10048, 4096)


@pytest.mark.parametrize("concurrency", FACTS)
def test_latencies_are_those_of_the_page(concurrency: int) -> None:
    found = requests(path_of(concurrency))
    ttft, e2e, tpot, longest = FACTS[concurrency]
    sides: list[tuple[list[float], tuple[float, ...]]] = [
        ([float(value) for value in numbers(found, "ttft_ns")], ttft),
        ([float(value) for value in numbers(found, "e2e_ns")], e2e),
        (tpots_ns(found), tpot),
    ]
    for values, expected in sides:
        told = (min(values), *(nearest_rank(values, share) for share in (0.5, 0.95, 0.99)), max(values))
        assert len(values) == 64
        assert [value / 1e9 for value in told] == pytest.approx(expected, abs=1e-9)
    assert max(numbers(found, "itl_max_ns")) / 1e9 == pytest.approx(longest, abs=1e-9)


def test_the_monotonic_clock_is_anchored_at_the_end_of_the_run() -> None:
    found = requests(path_of(2))
    starts = numbers(found, "started_ns")
    ended = v.instant_ns("2026-06-20T21:45:41Z")
    assert ended is not None
    assert min(starts) == ended - 4_452_376_426
    assert max(starts) - min(starts) == 4_313_653_324  # 12407.520969996 - 12403.207316672 s
    assert all(isinstance(row["flags"], list) and "approximate_time" in row["flags"] for row in found)
