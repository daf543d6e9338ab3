"""Protobuf messages as columns: every field, every kind of value, and the same text as the plain reader tells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from google.protobuf.internal.encoder import _VarintBytes
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from ingest.errors import UnreadableInput
from ingest.formats import otlp_alike, otlp_columns, otlp_compiled
from ingest.formats.contract import RawSpan
from ingest.formats.otlp_columns import CHUNK_SPANS, Columns, Piece
from ingest.formats.otlp_library import KnownAttributes, class_of, text_of
from ingest.formats.otlp_wire import FEW
from tests.support.examples import tried
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


@pytest.fixture(autouse=True, scope="module", params=[1, otlp_alike.LEAST, "compiled"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few spans are read as many are, as few are, and by compiled code."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(otlp_columns, "plain", otlp_compiled.kernel)
        else:
            patch.setattr(otlp_alike, "LEAST", request.param)
        yield


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


def test_spans_with_long_texts_come_in_smaller_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_columns, "CHUNK_BYTES", 3_000)
    columns = Columns()
    for place in range(5):
        columns.add(body(Span(name="a", attributes=[attribute("prompt", string_value="x" * 1_000)])), place)
    piece = columns.piece()
    assert (piece.spans.n_chunks(), piece.spans["place"].to_list()) == (2, [0, 1, 2, 3, 4])
    assert piece.spans["vals"].to_list() == [["x" * 1_000]] * 5


def test_a_message_that_cannot_be_read_leaves_nothing_behind() -> None:
    good = body(Span(name="a", attributes=[attribute("k", int_value=1)]))
    at = good.index(b"k\x12\x02\x18\x01")
    columns = Columns()
    columns.add(good[:at] + b"k\x12\x7f\x18\x01" + good[at + 5 :], 0)
    columns.add(body(Span(name="b")), 1)
    with pytest.raises(UnreadableInput, match="no protobuf ExportTraceServiceRequest"):
        columns.add(b"\xff\xff\xff", 2)
    piece = columns.piece()
    assert (piece.broken, piece.spans["name"].to_list()) == ((0,), ["b"])
    assert columns.piece().broken == ()


def test_text_that_is_not_utf8_costs_its_own_characters_alone() -> None:
    good = body(
        Span(name="nXme", attributes=[attribute("kXey", string_value="vXalue" * 40), attribute("b", int_value=1)])
    )
    (span,) = spans_of(piece_of(good.replace(b"X", b"\xff")))
    assert span.name == "n\ufffdme"
    assert span.attributes == {"k\ufffdey": "v\ufffdalue" * 40, "b": "1"}


def test_figures_that_are_no_numbers_are_told_as_such() -> None:
    values = [math.nan, math.inf, -math.inf, -0.0, 1e-5, 1e22, 5e-324]
    span = Span(attributes=[attribute(f"k{i}", double_value=value) for i, value in enumerate(values)])
    (read,) = spans_of(piece_of(body(span)))
    assert list(read.attributes.values()) == ["nan", "inf", "-inf", "-0.0", "1e-05", "1e+22", "5e-324"]


PLAIN = st.one_of(
    st.text(max_size=140).map(lambda value: {"string_value": value}),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: {"int_value": value}),
    st.floats().map(lambda value: {"double_value": value}),
    st.booleans().map(lambda value: {"bool_value": value}),
    st.binary(max_size=20).map(lambda value: {"bytes_value": value}),
)


@settings(parent=tried(60), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.tuples(st.text(max_size=130), PLAIN), max_size=8), max_size=20))
def test_attributes_are_told_as_the_plain_reader_tells_them(spans: list[list[tuple[str, dict[str, Any]]]]) -> None:
    told = [Span(attributes=[attribute(name, **value) for name, value in pairs]) for pairs in spans]
    piece = piece_of(body(*told))
    names = dict(piece.shapes.rows())
    assert [
        list(zip(names[shape], vals, strict=True)) for shape, vals in piece.spans.select("shape", "vals").rows()
    ] == [[(pair.key, text(pair.value)) for pair in span.attributes] for span in told]


@pytest.mark.parametrize("n", [1, FEW, FEW + 1])
@pytest.mark.parametrize("number", [0, 1, 127, 128, 2**31, 2**48, 2**56, 2**63 - 1, -1, -(2**63)])
def test_whole_numbers_of_every_width_are_exact(number: int, n: int) -> None:
    span = Span(
        kind=Span.SPAN_KIND_SERVER,
        attributes=[attribute("k", int_value=number)] * 2,
        dropped_events_count=number % 2**32,
    )
    piece = piece_of(body(*[span] * n))
    assert piece.spans["vals"].to_list() == [[str(number)] * 2] * n
    assert piece.spans["dropped"].to_list() == [number % 2**32] * n


@pytest.mark.parametrize("n", [1, FEW, FEW + 1])
@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
def test_texts_of_every_length_are_read(size: int, n: int) -> None:
    long = attribute("k" * min(size, 20_000), string_value="v" * size)
    span = Span(name="n" * size, attributes=[long, attribute("k", bool_value=True)])
    piece = piece_of(body(*[span] * n))
    assert piece.spans["name"].to_list() == ["n" * size] * n
    assert piece.spans["vals"].to_list() == [["v" * size, "true"]] * n
    assert [name for name in piece.shapes["names"].to_list() if name] == [["k" * min(size, 20_000), "k"]]


def test_a_span_with_very_many_events_and_attributes_is_read_beside_others() -> None:
    many = Span(
        attributes=[attribute(f"k{i % 7}", int_value=i) for i in range(5_000)],
        events=[
            Span.Event(name="gen_ai.content.completion.chunk", time_unix_nano=START + i * i) for i in range(1, 3_000)
        ],
    )
    piece = piece_of(
        body(*[Span(name="a")] * 10, many, *[Span(name="b", attributes=[attribute("k1", int_value=1)])] * 10)
    )
    assert piece.spans["vals"].list.len().to_list() == [0] * 10 + [5_000] + [1] * 10
    assert piece.spans["vals"][10].to_list() == [str(i) for i in range(5_000)]
    assert piece.spans["event_first_ns"].to_list() == [None] * 10 + [START + 1] + [None] * 10
    assert piece.spans["event_gap_ns"][10] == 2_999**2 - 2_998**2


def test_spans_written_otherwise_than_usual_are_read_by_the_library() -> None:
    usual = Span(
        name="a",
        trace_id=b"t" * 16,
        status=Status(message="why", code=Status.STATUS_CODE_ERROR),
        attributes=[attribute("k", int_value=3)],
    )
    data = usual.SerializeToString()
    group = b"\x9b\x06\x08\x01\x9c\x06"  # field 99, as a group
    unknown = b"\x9a\x06\x01x"
    wide = b"\xaa\x80\x00\x01b"  # tag of the name in three bytes
    twice = Span(name="c", status=Status(code=Status.STATUS_CODE_OK)).SerializeToString()
    odd = [group + data, data + unknown, data + wide, data + twice, data]
    piece = piece_of(body_of(odd))
    assert piece.spans.select("name", "status", "vals").rows() == [
        ("a", 2, ["3"]),
        ("a", 2, ["3"]),
        ("b", 2, ["3"]),
        ("c", 1, ["3"]),
        ("a", 2, ["3"]),
    ]


def body_of(spans: list[bytes]) -> bytes:
    """One export request with spans as they are, which may be none."""
    scope = b"".join(field(b"\x12", span) for span in spans)
    return field(b"\x0a", field(b"\x12", scope))


def field(tag: bytes, content: bytes) -> bytes:
    return tag + bytes(_VarintBytes(len(content))) + content


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "trace_id": st.binary(max_size=17),
        "span_id": st.binary(max_size=9),
        "parent_span_id": st.binary(max_size=9),
        "name": st.text(max_size=200),
        "trace_state": st.text(max_size=5),
        "kind": st.integers(0, 5),
        "flags": st.integers(0, 2**32 - 1),
        "start_time_unix_nano": st.integers(0, 2**64 - 1),
        "end_time_unix_nano": st.integers(0, 2**64 - 1),
        "dropped_events_count": st.integers(0, 2**32 - 1),
        "dropped_attributes_count": st.integers(0, 2**32 - 1),
        "status": st.builds(Status, message=st.text(max_size=3), code=st.integers(0, 2)),
        "attributes": st.lists(
            st.builds(lambda name, value: attribute(name, **value), st.text(max_size=45), PLAIN), max_size=4
        ),
        "links": st.lists(st.builds(Span.Link, trace_id=st.binary(max_size=3)), max_size=2),
        "events": st.lists(
            st.builds(
                Span.Event, name=st.sampled_from(["exception", "gen_ai.first_token"]), time_unix_nano=st.integers(1, 9)
            ),
            max_size=2,
        ),
    },
)
FLIPS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3)


@settings(parent=tried(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(FIELDS, FLIPS, st.binary(max_size=4)), min_size=1, max_size=14))
def test_bytes_that_are_changed_are_read_as_the_library_reads_them(told: list[tuple[Any, Any, bytes]]) -> None:
    spans: list[bytes] = []
    for fields, flips, tail in told:
        data = bytearray(Span(**fields).SerializeToString() + tail)
        for at, byte in flips if data else ():
            data[at % len(data)] = byte
        spans.append(bytes(data))
    columns = Columns()
    for place, span in enumerate(spans):
        columns.add(body_of([span]), place)
    piece = columns.piece()
    names = dict(piece.shapes.rows())
    expected = {place: row for place, span in enumerate(spans) if (row := by_library(span)) is not None}
    found = {
        row["place"]: (
            *(row[name] for name in ("trace_id", "span_id", "parent_id", "name", "trace_state", "kind", "started")),
            *(row[name] for name in ("ended", "status", "dropped", "event_first_ns")),
            list(zip(names[row["shape"]], row["vals"], strict=True)),
        )
        for row in piece.spans.to_dicts()
    }
    assert found == expected
    assert piece.broken == tuple(place for place in range(len(spans)) if place not in expected)


def by_library(data: bytes) -> tuple[Any, ...] | None:
    """The same figures of one span, field by field."""
    known = KnownAttributes()
    try:
        span = class_of("Span").FromString(data)
        pairs = [known[pair] for pair in span.attributes]
        for event in span.events:
            if event.name == b"exception":
                list(map(known.__getitem__, event.attributes))
    except DecodeError:
        return None
    firsts = [e.time_unix_nano for e in span.events if e.name == b"gen_ai.first_token" and 0 < e.time_unix_nano < 2**63]
    return (
        *(span.trace_id, span.span_id, span.parent_span_id, text_of(span.name), text_of(span.trace_state)),
        *(span.kind, span.start_time_unix_nano, span.end_time_unix_nano, span.status.code, span.dropped_events_count),
        min(firsts, default=None),
        [(name, told) for name, told in pairs if name is not None],
    )


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
    assert told.spans["vals"].to_list() == [[], []]
