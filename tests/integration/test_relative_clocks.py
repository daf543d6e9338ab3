"""Traces and runs whose times count from their start: placed where the user says, told as clockless where he does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ingest.errors import ConfigError
from ingest.mapping import parse_mapping
from ingest.selection import parse_instant
from tests.support.loads import PLAIN, load_bytes, load_files, mapped
from tests.support.readers import DATA
from tests.support.server import client, put

START = "2026-03-02T10:00:00Z"
AT = parse_instant(START, "UTC")
NS = 1_000_000_000
PLACED = replace(PLAIN, start_ns=AT)
FILES = {  # file -> nanoseconds from the start to its first request
    "mooncake/good.jsonl": 0,
    "burstgpt/good.csv": 5 * NS,
    "qwen_trace/good.jsonl": 61_114_000_000,
    "vidur/good.csv": 0,
    "inference_perf/good.json": 0,
}


@pytest.mark.parametrize(("path", "first_ns"), FILES.items())
def test_a_start_places_the_requests_and_changes_no_duration(path: str, first_ns: int) -> None:
    (plain,), before = load_files(DATA / path)
    (placed,), after = load_files(DATA / path, options=PLACED)
    assert (plain.read, plain.accepted) == (placed.read, placed.accepted)
    assert before["started_ns"].null_count() == before.height
    assert after["started_ns"].min() == AT + first_ns
    assert any("belong to no week" in note and "--start" in note for note in plain.notes)
    assert any(note.endswith(f"read as {START}") for note in placed.notes)
    durations = [name for name in before.columns if name.endswith("_ns") and name not in ("started_ns", "ended_ns")]
    others = [*durations, "input_tokens", "output_tokens", "status_class", "flags", "streaming"]
    assert after.select(others).sort(others).equals(before.select(others).sort(others))
    known = after.drop_nulls(["started_ns", "e2e_ns"])
    assert (known["ended_ns"] - known["started_ns"]).to_list() == known["e2e_ns"].to_list()


def test_offsets_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    lines = [{"timestamp": n * 0.1, "chat_id": n, "input_length": 1, "output_length": 2, "turn": 1} for n in range(9)]
    content = "".join(json.dumps(row) + "\n" for row in lines).encode()
    _, requests = load_bytes(tmp_path, content, options=PLACED)
    assert [started - AT for started in requests["started_ns"]] == [n * NS // 10 for n in range(9)]


def test_the_clock_of_a_load_generator_begins_with_its_earliest_request(tmp_path: Path) -> None:
    rows = [
        {"start_time": start, "end_time": start + 2.5, "request": {}, "info": {"input_tokens": 1, "output_tokens": 2}}
        for start in (70001.5, 70000.25, 70003.0)
    ]
    _, requests = load_bytes(tmp_path, json.dumps(rows).encode(), "per_request.json", PLACED)
    assert [(row["started_ns"] - AT, row["e2e_ns"]) for row in requests.to_dicts()] == [
        (0, 2_500_000_000),
        (1_250_000_000, 2_500_000_000),
        (2_750_000_000, 2_500_000_000),
    ]


def test_a_bench_run_without_a_date_is_placed_and_one_with_a_date_keeps_it(tmp_path: Path) -> None:
    run = {"backend": "vllm", "completed": 2, "input_lens": [5, 6], "output_lens": [1, 1], "ttfts": [0.5, 0.25]}
    run |= {"itls": [[], []], "errors": ["", ""], "start_times": [90.5, 91.0], "duration": 1.25}
    _, dateless = load_bytes(tmp_path, json.dumps(run).encode(), "a.json", PLACED)
    assert [started - AT for started in dateless["started_ns"]] == [0, NS // 2]
    _, dated = load_bytes(tmp_path, json.dumps(run | {"date": "20260105-120000"}).encode(), "b.json", PLACED)
    ended = parse_instant("2026-01-05T12:00:00Z", "UTC")
    assert dated["started_ns"].to_list() == [ended - 1_250_000_000, ended - 750_000_000]


@pytest.mark.parametrize("told", ["0.25", "00:00:00.2500000"])
def test_an_azure_trace_without_a_date_counts_from_the_start(told: str, tmp_path: Path) -> None:
    content = f"TIMESTAMP,ContextTokens,GeneratedTokens\n{told},5,6\n".encode()
    plain, before = load_bytes(tmp_path, content, "a.csv")
    assert (plain.accepted, before["started_ns"].to_list()) == (1, [None])
    assert any("--start" in note for note in plain.notes)
    _, after = load_bytes(tmp_path, content, "b.csv", PLACED)
    assert after["started_ns"].to_list() == [AT + NS // 4]


def test_rows_without_any_time_say_that_a_start_places_none() -> None:
    (receipt,), requests = load_files(DATA / "llmperf" / "m-9b_550_150_individual_responses.json", options=PLACED)
    assert requests["started_ns"].null_count() == requests.height
    assert any("start places none" in note for note in receipt.notes)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("name", "factor"), [("timestamp", 1), ("timestamp_ms", 1000)])
def test_a_table_that_counts_from_zero_is_placed_in_the_unit_of_its_name(
    name: str, factor: int, kind: str, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"id": ["a", "b"], name: [0.0, 1.5 * factor], "input_tokens": [1, 2], "e2e_ms": [10, 20]})
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    else:
        path.write_text(frame.write_ndjson() if kind == "jsonl" else frame.write_csv())
    (plain,), before = load_files(path)
    assert before["started_ns"].to_list() == [None, None]
    assert any("--start" in note for note in plain.notes)
    (placed,), after = load_files(path, options=PLACED)
    assert after["started_ns"].to_list() == [AT, AT + 3 * NS // 2]
    assert after["e2e_ns"].to_list() == [10_000_000, 20_000_000]
    unit = "s" if factor == 1 else "ms"
    assert f'"{name}" counts from the start, in {unit}: 0 is read as {START}' in placed.notes


def test_a_mapping_file_tells_start_zone_and_unit(tmp_path: Path) -> None:
    content = b'{"id": "a", "at": 1500, "input_tokens": 3}\n{"id": "b", "at": 0, "input_tokens": 4}\n'
    text = "start: 2026-03-02T12:00:00\ntimezone: Europe/Berlin\ncolumns: {started: {from: at, unit: ms}}\n"
    _, requests = load_bytes(tmp_path, content, options=mapped(text))
    berlin = parse_instant("2026-03-02T11:00:00Z", "UTC")
    assert requests["started_ns"].to_list() == [berlin, berlin + 3 * NS // 2]


def test_a_start_that_is_no_time_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r'line 1.*start: time "soon" is not ISO 8601'):
        parse_mapping("start: soon\n")


def test_the_same_name_goes_over_http(tmp_path: Path) -> None:
    content = (DATA / "mooncake" / "good.jsonl").read_bytes()
    with client(tmp_path) as service:
        refused = service.put("/api/v1/uploads/a.jsonl?start=soon", content=content)
        done = put(service, "a.jsonl", content, start=START)
        rows = service.get("/api/v1/requests").json()["requests"]
    assert (refused.status_code, refused.json()["code"]) == (422, "config")
    assert any(note.endswith(f"read as {START}") for note in done["notes"])
    assert sorted(row["started_ns"] for row in rows) == [AT, AT + 3 * NS]
