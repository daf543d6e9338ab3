"""Langfuse: parts outside the total, nested observations, several at the top."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.formats.contract import RawSpan
from tests.support.loads import load_bytes, load_files, write
from tests.support.readers import DATA, rejects, spans, told_format


def test_cached_and_reasoning_parts_are_added_to_the_total() -> None:
    path = DATA / "langfuse" / "good.json"
    assert told_format(path) == "langfuse"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="a1b2c3d4e5f60718",
            parent_span_id=None,
            name="support",
            kind=1,
            start_ns=1794823200000000000,
            end_ns=1794823204000000000,
            status_code=0,
            attributes={
                "langfuse.observation.type": "agent",
                "gen_ai.usage.input_tokens": "540",
                "gen_ai.usage.output_tokens": "90",
                "user.id": "mail-72497f475e4f76d0",
                "session.id": "s-1",
                "langfuse.trace.name": "support-chat",
                "langfuse.environment": "prod",
                "langfuse.trace.tags": "web",
            },
            scope="langfuse-sdk",
            line=15,
        ),
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="b1b2c3d4e5f60718",
            parent_span_id="a1b2c3d4e5f60718",
            name="answer",
            kind=3,
            start_ns=1794823200250000000,
            end_ns=1794823203750000000,
            status_code=0,
            attributes={
                "langfuse.observation.type": "generation",
                "gen_ai.response.model": "m-9b",
                "gen_ai.usage.input_tokens": "540",
                "gen_ai.usage.output_tokens": "90",
                "gen_ai.usage.cache_read.input_tokens": "420",
                "gen_ai.usage.reasoning.output_tokens": "20",
                "gen_ai.cost.total_cost": "0.0008",
                "gen_ai.response.time_to_first_chunk": "0.550000000",
                "gen_ai.request.stream": "true",
                "user.id": "mail-72497f475e4f76d0",
                "session.id": "s-1",
                "langfuse.trace.name": "support-chat",
                "langfuse.environment": "prod",
                "langfuse.trace.tags": "web",
            },
            scope="langfuse-sdk",
            line=36,
        ),
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="c1b2c3d4e5f60718",
            parent_span_id="a1b2c3d4e5f60718",
            name="embed",
            kind=1,
            start_ns=1794823200050000000,
            end_ns=1794823200150000000,
            status_code=0,
            attributes={
                "langfuse.observation.type": "embedding",
                "gen_ai.response.model": "e-1",
                "gen_ai.usage.input_tokens": "12",
                "user.id": "mail-72497f475e4f76d0",
                "session.id": "s-1",
                "langfuse.trace.name": "support-chat",
                "langfuse.environment": "prod",
                "langfuse.trace.tags": "web",
            },
            scope="langfuse-sdk",
            line=62,
        ),
    ]
    assert rejects(path) == []


def test_several_observations_at_the_top_get_the_trace_as_parent() -> None:
    path = DATA / "langfuse" / "observations.jsonl"
    assert told_format(path) == "langfuse"
    assert spans(path) == [
        RawSpan(
            trace_id="7d962b028e7406e0ebec239b6fe2e649",
            span_id="d1b2c3d4e5f60718",
            parent_span_id="d110f71822e61adf",
            name="plan",
            kind=3,
            start_ns=1794826800000000000,
            end_ns=1794826801500000000,
            status_code=2,
            attributes={
                "langfuse.observation.type": "generation",
                "gen_ai.response.model": "m-9b",
                "gen_ai.usage.input_tokens": "10",
                "gen_ai.usage.output_tokens": "0",
                "user.id": "u-4",
                "langfuse.trace.name": "orders",
            },
            scope="langfuse-sdk",
            line=1,
        ),
        RawSpan(
            trace_id="7d962b028e7406e0ebec239b6fe2e649",
            span_id="e1b2c3d4e5f60718",
            parent_span_id="d110f71822e61adf",
            name="write",
            kind=3,
            start_ns=1794826801600000000,
            end_ns=1794826803000000000,
            status_code=0,
            attributes={
                "langfuse.observation.type": "generation",
                "gen_ai.response.model": "m-9b",
                "gen_ai.usage.input_tokens": "400",
                "gen_ai.usage.output_tokens": "40",
                "gen_ai.usage.cache_read.input_tokens": "100",
                "gen_ai.cost.total_cost": "0.0012",
                "gen_ai.response.time_to_first_chunk": "0.300000000",
                "gen_ai.request.stream": "true",
                "user.id": "u-4",
                "langfuse.trace.name": "orders",
            },
            scope="langfuse-sdk",
            line=2,
        ),
        RawSpan(
            trace_id="7d962b028e7406e0ebec239b6fe2e649",
            span_id="d110f71822e61adf",
            parent_span_id=None,
            name="orders",
            kind=1,
            start_ns=1794826800000000000,
            end_ns=1794826803000000000,
            status_code=0,
            attributes={"langfuse.observation.type": "span"},
            scope="langfuse-sdk",
            is_made=True,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_download_keeps_its_whole_observations() -> None:
    path = DATA / "langfuse" / "torn.json"
    assert rejects(path) == [("torn_line", 36)]
    assert len(spans(path)) == 1


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "langfuse" / "observations_torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(spans(path)) == 1


def test_a_table_tells_what_the_lines_tell() -> None:
    lines, table = (spans(DATA / "langfuse" / f"observations.{kind}") for kind in ("jsonl", "csv"))
    assert [replace(span, line=None) for span in table] == [replace(span, line=None) for span in lines]


TRACE = {
    "id": "t-1",
    "timestamp": "2026-11-16T10:00:00.000Z",
    "name": "support-chat",
    "userId": "u-7",
    "sessionId": "s-7",
    "release": None,
    "tags": ["web"],
    "public": False,
    "bookmarked": False,
    "projectId": "p",
    "input": "private",
    "output": "private",
    "observations": ["o-1", "o-2"],
    "latency": 4.0,
}
OBSERVATIONS: list[dict[str, object]] = [
    {
        "id": "o-1",
        "traceId": "t-1",
        "type": "SPAN",
        "name": "answer",
        "startTime": "2026-11-16T10:00:00.000Z",
        "endTime": "2026-11-16T10:00:04.000Z",
        "parentObservationId": None,
        "usage": {"input": 0, "output": 0, "total": 0, "unit": None},
    },
    {
        "id": "o-2",
        "traceId": "t-1",
        "type": "GENERATION",
        "name": "model",
        "model": "m-9b",
        "startTime": "2026-11-16T10:00:01.000Z",
        "endTime": "2026-11-16T10:00:03.000Z",
        "parentObservationId": "o-1",
        "usage": {"input": 120, "output": 30, "total": 150, "unit": "TOKENS"},
        "promptTokens": 120,
        "completionTokens": 30,
        "calculatedTotalCost": 0.0025,
    },
]
SEEN = ("user", "session", "scenario", "model", "input_tokens", "output_tokens", "source_cost_usd", "e2e_ns", "flags")


def as_lines(*rows: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("names", [("a-traces", "b-observations"), ("b-traces", "a-observations")])
@pytest.mark.parametrize("layout", ["lines", "array", "page"])
def test_user_and_session_of_a_trace_in_a_file_of_its_own_join_its_observations(
    names: tuple[str, str], layout: str, tmp_path: Path
) -> None:
    contents = {
        "lines": (as_lines(TRACE), as_lines(*OBSERVATIONS)),
        "array": (json.dumps([TRACE]).encode(), json.dumps(OBSERVATIONS).encode()),
        "page": (
            json.dumps({"data": [TRACE], "meta": {"page": 1}}).encode(),
            json.dumps({"data": OBSERVATIONS, "meta": {"page": 1}}).encode(),
        ),
    }[layout]
    paths = write(tmp_path, dict(zip((f"{name}.json" for name in names), contents, strict=True)))
    receipts, requests = load_files(*sorted(paths))
    assert [(receipt.format, receipt.rejected) for receipt in receipts] == [("langfuse", 0)] * 2
    (row,) = requests.to_dicts()
    assert {name: row[name] for name in SEEN if name != "flags"} == {
        "user": "u-7",
        "session": "s-7",
        "scenario": "support-chat",
        "model": "m-9b",
        "input_tokens": 120,
        "output_tokens": 30,
        "source_cost_usd": 2_500_000_000,
        "e2e_ns": 4_000_000_000,
    }
    (_, alone) = load_files(paths[1])
    without = alone.drop("user", "session", "scenario", "upload_id", "attributes")
    assert without.equals(requests.drop("user", "session", "scenario", "upload_id", "attributes"))
    (_, nothing) = load_files(paths[0])
    assert nothing.is_empty()


def test_a_trace_of_the_api_with_its_observations_inside_is_one_request(tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, json.dumps(TRACE | {"observations": OBSERVATIONS}).encode(), "trace.json")
    assert (receipt.format, receipt.read, receipt.rejected) == ("langfuse", 2, 0)
    assert requests.select("user", "session", "output_tokens").rows() == [("u-7", "s-7", 30)]


def test_a_trace_without_id_or_time_is_refused_without_its_content(tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, as_lines(TRACE, TRACE | {"id": ""}, TRACE | {"timestamp": "soon"}), "t.jsonl")
    assert [(told.line, told.reason, told.detail) for told in receipt.rejects] == [
        (2, "no_trace_id", 'id: "" is none'),
        (3, "start_unset", 'timestamp: "soon" is none'),
    ]
    assert "private" not in json.dumps(receipt.to_json())


def test_version_and_prompt_of_an_observation_stay_with_the_request(tmp_path: Path) -> None:
    told = {
        "trace_id": "t", "id": "o", "type": "GENERATION", "start_time": "2026-03-02 10:00:00", "usage_details": {"input": 3},
        "end_time": "2026-03-02 10:00:01", "version": "v7", "prompt_name": "triage", "prompt_version": 4,
    }  # fmt: skip
    receipt, requests = load_bytes(
        tmp_path, json.dumps(told).encode() + b"\n" + json.dumps(told).encode() + b"\n", "o.jsonl"
    )
    assert (receipt.format, receipt.not_understood) == ("langfuse", {})
    kept = json.loads(requests["attributes"][0])
    assert (kept["langfuse.version"], kept["langfuse.prompt.name"], kept["langfuse.prompt.version"]) == (
        "v7",
        "triage",
        "4",
    )


@pytest.mark.parametrize("layout", ["lines", "download", "inside"])
def test_a_span_above_several_at_the_top_is_no_row_of_the_source(layout: str, tmp_path: Path) -> None:
    several = [one | {"parentObservationId": None} for one in OBSERVATIONS]
    contents = {
        "lines": [as_lines(*several), as_lines(*several) + b"\n", as_lines(*several[:1])],
        "download": [json.dumps({"trace": TRACE, "observations": told}).encode() for told in (several, several[::-1])],
        "inside": [json.dumps(TRACE | {"observations": told}).encode() for told in (several, several[::-1])],
    }[layout]
    paths = write(tmp_path, {f"{n}.json": content for n, content in enumerate(contents)})
    receipts, requests = load_files(*paths)
    assert [(told.read, told.accepted, told.duplicate) for told in receipts] == [(2, 2, 0), (2, 0, 2), (1, 0, 1)][
        : len(paths)
    ]
    assert requests.select("root", "llm_calls").rows() == [("support-chat" if layout != "lines" else "trace", 1)]


def test_traces_without_a_span_above_their_roots_are_told(tmp_path: Path) -> None:
    days = [one | {"parentObservationId": None} for one in OBSERVATIONS]
    days[1] |= {"startTime": "2026-03-09T10:00:00Z", "endTime": "2026-03-09T10:00:01Z"}
    receipt, _ = load_bytes(tmp_path, as_lines(*days), "o.jsonl")
    assert (receipt.read, receipt.accepted, receipt.rejected) == (2, 2, 0)
    assert receipt.notes == (
        "1 trace gets no span above its several roots: it lasts longer than 24 hours, the mark of an unset start",
    )
