"""The same spans as OTLP protobuf and as OTLP JSON make the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.assemble import SpanCounts, assemble, load_spans
from ingest.assemble import SpanOptions as Options
from ingest.messages import load_messages
from ingest.sniff import read_head
from ingest.store.database import Store
from ingest.unpack import open_source
from tests.support.otlp import request, span, store_for
from tests.support.otlp_rows import as_protobuf, delimited

HOW_TOLD = {"source", "line", "marks", "upload_id"}
SPANS: dict[str, dict[str, Any]] = {
    "no figures": {
        "attributes": [
            {"key": f"x.{told}", "value": {"doubleValue": told}} for told in ("NaN", "Infinity", "-Infinity")
        ]
    },
    "no figures within a list": {
        "attributes": [
            {"key": "x", "value": {"arrayValue": {"values": [{"doubleValue": "NaN"}, {"doubleValue": "-Infinity"}]}}}
        ]
    },
    "event without a time": {
        "events": [{"name": "gen_ai.first_token"}, {"name": "gen_ai.content.completion.chunk", "timeUnixNano": "0"}]
    },
    "end beyond 64 bits": {"endTimeUnixNano": str(2**63)},
    "end at the last instant": {"endTimeUnixNano": str(2**64 - 1)},
    "start beyond 64 bits": {"startTimeUnixNano": str(2**63), "endTimeUnixNano": str(2**63)},
    "empty key": {"attributes": [{"key": "", "value": {"stringValue": "a"}}]},
    "no key": {"attributes": [{"value": {"stringValue": "a"}}]},
    "key twice": {"attributes": [{"key": "x", "value": {"stringValue": text}} for text in ("first", "last")]},
    "field twice": {
        "attributes": [{"key": "gen_ai.request.model", "value": {"stringValue": text}} for text in ("first", "last")]
    },
    "empty list": {
        "attributes": [{"key": "x", "value": {"arrayValue": {}}}, {"key": "y", "value": {"kvlistValue": {}}}]
    },
    "attributes without a value": {
        "attributes": [{"key": "x"}, {"key": "y", "value": {"stringValue": "a"}}, {"key": "z", "value": {}}]
    },
    "no attribute with a value": {"attributes": [{"key": "x"}, {"key": "z", "value": {}}]},
    "no name": {"name": ""},
    "name not told": {"name": None, "kind": None},
    "kind zero": {"kind": 0},
}


def rows_of(store: Store, path: Path, reader: str) -> tuple[SpanCounts, list[dict[str, Any]], list[dict[str, Any]]]:
    """Counts, and what the store holds of spans and of requests, without how they were told."""
    source = open_source(path)
    with store.writing() as cursor:
        if reader == "protobuf":
            counts = load_messages(cursor, source, read_head(source), "u", Options(source="otlp_protobuf"))
        else:
            counts = load_spans(store, cursor, source, "lines", "u", Options(source="otlp_json"))
        assemble(cursor)
    told = (store.read(table) for table in ("spans", "requests"))
    spans, requests = (frame.drop(HOW_TOLD, strict=False).rows(named=True) for frame in told)
    return counts, spans, requests


def both(told: dict[str, Any], folder: Path) -> tuple[SpanCounts, list[dict[str, Any]]]:
    """Counts and spans of a request, which both readers must tell alike."""
    (folder / "a.pb").write_bytes(delimited(as_protobuf(told)))
    (folder / "a.jsonl").write_text(json.dumps(told) + "\n")
    with store_for(folder) as one, store_for(folder) as other:
        left, right = rows_of(one, folder / "a.pb", "protobuf"), rows_of(other, folder / "a.jsonl", "lines")
    assert left[1:] == right[1:]
    reasons = [[reject.reason for reject in counts.rejects] for counts in (left[0], right[0])]
    assert reasons[0] == reasons[1]
    return left[0], left[1]


@pytest.mark.parametrize("name", SPANS)
def test_a_span_is_the_same_in_both(name: str, tmp_path: Path) -> None:
    one = {key: value for key, value in (span("chat", span_id="s1") | SPANS[name]).items() if value is not None}
    counts, spans = both(request([one]), tmp_path)
    assert counts.read == 1
    for row in spans:
        kept = json.loads(row["attributes"] or "{}", object_pairs_hook=list)
        assert len({key for key, _ in kept}) == len(kept)
        assert row["event_first_ns"] is None
        assert row["name"] != ""


def test_of_a_key_told_twice_the_first_is_kept(tmp_path: Path) -> None:
    (row,) = both(request([span("chat", span_id="s1") | SPANS["key twice"]]), tmp_path)[1]
    assert json.loads(row["attributes"]) == {"x": "first"}


@pytest.mark.parametrize("value", [{"stringValue": "a"}, {"intValue": "7"}, {"boolValue": True}, {"doubleValue": 1.5}])
def test_a_resource_tells_values_of_every_kind(value: dict[str, Any], tmp_path: Path) -> None:
    told = request([span("chat", span_id="s1")])
    told["resourceSpans"][0]["resource"] = {"attributes": [{"key": "service.name", "value": value}]}
    (row,) = both(told, tmp_path)[1]
    assert row["service"] == str(next(iter(value.values()))).lower()
