"""Tempo: base64 ids, enum names."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.formats.contract import RawSpan
from tests.support.loads import load_bytes
from tests.support.readers import DATA, rejects, spans, told_format


def test_base64_ids_and_enum_names_are_read() -> None:
    path = DATA / "tempo" / "good.json"
    assert told_format(path) == "tempo"
    assert spans(path) == [
        RawSpan(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="00f067aa0bba7cb7",
            parent_span_id=None,
            name="chat m-9b",
            kind=3,
            start_ns=1771434740123456789,
            end_ns=1771434741123456789,
            status_code=2,
            attributes={"gen_ai.usage.input_tokens": "57", "gen_ai.response.finish_reasons": '["stop"]'},
            resource={"service.name": "shop"},
            scope="web",
            events=(("gen_ai.first_token", 1771434740223456789, {}),),
            line=3,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_end_costs_one_row() -> None:
    path = DATA / "tempo" / "torn.json"
    assert rejects(path) == [("torn_line", 3)]


def test_more_events_dropped_than_31_bits_hold_are_borne(tmp_path: Path) -> None:
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "droppedEventsCount": 2**40}
    times = {"startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000001000000000"}
    batches = [{"scopeSpans": [{"spans": [span | times]}]}]
    receipt, _ = load_bytes(tmp_path, json.dumps({"batches": batches}).encode(), "tempo.json")
    assert (receipt.state, receipt.message, receipt.accepted) == ("done", None, 1)
