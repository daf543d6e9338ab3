"""Compiled code reads messages as arrays and the protobuf library do, whatever stands in them."""

from __future__ import annotations

import sys
from typing import Any

import polars as pl
import pytest
from google.protobuf.internal.encoder import _VarintBytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from ingest import messages
from ingest.errors import UnreadableInput
from ingest.formats import otlp_compiled, wire_compiled
from ingest.formats.otlp_columns import Columns
from ingest.formats.otlp_kernel import Kernel, plain
from tests.support.examples import tried
from tests.support.otlp_rows import START, attribute

SPANS = [
    Span(
        name=f"call {i}",
        span_id=bytes([i] * 8),
        start_time_unix_nano=START + i,
        attributes=[attribute("model", string_value="m"), attribute(f"n.{i}", int_value=i)],
        events=[Span.Event(name="gen_ai.first_token", time_unix_nano=START + 2 * i)] * (i % 3),
    )
    for i in range(6)
]


def resource_spans(service: str, *scopes: tuple[str, list[Span]]) -> ResourceSpans:
    return ResourceSpans(
        resource=Resource(attributes=[attribute("service.name", string_value=service)]),
        scope_spans=[ScopeSpans(scope=InstrumentationScope(name=name), spans=spans) for name, spans in scopes],
        schema_url="https://schema",
    )


def told(kernel: Kernel, bodies: list[bytes]) -> tuple[list[int], tuple[int, ...], list[dict[str, Any]]]:
    """Messages that are refused at once, those that turn out broken, and the spans with all that is told of them."""
    columns, refused = Columns(("service.name",), kernel), []
    for place, body in enumerate(bodies):
        try:
            columns.add(body, place)
        except UnreadableInput:
            refused.append(place)
    piece = columns.piece()
    spans = piece.spans.join(piece.groups, on="group", maintain_order="left")
    spans = spans.join(piece.shapes, on="shape", maintain_order="left").drop("group", "shape")
    return refused, piece.broken, spans.to_dicts()


def field(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + bytes(_VarintBytes(len(content))) + content


RESOURCE = Resource(attributes=[attribute("service.name", string_value="late")]).SerializeToString()
SCOPE = InstrumentationScope(name="vllm").SerializeToString()
TWO = b"".join(field(0x12, span.SerializeToString()) for span in SPANS[:2])
WHOLE = ExportTraceServiceRequest(
    resource_spans=[
        resource_spans("gateway", ("vllm", SPANS[:2]), ("other", SPANS[2:4])),
        resource_spans("engine", ("vllm", SPANS[4:])),
        resource_spans("nothing"),
    ]
).SerializeToString()
BODIES = {
    "whole": WHOLE,
    "empty": b"",
    "resource behind its spans": field(0x0A, field(0x12, field(0x0A, SCOPE) + TWO) + field(0x0A, RESOURCE)),
    "scope behind its spans": field(0x0A, field(0x0A, RESOURCE) + field(0x12, TWO + field(0x0A, SCOPE))),
    "no resource and no scope": field(0x0A, field(0x12, TWO)),
    "resource told twice": field(0x0A, field(0x0A, RESOURCE) * 2 + field(0x12, TWO)),
    "scope told twice": field(0x0A, field(0x12, field(0x0A, SCOPE) + TWO + field(0x0A, b"\x0a\x01z"))),
    "unknown fields": field(0x2A, b"x") + field(0x0A, field(0x3A, b"y") + field(0x12, TWO + field(0x22, b"z"))),
    "a number beside": b"\x10\x07" + WHOLE,
    "a broken resource without spans": field(0x0A, field(0x0A, b"\x0a\x05ab")),
    "a broken scope": field(0x0A, field(0x12, field(0x0A, b"\x0a\x05ab") + TWO)),
    "a length beyond the end": WHOLE[:-3],
    "a length of six bytes": b"\x0a\xff\xff\xff\xff\xff\x01",
    "more small events than there is room for": field(0x0A, field(0x12, field(0x12, b"\x5a\x00\x6a\x00" * 500))),
    "more small spans than are expected": field(0x0A, field(0x12, field(0x12, b"\x30\x01") * 500)),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_message_is_read_as_the_library_reads_it(body: bytes) -> None:
    assert told(otlp_compiled.kernel(), [WHOLE, body, WHOLE]) == told(plain(), [WHOLE, body, WHOLE])


@settings(parent=tried(150), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(BODIES)), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=3)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_messages_with_changed_bytes_are_read_as_the_library_reads_them(
    changed: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    bodies = [WHOLE]
    for name, flips in changed:
        body = bytearray(BODIES[name])
        for at, byte in flips if body else ():
            body[at % len(body)] = byte
        bodies.append(bytes(body))
    assert told(otlp_compiled.kernel(), bodies) == told(plain(), bodies)


@pytest.mark.parametrize("passes", [0, 3, 200])
def test_names_that_are_many_or_alike_keep_apart(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_compiled, "MOST_PASSES", passes)
    names = [f"{'x' * 12}{i % 7}{'middle' * (i % 3)}{i:03}{'y' * 8}" for i in range(400)] + ["", "a", "ab"] * 3
    spans = [Span(name="s", attributes=[attribute(name, int_value=i)]) for i, name in enumerate(names)]
    body = ExportTraceServiceRequest(resource_spans=[resource_spans("a", ("b", spans))]).SerializeToString()
    found = told(otlp_compiled.kernel(), [body, body])
    assert found == told(plain(), [body, body])
    assert [row["names"] for row in found[2]] == [[name] for name in names] * 2


def test_a_table_of_names_that_is_full_costs_time_and_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    full = otlp_compiled._Reader()
    full._n_entries = wire_compiled.SLOTS // 2
    monkeypatch.setattr(full, "_forget", lambda keys: setattr(full, "_keys", keys))
    body = ExportTraceServiceRequest(resource_spans=[resource_spans("a", ("b", SPANS))]).SerializeToString()
    kernel = Kernel(full.read, otlp_compiled.views_of, otlp_compiled.cut)
    assert told(kernel, [body]) == told(plain(), [body])


def test_large_sources_are_read_by_compiled_code_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LARGE_BYTES", 10)
    assert messages.kernel_for(10).views is otlp_compiled.views_of
    monkeypatch.delitem(sys.modules, "ingest.formats.otlp_compiled")
    assert messages.kernel_for(9).views is plain().views
    monkeypatch.setitem(sys.modules, "ingest.formats.otlp_compiled", None)  # as without the extra
    assert messages.kernel_for(10).views is plain().views


def test_columns_of_nothing_usual_are_those_of_the_library() -> None:
    odd = field(0x0A, field(0x12, field(0x12, b"\x0b\x0c" + b"\x2a\x01n") * 3))
    assert told(otlp_compiled.kernel(), [odd]) == told(plain(), [odd])
    assert isinstance(told(plain(), [WHOLE])[2][0]["vals"], list)
    assert pl.DataFrame(told(plain(), [WHOLE])[2]).height == len(SPANS)
