"""OTLP protobuf: four framings tell the same spans."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.formats import otlp_protobuf
from ingest.formats.contract import RawReject, RawSpan
from ingest.formats.otlp_protobuf import Message, messages
from tests.support.otlp_rows import body
from tests.support.readers import DATA, rejects, rows, spans, told_format

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def test_big_endian_lengths_are_read() -> None:
    path = DATA / "otlp_protobuf" / "fixed.binpb"
    assert told_format(path) == "otlp_protobuf"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="0000000000001001",
            parent_span_id=None,
            name="chat 1",
            kind=3,
            start_ns=1771434740123456790,
            end_ns=1771434741123456789,
            status_code=0,
            attributes={
                "gen_ai.usage.input_tokens": "57",
                "gen_ai.response.finish_reasons": '{"values":[{"stringValue":"stop"}]}',
            },
            resource={"service.name": "shop"},
            scope="web",
        ),
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="0000000000001002",
            parent_span_id=None,
            name="chat 2",
            kind=3,
            start_ns=1771434740123456791,
            end_ns=1771434741123456789,
            status_code=0,
            attributes={
                "gen_ai.usage.input_tokens": "57",
                "gen_ai.response.finish_reasons": '{"values":[{"stringValue":"stop"}]}',
            },
            resource={"service.name": "shop"},
            scope="web",
        ),
    ]
    assert rejects(path) == []


def test_a_torn_message_is_one_reject_and_its_neighbor_is_read() -> None:
    path = DATA / "otlp_protobuf" / "torn.binpb"
    assert rejects(path) == [("torn_line", None)]
    assert len(spans(path)) == 1


@pytest.mark.parametrize("file", ["delimited.binpb", "bare.binpb", "zstd_each.bin"])
def test_every_framing_tells_the_same_spans(file: str) -> None:
    assert told_format(DATA / "otlp_protobuf" / file) == "otlp_protobuf"
    assert spans(DATA / "otlp_protobuf" / file) == spans(DATA / "otlp_protobuf" / "fixed.binpb")


def test_a_broken_message_in_the_middle_costs_no_neighbor(tmp_path: Path) -> None:
    good = (DATA / "otlp_protobuf" / "fixed.binpb").read_bytes()
    length = int.from_bytes(good[:4], "big") + 4
    broken = good[:length] + b"\0\0\0\x05\x0a\x7fbad" + good[length:]
    (tmp_path / "a.binpb").write_bytes(broken)
    found = rows(tmp_path / "a.binpb")
    assert [type(row).__name__ for row in found] == ["RawSpan", "RawReject", "RawSpan"]
    assert found[1] == RawReject(None, length, "bad_value", "")


def packed_file(path: Path, *bodies: bytes) -> Path:
    path.write_bytes(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))
    return path


def numbered(*numbers: int) -> bytes:
    """A packed message with a span for each number."""
    spans_told = (
        Span(trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=f"chat {number}")
        for number in numbers
    )
    return bytes(zstd.compress(body(*spans_told)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda packed: packed[: len(packed) // 2], "torn_line"),
        (lambda packed: packed[:-1], "torn_line"),
        (lambda packed: packed[:6], "torn_line"),
        (lambda packed: packed + b"JUNK", "bad_value"),
        (lambda packed: packed + b"\0", "bad_value"),
        (lambda packed: packed[:4] + b"\xff" * 40, "bad_value"),
    ],
    ids=["cut", "last byte", "only a header", "junk behind", "a byte behind", "damaged"],
)
def test_a_packed_message_that_does_not_end_as_it_should_is_one_reject(
    change: Callable[[bytes], bytes], reason: str, tmp_path: Path
) -> None:
    damaged = change(numbered(*range(10, 80)))
    path = packed_file(tmp_path / "a.bin", numbered(1), damaged, numbered(2))
    found = rows(path)
    assert [getattr(row, "reason", None) or getattr(row, "name", None) for row in found] == ["chat 1", reason, "chat 2"]


def test_frames_within_a_packed_message_are_one_stream(tmp_path: Path) -> None:
    whole = body(*(Span(trace_id=bytes([7]) * 16, span_id=bytes([n]) * 8, name=f"chat {n}") for n in (3, 4)))
    halves = zstd.compress(whole[:30]) + zstd.compress(b"") + zstd.compress(whole[30:])
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    path = packed_file(tmp_path / "a.bin", numbered(1) + numbered(2), halves + skipped, numbered(5))
    assert [one.name for one in spans(path)] == [f"chat {n}" for n in range(1, 6)]
    assert rejects(path) == []


def test_packed_frames_above_the_limit_together_are_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_protobuf, "MAX_BYTES", 2_000)
    long = numbered(1) * 40
    path = packed_file(tmp_path / "a.bin", numbered(2), long, numbered(3))
    assert rejects(path) == [("line_too_long", None)]
    assert len(spans(path)) == 2


def test_messages_without_spans_may_come_first(tmp_path: Path) -> None:
    path = packed_file(tmp_path / "a.bin", b"", b"", numbered(1), b"", numbered(2))
    assert told_format(path) == "otlp_protobuf"
    assert [one.name for one in spans(path)] == ["chat 1", "chat 2"]


def test_a_refused_message_shows_none_of_its_bytes() -> None:
    body = b"\n\x30my secret is sk-live-1234567890, and more of it is here"
    stream = BytesIO(len(body).to_bytes(4, "big") + body[:20])
    (message,) = messages(stream, b"\0\0\0\x39\n\x30mmmm")
    told = message.reject(message.fault or "")
    assert (told.reason, told.head, told.detail) == ("torn_line", "", f"20 of {len(body)} bytes of a message")
    assert Message(body, 0).reject("bad_value").detail == f"{len(body)} bytes of a message"
