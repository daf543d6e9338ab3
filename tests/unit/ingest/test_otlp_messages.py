"""OTLP bodies: protobuf as spans, and which spans of a body cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ingest.errors import UnreadableInput
from ingest.formats.contract import RawReject, RawSpan
from ingest.formats.otlp_messages import check_json, read_protobuf

START = 1_772_000_000_000_000_000
TRACE, SPAN = "0102030405060708090a0b0c0d0e0f10", "1112131415161718"


def attribute(key: str, **value: Any) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(**value))


def body(*spans: Span) -> bytes:
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    resource_spans.resource.attributes.append(attribute("service.name", string_value="gateway"))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "vllm"
    scope_spans.spans.extend(spans)
    return bytes(message.SerializeToString())


def test_every_field_of_a_protobuf_span_is_read() -> None:
    span = Span(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
        parent_span_id=bytes.fromhex("2122232425262728"),
        name="llm_request",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=START,
        end_time_unix_nano=START + 5,
        trace_state="ot=th:8",
        dropped_events_count=2,
        status=Status(code=Status.STATUS_CODE_ERROR),
        attributes=[
            attribute("text", string_value="a"),
            attribute("whole", int_value=7),
            attribute("real", double_value=0.25),
            attribute("flag", bool_value=True),
            attribute("bytes", bytes_value=b"\x00\xff"),
            attribute("list", array_value=ArrayValue(values=[AnyValue(string_value="stop"), AnyValue(int_value=1)])),
            attribute("map", kvlist_value=KeyValueList(values=[attribute("k", bool_value=False)])),
            KeyValue(key="empty"),
        ],
        events=[Span.Event(name="first_token", time_unix_nano=START + 1, attributes=[attribute("n", int_value=1)])],
    )
    assert list(read_protobuf(body(span))) == [
        RawSpan(
            trace_id=TRACE,
            span_id=SPAN,
            parent_span_id="2122232425262728",
            name="llm_request",
            kind=2,
            start_ns=START,
            end_ns=START + 5,
            status_code=2,
            attributes={
                "text": "a",
                "whole": "7",
                "real": "0.25",
                "flag": "true",
                "bytes": "AP8=",
                "list": '{"values":[{"stringValue":"stop"},{"intValue":"1"}]}',
                "map": '{"values":[{"key":"k","value":{"boolValue":false}}]}',
            },
            resource={"service.name": "gateway"},
            scope="vllm",
            events=(("first_token", START + 1, {"n": "1"}),),
            dropped_events=2,
            trace_state="ot=th:8",
        )
    ]


IMPOSSIBLE = [
    ("", SPAN, START, START + 1, "no_trace_id"),
    ("0" * 32, SPAN, START, START + 1, "zero_trace_id"),
    (TRACE, "", START, START + 1, "no_span_id"),
    (TRACE, "0" * 16, START, START + 1, "no_span_id"),
    (TRACE, SPAN, 0, START, "start_unset"),
    (TRACE, SPAN, 5, START, "time_out_of_range"),
    (TRACE, SPAN, START, START - 1, "end_before_start"),
    (TRACE, SPAN, START, START + 90_000_000_000_000, "duration_too_long"),
]


@pytest.mark.parametrize(("trace_id", "span_id", "start", "end", "reason"), IMPOSSIBLE)
def test_a_span_that_cannot_be_is_refused_with_its_reason(
    trace_id: str, span_id: str, start: int, end: int, reason: str
) -> None:
    span = Span(
        trace_id=bytes.fromhex(trace_id),
        span_id=bytes.fromhex(span_id),
        name="n",
        start_time_unix_nano=start,
        end_time_unix_nano=end,
    )
    good = Span(trace_id=b"\x01" * 16, span_id=b"\x01" * 8, start_time_unix_nano=START, end_time_unix_nano=START)
    refused, kept = read_protobuf(body(span, good))
    told = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": "n",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
    }
    said = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]}).encode()
    expected = RawReject(None, None, reason, f"n {trace_id}")
    assert (refused, isinstance(kept, RawSpan), check_json(said)) == (expected, True, (1, [expected]))


def test_a_span_that_is_still_open_is_no_fault() -> None:
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x01" * 8, start_time_unix_nano=START)
    (row,) = read_protobuf(body(span))
    assert isinstance(row, RawSpan)
    assert row.end_ns == 0


@pytest.mark.parametrize("said", [b"\xff\xff\xff", b'{"resourceSpans": [', b"50,99.9", b'"cut'])
def test_bytes_that_are_no_body_are_refused(said: bytes) -> None:
    with pytest.raises(UnreadableInput) as caught:
        list(read_protobuf(said)) if said[:1] == b"\xff" else check_json(said)
    assert caught.value.code == "malformed_body"


def test_json_in_an_unusual_spelling_is_left_to_the_store() -> None:
    said = {"resource_spans": [], "resourceSpans": [{"scopeSpans": [{"spans": [{"name": {"odd": 1}}]}]}]}
    assert check_json(json.dumps(said).encode()) == (0, [])


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(UnreadableInput, match="no object with resourceSpans"):
        check_json(b"[1]")


def nested(levels: int) -> bytes:
    """A body whose one attribute is a list in a list, `levels` deep, beside a text with lone brackets."""
    value = b'{"arrayValue":{"values":[' * levels + b'{"stringValue":"]}]{[{["}' + b"]}}" * levels
    head = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","startTimeUnixNano":"%d",'
    return head % (TRACE.encode(), SPAN.encode(), START) + b'"attributes":[{"key":"k","value":' + value + b"}]}]}]}]}"


def test_a_json_body_may_nest_as_deep_as_attributes_do() -> None:
    assert check_json(nested(80)) == (1, [])


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"resourceSpans":' + b"[" * 200_000,
        b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"resourceSpans":5,"x":' + b"[" * 300 + b"]" * 300 + b"}",
        nested(90),
        nested(400),
    ],
    ids=["brackets", "brackets of spans", "pairs", "pairs of an odd spelling", "90 deep", "400 deep"],
)
def test_a_json_body_that_nests_deeper_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableInput) as caught:
        check_json(data)
    assert (caught.value.message, caught.value.code) == (
        "the body is JSON that nests deeper than 256 levels",
        "malformed_body",
    )
