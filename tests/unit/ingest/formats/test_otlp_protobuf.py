"""OTLP protobuf: four framings tell the same spans."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.formats.contract import RawReject, RawSpan
from tests.support.readers import DATA, rejects, rows, spans, told_format


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
    assert found[1] == RawReject(None, length, "bad_value", "0a7f626164")
