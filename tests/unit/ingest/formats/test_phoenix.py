"""Phoenix: nested and flattened attributes."""

from __future__ import annotations

from ingest.formats.contract import RawSpan
from tests.support.readers import DATA, rejects, spans, told_format


def test_nested_attributes_get_dotted_names() -> None:
    path = DATA / "phoenix" / "good.jsonl"
    assert told_format(path) == "phoenix"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="39d6e9b3ddec9996",
            parent_span_id=None,
            name="ChatCompletion",
            kind=1,
            start_ns=1794823200000001000,
            end_ns=1794823202000000000,
            status_code=1,
            attributes={
                "llm.model_name": "m-9b",
                "llm.token_count.prompt": "30",
                "llm.token_count.completion": "6",
                "llm.token_count.prompt_details.cache_read": "10",
                "session.id": "s-1",
                "input.value": "private",
                "openinference.span.kind": "LLM",
            },
            scope="openinference",
            events=(("First Token Stream Event", 1794823200500000000, {}),),
            line=1,
        ),
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="49d6e9b3ddec9996",
            parent_span_id="39d6e9b3ddec9996",
            name="ChatCompletion",
            kind=1,
            start_ns=1794823200000001000,
            end_ns=1794823202000000000,
            status_code=2,
            attributes={
                "llm.model_name": "m-9b",
                "llm.token_count.prompt": "30",
                "llm.token_count.completion": "6",
                "llm.token_count.prompt_details.cache_read": "10",
                "session.id": "s-1",
                "input.value": "private",
                "openinference.span.kind": "TOOL",
            },
            scope="openinference",
            events=(("First Token Stream Event", 1794823200500000000, {}),),
            line=2,
        ),
    ]
    assert rejects(path) == []


def test_a_table_has_them_dotted_already() -> None:
    path = DATA / "phoenix" / "good.csv"
    assert told_format(path) == "phoenix"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="39d6e9b3ddec9996",
            parent_span_id=None,
            name="chat",
            kind=1,
            start_ns=1794823200000001000,
            end_ns=1794823202000000000,
            status_code=1,
            attributes={"llm.model_name": "m-9b", "llm.token_count.prompt": "30", "openinference.span.kind": "LLM"},
            scope="openinference",
            line=2,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "phoenix" / "torn.jsonl"
    assert rejects(path) == [("torn_line", 2)]
    assert len(spans(path)) == 1
