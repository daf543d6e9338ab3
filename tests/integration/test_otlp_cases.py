"""Cases from public bug reports, as far as the reading of OTLP decides them: rows against the figures of case.json."""

from __future__ import annotations

from pathlib import Path

from ingest.assemble import SpanCounts
from tests.support.otlp import NS, Json, load, rows, store_for
from tests.support.shared import shared


def loaded(case: str, file: str) -> tuple[SpanCounts, list[Json]]:
    path: Path = shared(f"cases/{case}/{file}")
    with store_for(path.parent) as store:
        counts = load(store, path)
        return counts, sorted(rows(store).values(), key=lambda row: row["started_ns"])


def column(found: list[Json], name: str) -> list[object]:
    return [row[name] for row in found]


def test_an_agent_span_that_repeats_the_usage_of_its_calls_counts_once() -> None:
    _, found = loaded("01-agent-root-repeats-usage", "traces.json")
    assert column(found, "llm_calls") == [2, 1]
    assert column(found, "input_tokens") == [2708, 905]
    assert column(found, "cached_input_tokens") == [800, None]
    assert column(found, "output_tokens") == [247, 60]
    assert column(found, "n_call_rows") == [2, 0]


def test_cached_tokens_inside_and_outside_the_input_come_out_the_same() -> None:
    _, found = loaded("02-cached-tokens-three-ways", "input/otel.jsonl")
    assert column(found, "input_tokens") == [18400, 18400]
    assert column(found, "cached_input_tokens") == [16000, 16000]
    assert column(found, "cache_write_tokens") == [2000, 2000]
    assert column(found, "output_tokens") == [350, 350]
    assert column(found, "flags") == [[], ["input_below_cached"]]


def test_one_trace_in_two_spellings_is_one_request_to_the_nanosecond() -> None:
    _, found = loaded("04-one-trace-two-id-spellings", "traces.jsonl")
    assert column(found, "e2e_ns") == [1_700_000_300, 1_000_000_001]
    assert column(found, "ttft_ns") == [450_000_000, None]
    assert column(found, "llm_calls") == [1, 1]
    assert column(found, "input_tokens") == [512, 200]
    assert column(found, "output_tokens") == [33, 20]
    parts = {stage: found[0][f"{stage}_ns"] for stage in ("queue", "prefill", "decode", "network")}
    assert parts == {"queue": 50_000_000, "prefill": 240_000_000, "decode": 1_150_000_000, "network": 200_000_300}


def test_spans_that_cannot_be_are_refused_each_on_its_line() -> None:
    counts, found = loaded("05-spans-that-cannot-be", "traces.jsonl")
    assert (counts.read, counts.accepted, counts.duplicate, counts.rejected) == (8, 2, 0, 6)
    assert [(reject.line, reject.reason) for reject in counts.rejects] == [
        (2, "end_before_start"),
        (3, "end_before_start"),
        (4, "start_unset"),
        (5, "zero_trace_id"),
        (6, "zero_trace_id"),
        (7, "no_trace_id"),
    ]
    assert column(found, "e2e_ns") == [2 * NS, 3 * NS]


def test_engine_times_of_unset_marks_are_dropped_and_the_rest_stays() -> None:
    _, found = loaded("06-aborted-before-the-first-token", "traces.jsonl")
    assert column(found, "status_class") == ["ok", "ok", "error", "error", "ok"]
    assert column(found, "queue_ns") == [NS // 50, NS // 2, None, None, None]
    assert column(found, "prefill_ns") == [3 * NS // 10, NS // 4, None, None, None]
    assert column(found, "decode_ns") == [2 * NS, 3 * NS // 2, None, None, None]
    assert column(found, "ttft_ns") == [33 * NS // 100, 76 * NS // 100, None, None, None]
    assert column(found, "output_tokens") == [101, 76, 0, 0, 41]
    assert column(found, "e2e_ns") == [235 * NS // 100, 228 * NS // 100, 9 * NS // 10, 11 * NS // 10, 14 * NS // 10]
