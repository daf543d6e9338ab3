"""The three ways in for OTLP (a JSON file, a protobuf file, a live body) judge and tell a span alike."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.load import load
from ingest.receive import Kind, check, receive
from ingest.store.database import Store
from tests.support.loads import PLAIN
from tests.support.otlp_rows import attribute, body, delimited

HOUR = 3600 * 10**9
NOW = time.time_ns()
START = NOW - HOUR
FAR = 2**64 - 1
STARTS = [None, 0, 5, START, NOW + 48 * HOUR, FAR]  # what protobuf can tell
ENDS = [None, 0, 3, START - 1, START, START + HOUR // 2, START + 25 * HOUR, FAR]
ODD = [
    "",
    " ",
    "0",
    "soon",
    "1.5.2",
    -1,
    -5,
    "-5",
    True,
    False,
    {"low": 1},
    {"high": 0, "low": 0},
    [],
    [1],
    {},
    "NaN",
    1e300,
]
ODD_STARTS = [*ODD, str(START), float(START), {"high": START >> 32, "low": START % 2**32 - 2**32}, "9" * 5000]
ODD_ENDS = [*ODD, str(START + 1), f" {START + 1} ", "1e300", {"high": (START + HOUR) >> 32, "low": 7}]
IDS = [  # (trace id, span id) as JSON tells them
    ("", "0102030405060708"),
    ("0" * 32, "0102030405060708"),
    ("0" * 16, "0102030405060708"),
    ("0A" * 8, "0102030405060708"),
    ("0a" * 15 + "xy", "0102030405060708"),
    ("0a" * 11, "0102030405060708"),
    (b64encode(b"\x07" * 16).decode(), b64encode(b"\x07" * 8).decode()),
    (b64encode(b"\x08" * 16).decode().strip("="), b64encode(b"\x08" * 8).decode().strip("=")),
    ("AAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAA="),
    ("0a" * 16, ""),
    ("0a" * 16, "0" * 16),
    ("0a" * 16, "01020304050607"),
    ("0a" * 16, "010203040506070x"),
    ("0b" * 16, "0102030405060708"),
]


Outcome = dict[int, str]  # number of a span -> reason, or "open", "ended"


def told(number: int, start: object, end: object, ids: tuple[str, str] | None = None) -> dict[str, Any]:
    trace_id, span_id = ids or (f"{number + 1:032x}", f"{number + 1:016x}")
    times = {"startTimeUnixNano": start, "endTimeUnixNano": end}
    named = {"name": f"n{number}.", "traceId": trace_id, "spanId": span_id}
    return named | {name: at for name, at in times.items() if at is not None}


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def by_file(path: Path, content: bytes) -> Outcome:
    path.write_bytes(content)
    with Store.open() as store:
        load(path, store, PLAIN, upload_id="u")
        return of(store)


def by_live(kind: Kind, content: bytes) -> Outcome:
    """The same of a body; what the check says of it is what becomes of it."""
    checked = check(kind, content)
    with Store.open() as store:
        counts = receive([(kind, content)], store, PLAIN, NOW)
        assert (checked.spans, checked.refused) == (counts.read, Counter(reject.reason for reject in counts.rejects))
        return of(store)


def of(store: Store) -> Outcome:
    number = re.compile(r"n(\d+)\.")
    rejects = store.rejects().select("head", "reason").rows()
    spans = store.read("spans").select("name", "ended_ns").rows()
    found = [(head, reason) for head, reason in rejects]
    found += [(name, "open" if ended is None else "ended") for name, ended in spans]
    outcome = {int(number.findall(text)[0]): said for text, said in found}
    assert len(outcome) == len(found)
    return dict(sorted(outcome.items()))


def test_every_start_and_end_is_judged_alike_by_all_ways_in(tmp_path: Path) -> None:
    cases = [(start, end) for start, end in product(STARTS, ENDS) if end != 0]  # protobuf cannot tell that from none
    at = [[None if ns is None else str(ns) for ns in times] for times in cases]
    spans = [told(n, start, end) for n, (start, end) in enumerate(at)]
    messages = [
        Span(
            trace_id=bytes.fromhex(one["traceId"]),
            span_id=bytes.fromhex(one["spanId"]),
            name=one["name"],
            start_time_unix_nano=start or 0,
            end_time_unix_nano=end or 0,
        )
        for one, (start, end) in zip(spans, cases, strict=True)
    ]
    expected = by_live("json", request(*spans))
    assert len(expected) == len(cases)
    for answer in (
        by_file(tmp_path / "a.jsonl", request(*spans) + b"\n"),
        by_file(tmp_path / "a.json", json.dumps(json.loads(request(*spans)), indent=1).encode()),
        by_file(tmp_path / "a.pb", delimited(body(*messages))),
        by_live("protobuf", body(*messages)),
    ):
        assert answer == expected


def test_the_first_reason_is_the_start(tmp_path: Path) -> None:
    cases = [
        (START, None, "open"),
        (START, "0", "end_before_start"),
        (START, "", "open"),
        (START, START, "ended"),
        (START, "soon", "bad_value"),
        (START, -5, "bad_value"),
        (START, START - 1, "end_before_start"),
        (START, START + 25 * HOUR, "duration_too_long"),
        (5, START, "time_out_of_range"),
        (5, 3, "time_out_of_range"),
        (FAR, FAR, "time_out_of_range"),
        ("soon", START, "start_unset"),
        (None, None, "start_unset"),
    ]
    content = request(*(told(n, start, end) for n, (start, end, _) in enumerate(cases)))
    expected = {n: said for n, (_, _, said) in enumerate(cases)}
    assert (by_file(tmp_path / "a.jsonl", content), by_live("json", content)) == (expected, expected)


def test_odd_times_and_ids_are_judged_alike_by_a_file_and_a_body(tmp_path: Path) -> None:
    cases: list[tuple[Any, Any, Any]] = [
        (start, end, None) for start, end in product(ODD_STARTS, (None, START, START + 1))
    ]
    cases += [(START, end, None) for end in ODD_ENDS]
    cases += [(START, START + 1, ids) for ids in IDS]
    content = request(*(told(n, *case) for n, case in enumerate(cases)))
    expected = by_live("json", content)
    assert (len(expected), by_file(tmp_path / "a.jsonl", content + b"\n")) == (len(cases), expected)


def test_attributes_of_every_kind_are_kept_alike(tmp_path: Path) -> None:
    nested = {"arrayValue": {"values": [{"intValue": "7"}, {"doubleValue": "NaN"}, {"bytesValue": "AP8="}]}}
    pairs = [
        {"key": "a", "value": {"intValue": "5"}},
        {"key": "b", "value": nested},
        {"key": "c", "value": {"boolValue": True}},
    ]
    values: dict[str, dict[str, Any]] = {
        "x.text": {"stringValue": "a"},
        "x.like": {"stringValue": '{"values":[1'},
        "x.int": {"intValue": "9007199254740993"},
        "x.bool": {"boolValue": False},
        "x.double": {"doubleValue": 0.25},
        "x.nan": {"doubleValue": "NaN"},
        "x.inf": {"doubleValue": "-Infinity"},
        "x.bytes": {"bytesValue": "AP8="},
        "x.list": {"arrayValue": {"values": [{"stringValue": "é"}, *nested["arrayValue"]["values"], nested]}},
        "x.map": {"kvlistValue": {"values": pairs}},
        "x.none": {"arrayValue": {"values": []}},
    }
    attributes = [{"key": key, "value": value} for key, value in values.items()]
    one = told(1, str(START), str(START + 1)) | {"attributes": attributes}
    loose = json.dumps(one).replace('"5"', "5").replace('"7"', "7")
    inner = [attribute("v").value for _ in range(3)]
    inner[0].int_value, inner[1].double_value, inner[2].bytes_value = 7, float("nan"), b"\0\xff"
    message = Span(trace_id=bytes.fromhex(one["traceId"]), span_id=bytes.fromhex(one["spanId"]), name="chat m")
    message.start_time_unix_nano, message.end_time_unix_nano = START, START + 1
    message.attributes.extend(
        [
            attribute("x.text", string_value="a"),
            attribute("x.like", string_value='{"values":[1'),
            attribute("x.int", int_value=9007199254740993),
            attribute("x.bool", bool_value=False),
            attribute("x.double", double_value=0.25),
            attribute("x.nan", double_value=float("nan")),
            attribute("x.inf", double_value=float("-inf")),
            attribute("x.bytes", bytes_value=b"\0\xff"),
            attribute(
                "x.list", array_value={"values": [{"string_value": "é"}, *inner, {"array_value": {"values": inner}}]}
            ),
            attribute(
                "x.map",
                kvlist_value={
                    "values": [
                        {"key": "a", "value": {"int_value": 5}},
                        {"key": "b", "value": {"array_value": {"values": inner}}},
                        {"key": "c", "value": {"bool_value": True}},
                    ]
                },
            ),
            attribute("x.none", array_value={"values": []}),
        ]
    )
    list_text = '{"values":[{"intValue":"7"},{"doubleValue":"NaN"},{"bytesValue":"AP8="}]}'
    expected = {
        "x.text": "a",
        "x.like": '{"values":[1',
        "x.int": "9007199254740993",
        "x.bool": "false",
        "x.double": "0.25",
        "x.nan": "nan",  # a number by itself is written as the store writes numbers; within a list as JSON says it
        "x.inf": "-inf",
        "x.bytes": "AP8=",
        "x.list": ["é", "7", "NaN", "AP8=", list_text],
        "x.map": {"a": "5", "b": list_text, "c": "true"},
        "x.none": [],
    }
    for name, content in {
        "a.jsonl": request(one) + b"\n",
        "b.jsonl": b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + loose.encode() + b"]}]}]}\n",
        "c.json": json.dumps(json.loads(request(one)), indent=1).encode(),
        "d.pb": delimited(body(message)),
    }.items():
        (tmp_path / name).write_bytes(content)
        with Store.open() as store:
            load(tmp_path / name, store, PLAIN)
            assert [json.loads(text) for text in store.read("spans")["attributes"]] == [expected], name


def test_half_a_character_costs_no_span_by_any_way_in(tmp_path: Path) -> None:
    content = request(*(told(n, str(START), str(START + 1)) for n in range(3))).replace(b"n1.", b"n1. \\ud83d")
    expected = dict.fromkeys(range(3), "ended")
    assert by_file(tmp_path / "a.jsonl", content + b"\n") == expected
    assert by_file(tmp_path / "a.json", json.dumps(json.loads(content), indent=1).encode()) == expected
    assert by_live("json", content) == expected
