"""Langfuse: parts outside the total, nested observations, several at the top."""

from __future__ import annotations

from dataclasses import replace

from ingest.formats.contract import RawSpan
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
