"""Protobuf messages as columns: every field, every kind of value, and the same text as the plain reader tells."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from ingest.errors import UnreadableInput
from ingest.formats.contract import RawSpan
from ingest.formats.otlp_columns import CHUNK_SPANS, KNOWN_LIMIT, Columns, KnownAttributes, Piece
from tests.support.otlp_rows import SPAN, START, TRACE, attribute, body, text
from tests.support.readers import spans_of


def piece_of(*bodies: bytes, promoted: tuple[str, ...] = ()) -> Piece:
    columns = Columns(promoted)
    for place, message in enumerate(bodies):
        columns.add(message, place)
    return columns.piece()


def test_every_field_of_a_span_is_read() -> None:
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
        events=[
            Span.Event(name="gen_ai.first_token", time_unix_nano=START + 1),
            Span.Event(name="exception", attributes=[attribute("exception.type", string_value="Late")]),
        ],
    )
    piece = piece_of(body(span))
    assert list(spans_of(piece)) == [
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
            dropped_events=2,
            trace_state="ot=th:8",
        )
    ]
    assert piece.spans.select("event_first_ns", "event_error", "event_gap_ns").rows() == [(START + 1, "Late", None)]


def test_promoted_attributes_of_the_resource_stand_with_their_group() -> None:
    piece = piece_of(body(Span(name="a")), promoted=("service.name", "x.team"))
    assert piece.groups["extra"].to_list() == [["gateway", ""]]


def test_many_spans_come_in_chunks_and_the_next_piece_begins_anew() -> None:
    columns = Columns()
    columns.add(body(*(Span(name="a") for _ in range(CHUNK_SPANS))), 1)
    columns.add(body(Span(name="b")), 2)
    assert columns.n_spans == CHUNK_SPANS + 1
    piece = columns.piece()
    assert (piece.spans.n_chunks(), piece.spans["place"].unique().sort().to_list()) == (2, [1, 2])
    assert columns.n_spans == 0
    assert columns.piece().spans.height == 0


def test_a_message_that_cannot_be_read_leaves_nothing_behind() -> None:
    good = body(Span(name="a", attributes=[attribute("k", int_value=1)]))
    at = good.index(b"k\x12\x02\x18\x01")
    columns = Columns()
    with pytest.raises(UnreadableInput, match="no protobuf ExportTraceServiceRequest"):
        columns.add(good[:at] + b"k\x12\x7f\x18\x01" + good[at + 5 :], 0)
    with pytest.raises(UnreadableInput):
        columns.add(b"\xff\xff\xff", 0)
    assert (columns.n_spans, columns.piece().spans.height) == (0, 0)


def test_text_that_is_not_utf8_costs_its_own_characters_alone() -> None:
    good = body(
        Span(name="nXme", attributes=[attribute("kXey", string_value="vXalue" * 40), attribute("b", int_value=1)])
    )
    (span,) = spans_of(piece_of(good.replace(b"X", b"\xff")))
    assert span.name == "n\ufffdme"
    assert span.attributes == {"k\ufffdey": "v\ufffdalue" * 40, "b": "1"}


def test_the_separator_within_a_value_becomes_a_blank() -> None:
    span = Span(attributes=[attribute("k", string_value="a\x1fb"), attribute("l", string_value="c")])
    (read,) = spans_of(piece_of(body(span)))
    assert read.attributes == {"k": "a b", "l": "c"}


def test_figures_that_are_no_numbers_are_told_as_such() -> None:
    values = [math.nan, math.inf, -math.inf, -0.0, 1e-5, 1e22, 5e-324]
    span = Span(attributes=[attribute(f"k{i}", double_value=value) for i, value in enumerate(values)])
    (read,) = spans_of(piece_of(body(span)))
    assert list(read.attributes.values()) == ["NaN", "Infinity", "-Infinity", "-0.0", "1e-05", "1e+22", "5e-324"]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 2**31, 2**63 - 1, -1, -(2**63)])
def test_whole_numbers_of_every_width_are_exact(number: int) -> None:
    known = KnownAttributes()
    for _ in range(2):  # read by the library, then by its layout
        known.clear()
        assert known[attribute("k", int_value=number).SerializeToString()] == ("k", str(number))


def test_what_is_kept_is_bounded() -> None:
    known = KnownAttributes()
    for number in range(KNOWN_LIMIT + 10):
        assert known[attribute("k", int_value=number).SerializeToString()] == ("k", str(number))
    assert len(known) < 100
    assert known[attribute("k", string_value="x" * 10_000).SerializeToString()][1] == "x" * 10_000
    assert len(known) < 100


PLAIN = st.one_of(
    st.text(max_size=140).map(lambda value: {"string_value": value}),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: {"int_value": value}),
    st.floats().map(lambda value: {"double_value": value}),
    st.booleans().map(lambda value: {"bool_value": value}),
    st.binary(max_size=20).map(lambda value: {"bytes_value": value}),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.text(max_size=130), PLAIN), max_size=8))
def test_attributes_are_told_as_the_plain_reader_tells_them(pairs: list[tuple[str, dict[str, Any]]]) -> None:
    known = KnownAttributes()
    for name, value in [*pairs, *pairs]:
        pair = attribute(name, **value)
        assert known[pair.SerializeToString()] == (name, text(pair.value).replace("\x1f", " "))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=24), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=3))
def test_bytes_that_are_changed_are_told_as_the_library_tells_them(tail: bytes, flips: list[tuple[int, int]]) -> None:
    known = KnownAttributes()
    for value in ({"string_value": "abc"}, {"int_value": 300}, {"double_value": 1.5}, {"bool_value": True}):
        data = attribute("key", **value).SerializeToString()
        assert known[data] == ("key", text(attribute("key", **value).value))
        changed = bytearray(data + tail)
        for at, byte in flips:
            changed[at % len(changed)] = byte
        said = bytes(changed)
        known.clear()
        by_layout, by_library = _told(known, said), _told(KnownAttributes(), said)
        assert by_layout == by_library


def _told(known: KnownAttributes, data: bytes) -> tuple[str | None, str] | str:
    try:
        return known[data]
    except Exception as error:  # of the library: both ways must end in the same
        return type(error).__name__


def test_the_frames_have_their_types_without_spans_too() -> None:
    piece = Columns().piece()
    assert (piece.spans.height, piece.spans.schema["trace_id"], piece.shapes.schema["names"]) == (
        0,
        pl.Binary(),
        pl.List(pl.String()),
    )


@pytest.mark.parametrize("n", [1, 3])
def test_a_span_whose_attributes_all_lack_a_value_has_none(n: int) -> None:
    empty = [KeyValue(key=f"empty{i}") for i in range(n)]
    span = Span(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
        attributes=empty,
        events=[Span.Event(name="exception", attributes=empty)],
    )
    request = ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=empty),
                scope_spans=[ScopeSpans(scope=InstrumentationScope(attributes=empty), spans=[span, span])],
            )
        ]
    )
    told = piece_of(request.SerializeToString())
    assert [(one.attributes, one.resource) for one in spans_of(told)] == [({}, {}), ({}, {})]
    assert told.spans["vals"].to_list() == [None, None]
