"""Zipkin: shared ids, open spans."""

from __future__ import annotations

from ingest.formats.contract import RawSpan
from tests.support.readers import DATA, rejects, spans, told_format


def test_a_server_half_gets_an_id_and_its_children() -> None:
    path = DATA / "zipkin" / "good.json"
    assert told_format(path) == "zipkin"
    assert spans(path) == [
        RawSpan(
            trace_id="00000000000000001e223ff1f80f1c69",
            span_id="bf396325699c84bf",
            parent_span_id=None,
            name="get",
            kind=2,
            start_ns=1771434740071068000,
            end_ns=1771434740170479000,
            status_code=0,
            attributes={},
            resource={"service.name": "a"},
            line=2,
        ),
        RawSpan(
            trace_id="00000000000000001e223ff1f80f1c69",
            span_id="74280ae0c10d8062",
            parent_span_id="bf396325699c84bf",
            name="post",
            kind=3,
            start_ns=1771434740074202000,
            end_ns=1771434740168741000,
            status_code=2,
            attributes={"gen_ai.usage.input_tokens": "57", "error": "boom"},
            resource={"service.name": "a"},
            line=14,
        ),
        RawSpan(
            trace_id="00000000000000001e223ff1f80f1c69",
            span_id="5557a0b508719126",
            parent_span_id="74280ae0c10d8062",
            name="post",
            kind=2,
            start_ns=1771434740078761000,
            end_ns=1771434740162338000,
            status_code=0,
            attributes={},
            resource={"service.name": "b"},
            line=30,
        ),
        RawSpan(
            trace_id="00000000000000001e223ff1f80f1c69",
            span_id="43210ae0c10d1234",
            parent_span_id="5557a0b508719126",
            name="async",
            kind=1,
            start_ns=1771434740080000000,
            end_ns=0,
            status_code=0,
            attributes={},
            resource={"service.name": "b"},
            events=(("ws", 1771434740081000000, {}),),
            line=43,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "zipkin" / "torn.json"
    assert rejects(path) == [("torn_line", 43)]
    assert len(spans(path)) == 3
