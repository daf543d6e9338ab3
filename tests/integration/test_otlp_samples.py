"""Every field of the samples' right answers: file by file, in one load, in any order, shuffled, twice, span by span."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ingest.assemble import assemble, forget_spans
from ingest.schema import STAGES
from ingest.store.database import Store
from tests.support.otlp import Json, load, rows, store_for, write_lines
from tests.support.shared import shared

TOLERANCE_MS = 0.002  # OTLP times are ns; some values pass through seconds as doubles
PART1, PART2 = "mixed_gateway_vllm_part1.json", "mixed_gateway_vllm_part2.json"
OF_THE_TEST = {"only_part1_loaded", "both_parts_loaded"}  # say what was loaded, and are no fact about a request
FILES = (
    *("vllm.json", "sglang.json", "openllmetry_old.json", "openllmetry_new.json", "openinference_rag.json"),
    *("langfuse.json", "vercel_ai_v6.json", "pydantic_ai_logfire.json", "litellm_proxy.json", "semconv_agent.json"),
    *("triton.json", "openlit.json", "envoy_ai_gateway.json", PART1, PART2, "collector_lines.jsonl"),
)


def expected() -> dict[str, list[Json]]:
    answers: dict[str, list[Json]] = json.loads(shared("samples/otlp/expected.json").read_text())
    return {file: [told(row) for row in found] for file, found in answers.items()}


def told(answer: Json) -> Json:
    """An answer as it is compared: stages without zeros, flags as a set."""
    stages = {stage: length for stage, length in answer["stages"].items() if length}
    return answer | {"stages": stages, "flags": sorted(set(answer["flags"]) - OF_THE_TEST)}


def ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


def seen(row: Json) -> Json:
    """A request row in the fields of the answers."""
    generation, calls, output = row["generation_ns"], row["llm_calls"], row["output_tokens"]
    per_token = generation / (output - 1) / 1e6 if generation is not None and calls == 1 else None
    cost = row["source_cost_usd"]
    return {
        "trace": row["trace_id"],
        "root": row["root"],
        "request_id": row["request_id"],
        "model": row["model"],
        "streaming": row["streaming"],
        "input": row["input_tokens"],
        "cached": row["cached_input_tokens"],
        "cache_write": row["cache_write_tokens"],
        "output": output,
        "reasoning": row["reasoning_tokens"],
        "llm_calls": calls,
        "ttft_ms": ms(row["ttft_ns"]),
        "llm_ttft_ms": ms(row["call_ttft_ns"]),
        "tpot_ms": per_token,
        "e2e_ms": ms(row["e2e_ns"]),
        "queue_ms": ms(row["queue_ns"]),
        "prefill_ms": ms(row["prefill_ns"]),
        "decode_ms": ms(row["decode_ns"]),
        "stages": {stage: ms(row[f"{stage}_ns"]) for stage in STAGES if (row[f"{stage}_ns"] or 0) > 500},
        "finish": row["finish_reason"],
        "status": "ok" if row["status_class"] == "ok" else "error",
        "error_type": row["error_type"],
        "http_status": row["http_status"],
        "user": row["user"],
        "session": row["session"],
        "tenant": row["tenant"],
        "scenario": row["scenario"],
        "route": row["route"],
        "cost_usd": None if cost is None else cost / 1e12,
        "flags": sorted(row["flags"]),
    }


def near(answer: Json) -> Any:
    """An answer that floats within the tolerance are equal to."""
    return {
        name: {stage: pytest.approx(length, abs=TOLERANCE_MS) for stage, length in value.items()}
        if name == "stages"
        else pytest.approx(value, abs=TOLERANCE_MS)
        if isinstance(value, float)
        else value
        for name, value in answer.items()
    }


def assert_rows(store: Store, answers: Sequence[Json], *, ignored: frozenset[str] = frozenset()) -> None:
    found = {trace: seen(row) for trace, row in rows(store).items()}
    assert {answer["trace"] for answer in answers} == set(found)
    for answer in answers:
        row = found[answer["trace"]]
        row["flags"] = [flag for flag in row["flags"] if flag not in ignored]
        wanted = answer | {"flags": [flag for flag in answer["flags"] if flag not in ignored]}
        assert near(wanted) == row


def all_answers() -> list[Json]:
    """Answers when everything is loaded: of the trace in two files the later one's."""
    return list({row["trace"]: row for file in FILES for row in expected()[file]}.values())


def single_spans(folder: Path, files: Sequence[str] = FILES) -> Iterator[Json]:
    """Every span of the samples as an export request of its own."""
    for file in files:
        text = (folder / file).read_text()
        for line in [text] if file.endswith(".json") else text.splitlines():
            try:
                document = json.loads(line)
            except ValueError:
                continue
            yield from _spans_of(document)


