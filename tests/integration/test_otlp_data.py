"""Real timings and real files in OTLP: the counts, sums and shares that their folders state."""

from __future__ import annotations

import pytest

from tests.support.otlp import NS, load, rows, store_for
from tests.support.shared import shared

RE_ENCODED = "data/otlp-reencoded"
FILES = "data/otlp-json"


def test_stage_times_of_real_engines_add_up_as_stated() -> None:
    folder = shared(RE_ENCODED)
    with store_for(folder) as store:
        load(store, folder / "provider_stages.jsonl")
        found = list(rows(store).values())
    sums = {
        name: sum(row[name] for row in found) / NS
        for name in ("queue_ns", "prefill_ns", "decode_ns", "unattributed_ns", "e2e_ns")
    }
    # a span is 3 microseconds shorter than its parts: its rest is none, not negative
    assert sums == pytest.approx(
        {
            "queue_ns": 33.582649,
            "prefill_ns": 7.685802,
            "decode_ns": 36.102824,
            "unattributed_ns": 0.097681,
            "e2e_ns": 77.468954,
        },
        abs=2e-6,
    )
    assert len(found) == 89
    assert sum(row["input_tokens"] for row in found) == 70945
    assert sum(row["output_tokens"] for row in found) == 12836
    assert sum(row["cached_input_tokens"] or 0 for row in found) == 256
    assert sum(row["queue_ns"] * 2 > row["ttft_ns"] for row in found) == 74
    assert sum(row["cached_input_tokens"] is not None for row in found) == 12


def test_requests_seen_by_a_client_keep_their_thresholds_as_stated() -> None:
    folder = shared(RE_ENCODED)
    with store_for(folder) as store:
        counts = load(store, folder / "multiround_qa_client.jsonl.gz")
        found = list(rows(store).values())
    assert (counts.read, counts.accepted, len(found)) == (2558, 2558, 2558)
    tpot = [row["generation_ns"] / (row["output_tokens"] - 1) for row in found]
    fast = [row["ttft_ns"] <= 2 * NS for row in found]
    smooth = [value <= NS / 10 for value in tpot]
    assert (sum(fast), sum(smooth), sum(a and b for a, b in zip(fast, smooth, strict=True))) == (2078, 2431, 2049)
    assert (len({row["user"] for row in found}), len({row["scenario"] for row in found})) == (365, 11)
    assert sum(row["input_tokens"] for row in found) == 53918528
    assert sum(row["output_tokens"] for row in found) == 174740


@pytest.mark.parametrize("file", ["ai_sdk_file_exporter.jsonl", "ai_sdk_file_exporter_native.jsonl.zst"])
def test_the_collectors_lines_packed_or_not_give_the_same_ten_spans(file: str) -> None:
    folder = shared(FILES)
    with store_for(folder) as store:
        counts = load(store, folder / file)
        found = list(rows(store).values())
    assert (counts.read, counts.accepted, len(found)) == (10, 10, 10)
    assert sum(row["input_tokens"] or 0 for row in found) == 142  # a wrapper told apart from its call counts nothing
    assert sum(row["output_tokens"] or 0 for row in found) == 297
    assert [row["ttft_ns"] for row in found if row["ttft_ns"] is not None] == [426_853_500]


def test_mixed_signals_give_their_one_span() -> None:
    folder = shared(FILES)
    with store_for(folder) as store:
        counts = load(store, folder / "mixed_signals.jsonl")
    assert (counts.read, counts.accepted, counts.rejected, len(counts.notes)) == (1, 1, 0, 2)


def test_a_span_that_occurs_twice_in_a_document_counts_once() -> None:
    folder = shared(FILES)
    with store_for(folder) as store:
        counts = load(store, folder / "jaeger_ui_otlp_in.json")
    assert (counts.read, counts.accepted, counts.duplicate) == (2, 1, 1)
