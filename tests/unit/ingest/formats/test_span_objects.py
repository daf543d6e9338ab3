"""Span objects of JavaScript and Python."""

from __future__ import annotations

from ingest.formats.contract import RawSpan
from tests.support.readers import DATA, rejects, spans, told_format


def test_pairs_of_seconds_and_nanoseconds_are_exact() -> None:
    path = DATA / "span_objects" / "good.json"
    assert told_format(path) == "span_objects"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="39d6e9b3ddec9996",
            parent_span_id="29d6e9b3ddec9996",
            name="ai.streamText.doStream",
            kind=3,
            start_ns=1770131992242000000,
            end_ns=1770131994021415667,
            status_code=0,
            attributes={
                "gen_ai.usage.input_tokens": "14",
                "gen_ai.response.finish_reasons": '["stop"]',
                "ai.response.msToFirstChunk": "426.8535",
            },
            resource={"service.name": "web"},
            scope="ai",
            events=(("ai.stream.firstChunk", 1770131992668000001, {}),),
            line=2,
        ),
    ]
    assert rejects(path) == []


def test_pretty_printed_spans_one_after_another_are_read() -> None:
    path = DATA / "span_objects" / "python.txt"
    assert told_format(path) == "span_objects"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="39d6e9b3ddec9996",
            parent_span_id=None,
            name="chat m-9b",
            kind=3,
            start_ns=1770131992242000000,
            end_ns=1770131994021415000,
            status_code=2,
            attributes={"gen_ai.usage.output_tokens": "20"},
            resource={"service.name": "web"},
            events=(("exception", 1770131993000000000, {"exception.type": "TimeoutError"}),),
            line=1,
        ),
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="39d6e9b3ddec9996",
            parent_span_id=None,
            name="second",
            kind=3,
            start_ns=1770131992242000000,
            end_ns=1770131994021415000,
            status_code=2,
            attributes={"gen_ai.usage.output_tokens": "20"},
            resource={"service.name": "web"},
            events=(("exception", 1770131993000000000, {"exception.type": "TimeoutError"}),),
            line=35,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "span_objects" / "torn.json"
    assert rejects(path) == [("torn_line", 2)]