def _spans_of(document: Json) -> Iterator[Json]:
    for top in ("resourceSpans", "resource_spans"):
        for entry in document.get(top, ()):
            for key in ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                for scope in entry.get(key, ()):
                    for span in scope["spans"]:
                        yield {top: [{"resource": entry["resource"], key: [scope | {"spans": [span]}]}]}


@pytest.mark.parametrize("file", FILES)
def test_each_file_alone_gives_every_field_of_its_requests(file: str) -> None:
    folder = shared("samples/otlp")
    with store_for(folder) as store:
        if file == PART2:
            load(store, folder / PART1, "part1")
        load(store, folder / file)
        assert_rows(store, expected()[file])


@pytest.mark.parametrize("files", [FILES, FILES[::-1]], ids=["forwards", "backwards"])
def test_all_files_in_one_store_give_51_requests_in_either_order(files: tuple[str, ...]) -> None:
    folder = shared("samples/otlp")
    with store_for(folder) as store:
        for file in files:
            load(store, folder / file, file)
        assert store.read("requests").height == 51
        assert_rows(store, all_answers())


def test_loading_everything_twice_changes_nothing() -> None:
    folder = shared("samples/otlp")
    with store_for(folder) as store:
        for file in FILES:
            load(store, folder / file, file)
        before = store.read("requests", order="request_key"), store.read("calls", order="request_key, call_index")
        for file in FILES:
            again = load(store, folder / file, f"{file} again")
            assert (again.accepted, again.duplicate + again.rejected) == (0, again.read)
        after = store.read("requests", order="request_key"), store.read("calls", order="request_key, call_index")
        assert before[0].equals(after[0])
        assert before[1].equals(after[1])


@pytest.mark.parametrize("times", [1, 2])
def test_shuffled_spans_of_all_files_give_the_same_rows(times: int, tmp_path: Path) -> None:
    spans = list(single_spans(shared("samples/otlp"))) * times
    random.Random(times).shuffle(spans)
    with store_for(tmp_path) as store:
        counts = load(store, write_lines(tmp_path / "shuffled.jsonl", spans))
        assert (counts.read, counts.accepted, counts.rejected) == (173 * times, 172, 0)
        assert_rows(store, all_answers())


def test_the_way_of_large_files_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.assemble.STAGED_BYTES", 0)  # straight into the table
    monkeypatch.setattr("ingest.assemble.SAMPLE_BYTES", 3000)  # most lists of names come after the learning
    spans = list(single_spans(shared("samples/otlp"))) * 2
    random.Random(9).shuffle(spans)
    with store_for(tmp_path) as store:
        counts = load(store, write_lines(tmp_path / "large.jsonl", [*spans, '{"resourceSpans": [', "{}"]))
        assert (counts.read, counts.accepted, counts.duplicate, counts.rejected) == (347, 172, 174, 1)
        assert_rows(store, all_answers())


MANY_SHAPED = (PART1, PART2, "semconv_agent.json", "pydantic_ai_logfire.json")
# whether a span was told twice can only be seen where both tellings come with others
ALONE = frozenset({"duplicate_span_ignored"})


@pytest.mark.parametrize("files", [MANY_SHAPED, pytest.param(FILES, marks=pytest.mark.long)], ids=["some", "all"])
def test_spans_one_batch_at_a_time_give_the_same_rows(files: tuple[str, ...], tmp_path: Path) -> None:
    spans = list(single_spans(shared("samples/otlp"), files))
    random.Random(3).shuffle(spans)
    with store_for(tmp_path) as store:
        for number, line in enumerate(spans):
            load(store, write_lines(tmp_path / f"{number}.jsonl", [line]), f"u-{number}")
        answers = {row["trace"]: row for file in files for row in expected()[file]}
        assert_rows(store, list(answers.values()), ignored=ALONE)


def test_taking_the_second_part_out_again_gives_the_row_of_the_first() -> None:
    folder = shared("samples/otlp")
    with store_for(folder) as store:
        load(store, folder / PART1, "part1")
        load(store, folder / PART2, "part2")
        with store.writing() as cursor:
            assert forget_spans(cursor, "part2") == 2
            assemble(cursor)
        assert_rows(store, expected()[PART1])


def test_late_spans_into_a_large_store_are_fetched_and_give_the_same_row() -> None:
    folder, large = shared("samples/otlp"), shared("incidents/sample/healthy")
    with store_for(folder, large) as store:
        load(store, large / "traces.otlp.jsonl.gz", "large")
        before = rows(store)
        load(store, folder / PART2, "part2")
        load(store, folder / PART1, "part1")
        after = rows(store)
        assert {trace: row for trace, row in after.items() if trace in before} == before
        found = {trace: seen(row) for trace, row in after.items() if trace not in before}
    for answer in expected()[PART2]:
        assert near(answer) == found[answer["trace"]]
