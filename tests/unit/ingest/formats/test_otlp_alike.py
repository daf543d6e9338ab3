"""Spans that are written alike are read together; what is told of them is what is told of each by itself."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ingest.formats import otlp_alike, otlp_columns
from ingest.formats.otlp_columns import Columns, Piece
from ingest.formats.otlp_wire import Data, Keys
from tests.support.otlp_rows import START, attribute, body

PLAIN: list[dict[str, Any]] = [
    {"string_value": "short"},
    {"string_value": "a text of some hundred bytes " * 6},
    {"string_value": ""},
    {"int_value": 7},
    {"int_value": -1},
    {"double_value": 0.25},
    {"bool_value": True},
    {"bytes_value": b"\x00\xff"},
    {},
]


def made(seed: int) -> Span:
    """A span of some emitter: optional fields, names in a few orders, values of every kind."""
    chance = random.Random(seed)
    names = [["gen_ai.system", "model", "n"], ["model", "gen_ai.system"], ["k" * 130, "n"], []][chance.randrange(4)]
    told = Span(
        trace_id=bytes([seed % 256]) * 16,
        span_id=seed.to_bytes(8, "big"),
        parent_span_id=b"p" * 8 if chance.random() < 0.5 else b"",
        name=f"call {chance.randrange(10**9)}" if chance.random() < 0.9 else "",
        kind=chance.choice([Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_UNSPECIFIED]),
        start_time_unix_nano=START + seed,
        end_time_unix_nano=START + 10**9 + seed,
        attributes=[attribute(name, **chance.choice(PLAIN)) for name in names if chance.random() < 0.9],
        dropped_events_count=chance.choice([0, 300]),
    )
    for at in range(chance.choice([0, 0, 2])):
        told.events.add(name="gen_ai.content.completion.chunk", time_unix_nano=START + 1 + at)
    if chance.random() < 0.3:
        told.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=chance.choice(["", "why"])))
    return told


def piece(least: int, monkeypatch: pytest.MonkeyPatch, messages: list[bytes]) -> Piece:
    monkeypatch.setattr(otlp_alike, "LEAST", least)
    monkeypatch.setattr(otlp_columns, "CHUNK_SPANS", 300)
    columns = Columns()
    for place, message in enumerate(messages):
        columns.add(message, place)
    return columns.piece()


def told(read: Piece) -> pl.DataFrame:
    names = read.shapes.sort("shape")["names"]
    return read.spans.with_columns(names=names[read.spans["shape"]]).drop("shape")


@pytest.mark.parametrize("least", [1, 5, 40])
def test_spans_read_together_and_apart_are_told_alike(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = [made(seed) for seed in range(900)]
    messages = [body(*spans[at : at + 7]) for at in range(0, len(spans), 7)]
    torn = body(*(made(5) for _ in range(3)))
    messages.insert(20, torn.replace(b"gen_ai.system\x12", b"gen_ai.system\x7a"))
    apart, together = piece(10**6, monkeypatch, messages), piece(least, monkeypatch, messages)
    assert together.broken == apart.broken
    assert told(together).equals(told(apart))


def test_spans_unlike_all_others_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_alike, "LEAST", 4)
    alike = [Span(name=f"a{i}", attributes=[attribute("k", int_value=i)]) for i in range(6)]
    other = Span(name="b", attributes=[attribute("other", int_value=1)])
    spans = [span.SerializeToString() for span in (*alike[:3], other, *alike[3:])]
    keys = Keys()
    read = otlp_alike.read(Data.of(spans), keys)
    assert (read.rows.tolist(), read.rest.tolist()) == ([0, 1, 2, 4, 5, 6], [3])
    ((kind, numbers),) = read.attributes.items()
    assert (kind, numbers.rows.tolist(), numbers.sizes.tolist()) == (0x18, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5])
    assert [[keys.names[i] for i in names] for _, names in read.lists] == [["k"]]
