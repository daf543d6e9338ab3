"""Random trees of spans: stages are never negative and sum to the request's length, in whatever order spans come."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import chain, combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from ingest.receipts import LoadOptions
from ingest.receive import receive
from ingest.schema import STAGES
from tests.support.otlp import NS, START_NS, Json, load, request, rows, span, store_for, write_lines

KINDS: tuple[tuple[str, Json], ...] = (
    ("agent", {"gen_ai.operation.name": "invoke_agent"}),
    ("execute_tool x", {"gen_ai.operation.name": "execute_tool"}),
    ("retrieval", {"gen_ai.operation.name": "retrieval"}),
    ("chat", {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 4}),
    ("GET", {}),
    ("gateway.admit", {}),
    ("guardrail", {}),
)


def random_trace(number: int, draw: random.Random) -> list[Json]:
    """A tree of up to twelve spans that may overlap, outlast their parents, or have none."""
    spans: list[Json] = []
    for i in range(draw.randint(1, 12)):
        name, told = draw.choice(KINDS) if i else KINDS[3 if draw.random() < 0.3 else 0]
        told = dict(told)
        start = round(draw.uniform(0, 8), 3)
        length = round(draw.expovariate(0.5), 3)
        if name == "chat" and draw.random() < 0.5:
            told |= {"gen_ai.response.time_to_first_chunk": round(draw.uniform(0, 3), 3)}
        if name == "chat" and draw.random() < 0.4:
            name = "llm_request"
            told = {
                "gen_ai.latency.e2e": length,
                "gen_ai.latency.time_in_queue": round(draw.uniform(-0.1, 1), 3),
                "gen_ai.latency.time_in_model_prefill": round(draw.uniform(0, 1), 3),
                "gen_ai.latency.time_in_model_decode": round(draw.uniform(0, 3), 3),
                "gen_ai.usage.completion_tokens": 4,
            }
        parent = f"n{draw.randrange(i)}" if i and draw.random() < 0.9 else ("gone" if i else "")
        spans.append(
            span(name, start, start + length, span_id=f"n{i}", parent=parent, trace=f"r{number}", attributes=told)
        )
    return spans


def lengths(row: dict[str, Any]) -> list[int]:
    return [row[f"{stage}_ns"] for stage in STAGES if row[f"{stage}_ns"] is not None]


@pytest.mark.parametrize("seed", range(3))
def test_stages_of_random_trees_are_never_negative_and_sum_to_the_length(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    spans = [told for number in range(150) for told in random_trace(number, draw)]
    with store_for(tmp_path) as store:
        load(store, write_lines(tmp_path / "t.jsonl", [request([told]) for told in spans]))
        found = rows(store)
    assert len(found) > 100
    for row in found.values():
        assert min(lengths(row)) >= 0
        # parts of an engine may exceed its total by 2 % + 1 ms: other clocks
        assert row["e2e_ns"] <= sum(lengths(row)) <= row["e2e_ns"] * 1.02 + 1_000_000 * max(1, row["llm_calls"])


def test_the_order_of_spans_and_the_cut_into_uploads_change_no_row(tmp_path: Path) -> None:
    draw = random.Random(7)
    spans = [told for number in range(60) for told in random_trace(number, draw)]
    found: list[dict[str, Json]] = []
    for turn in range(3):
        draw.shuffle(spans)
        parts = [spans] if turn == 0 else [spans[i::turn] for i in range(turn)]
        with store_for(tmp_path) as store:
            for number, part in enumerate(parts):
                path = write_lines(tmp_path / f"{turn}-{number}.jsonl", [request([told]) for told in part])
                load(store, path, f"u{number}")
            found.append({key: row | {"upload_id": ""} for key, row in rows(store).items()})
    assert found[0] == found[1] == found[2]


def told_by(draw: random.Random, number: int) -> list[list[str]]:
    """Names of the spans of one trace that each of some files tells, some of them twice or in part."""
    names = [f"s{i}" for i in range(draw.randint(1, 4))]
    files = [draw.sample(names, draw.randint(0, len(names))) for _ in range(3)]
    return [file + draw.sample(file, draw.randint(0, len(file))) if draw.random() < 0.4 else file for file in files]


def test_the_order_of_files_that_tell_spans_again_changes_no_row_and_no_flag(tmp_path: Path) -> None:
    draw = random.Random(11)
    traces = [told_by(draw, number) for number in range(60)]
    paths = []
    for file in range(3):
        told = [
            request([span(name, span_id=name, trace=f"t{number}")])
            for number, files in enumerate(traces)
            for name in files[file]
        ]
        paths.append(write_lines(tmp_path / f"{file}.jsonl", told))
    found = []
    for order in permutations(range(3)):
        with store_for(tmp_path) as store:
            for file in order:
                load(store, paths[file], f"u{file}")
            spans = store.read("spans", order="trace_id, span_id", columns=["trace_id", "span_id", "marks"])
            found.append(spans.rows())
    assert found == found[:1] * 6
    assert 0 < sum(marks > 0 for _, _, marks in found[0]) < len(found[0])


DAY_S = 86_400.0
CALL = {"gen_ai.operation.name": "chat"}


def after(
    folder: Path, parts: Sequence[Sequence[Json]], before: Sequence[Json] = ()
) -> list[tuple[dict[str, Any], ...]]:
    """Requests and spans after the parts were loaded one after the other, without what tells from which they came."""
    with store_for(folder) as store:
        for number, part in enumerate((before, *parts)):
            load(store, write_lines(folder / f"{number}.jsonl", [request([told]) for told in part]), f"u{number}")
        tables = (store.read("requests", order="trace_id"), store.read("spans", order="trace_id, span_id, started_ns"))
    return [tuple(row | {"upload_id": ""} for row in table.to_dicts()) for table in tables]


def test_a_span_told_again_with_another_start_is_one_span_in_whatever_order(tmp_path: Path) -> None:
    files = [
        [span("chat", 0, 1, span_id="a"), span("x", 0, 1, span_id="q", trace="u")],
        [span("chat", 5000, 5001, span_id="a", attributes={"x.more": "y"})],
        [span("chat", 3 * DAY_S, 3 * DAY_S + 1, span_id="a"), span("x", 0, 1, span_id="z", trace="v")],
    ]
    found = [after(tmp_path, order) for order in permutations(files)]
    assert found == found[:1] * 6
    assert [told["started_ns"] - START_NS for told in found[0][1]] == [5000 * NS, 0, 0]


def test_a_trace_that_lasts_for_days_is_one_request_beside_many_others(tmp_path: Path) -> None:
    others = [span("chat", n, n + 1, span_id="n", trace=f"n{n}") for n in range(100)]
    parts = [
        [span("agent", 0, 10, span_id="r")],
        [span("chat m", 2 * DAY_S, 2 * DAY_S + 5, span_id="b", parent="r", attributes=CALL)],
        [span("tool", 4 * DAY_S, 4 * DAY_S + 1, span_id="c", parent="b")],
    ]
    found = [
        [row for row in after(tmp_path, order, others)[0] if row["root"] == "agent"] for order in permutations(parts)
    ]
    assert found == found[:1] * 6
    assert [(row["llm_calls"], row["flags"]) for row in found[0]] == [(1, ["model_missing"])]


@pytest.mark.parametrize("told", ["aabb", "aba", "abba"])
def test_how_live_spans_are_cut_into_batches_changes_no_row(told: str, tmp_path: Path) -> None:
    by_name = {
        "a": span("agent", 0, 9, span_id="a"),
        "b": span("chat m", 1, 2, span_id="b", parent="a", attributes=CALL),
    }
    bodies = [("json", json.dumps(request([by_name[name]])).encode()) for name in told]
    found = []
    for cuts in chain.from_iterable(combinations(range(1, len(told)), n) for n in range(len(told))):
        with store_for(tmp_path) as store:
            for start, end in pairwise((0, *cuts, len(told))):
                receive(bodies[start:end], store, LoadOptions(), START_NS)  # type: ignore[arg-type]
            found.append(rows(store))
    assert found == found[:1] * len(found)
    (row,) = found[0].values()
    assert ("duplicate_span_ignored" in row["flags"]) == (told.count("a") != told.count("b"))
