"""OTLP bodies: which spans of a body cannot be."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.errors import UnreadableInput
from ingest.formats.contract import RawReject
from ingest.formats.otlp_messages import check_json, check_protobuf
from tests.support.otlp_rows import SPAN, START, TRACE, attribute, body

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
    told = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": "n",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
    }
    said = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]}).encode()
    expected = RawReject(None, None, reason, f"n {trace_id}")
    assert (check_protobuf(body(span, good)), check_json(said)) == ((2, [expected]), (1, [expected]))


def test_a_span_that_is_still_open_is_no_fault() -> None:
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x01" * 8, start_time_unix_nano=START)
    assert check_protobuf(body(span)) == (1, [])


def test_an_attribute_that_cannot_be_read_is_found_before_the_body_is_acknowledged() -> None:
    good = body(Span(trace_id=b"\x01" * 16, attributes=[attribute("k", int_value=1)]))
    at = good.index(b"k\x12\x02\x18\x01")
    with pytest.raises(UnreadableInput):
        check_protobuf(good[:at] + b"k\x12\x7f\x18\x01" + good[at + 5 :])
    assert check_protobuf(good.replace(b"gateway", b"gatew\xffy"))[0] == 1


@pytest.mark.parametrize("said", [b"\xff\xff\xff", b'{"resourceSpans": [', b"50,99.9", b'"cut'])
def test_bytes_that_are_no_body_are_refused(said: bytes) -> None:
    with pytest.raises(UnreadableInput) as caught:
        check_protobuf(said) if said[:1] == b"\xff" else check_json(said)
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
