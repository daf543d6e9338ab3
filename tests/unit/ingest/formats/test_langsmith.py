"""LangSmith: halves, framing chunks, exports."""

from __future__ import annotations

from ingest.formats.contract import RawSpan
from tests.support.readers import DATA, rejects, spans, told_format


def test_halves_are_merged_and_a_run_without_its_patch_is_open() -> None:
    path = DATA / "langsmith" / "good.json"
    assert told_format(path) == "langsmith"
    assert spans(path) == [
        RawSpan(
            trace_id="fe8ffecb72ce4cd2bdb701f34654c391",
            span_id="345f9a7c8780e42d",
            parent_span_id=None,
            name="ChatOpenAI",
            kind=3,
            start_ns=1791752300695375000,
            end_ns=1791752302023816000,
            status_code=0,
            attributes={
                "langsmith.span.kind": "llm",
                "user.id": "u-1",
                "session.id": "s-1",
                "langsmith.trace.name": "ChatOpenAI",
                "gen_ai.response.model": "gpt-x-1",
                "gen_ai.request.model": "gpt-x",
                "gen_ai.provider.name": "openai",
                "gen_ai.response.id": "chatcmpl-9",
                "gen_ai.usage.input_tokens": "9",
                "gen_ai.usage.output_tokens": "9",
                "gen_ai.usage.cache_read.input_tokens": "2",
                "gen_ai.usage.reasoning.output_tokens": "0",
                "gen_ai.response.finish_reasons": "stop",
                "gen_ai.response.time_to_first_chunk": "1.238811000",
                "gen_ai.request.stream": "true",
            },
            scope="langsmith",
            line=1,
        ),
        RawSpan(
            trace_id="0000000072ce4cd2bdb701f34654c391",
            span_id="dabac95cce8ef2c6",
            parent_span_id=None,
            name="Tool",
            kind=1,
            start_ns=1791752301000000000,
            end_ns=0,
            status_code=0,
            attributes={"langsmith.span.kind": "tool", "langsmith.trace.name": "Tool"},
            scope="langsmith",
            line=1,
        ),
    ]
    assert rejects(path) == []


def test_exported_runs_are_spans_of_one_trace() -> None:
    path = DATA / "langsmith" / "runs.jsonl"
    assert told_format(path) == "langsmith"
    assert spans(path) == [
        RawSpan(
            trace_id="fe8ffecb72ce4cd2bdb701f34654c391",
            span_id="a2c2472c8feb5164",
            parent_span_id="345f9a7c8780e42d",
            name="chat",
            kind=3,
            start_ns=1791752300000000000,
            end_ns=1791752302000000000,
            status_code=2,
            attributes={
                "langsmith.span.kind": "llm",
                "gen_ai.usage.input_tokens": "12",
                "gen_ai.usage.output_tokens": "5",
                "gen_ai.cost.total_cost": "0.0000125",
                "gen_ai.response.time_to_first_chunk": "0.500000000",
                "gen_ai.request.stream": "true",
                "error.type": "RateLimitError",
            },
            scope="langsmith",
            line=1,
        ),
        RawSpan(
            trace_id="fe8ffecb72ce4cd2bdb701f34654c391",
            span_id="0394eaef6ae73f9b",
            parent_span_id="345f9a7c8780e42d",
            name="chat",
            kind=1,
            start_ns=1791752300000000000,
            end_ns=1791752302000000000,
            status_code=0,
            attributes={"langsmith.span.kind": "retriever"},
            scope="langsmith",
            line=2,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "langsmith" / "torn.json"
    assert rejects(path) == [("torn_line", 1)]
