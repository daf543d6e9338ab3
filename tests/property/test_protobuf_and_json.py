"""The same spans as OTLP protobuf and as OTLP JSON make the same rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.assemble import SpanCounts, assemble, load_spans
from ingest.assemble import SpanOptions as Options
from ingest.messages import load_messages
from ingest.sniff import read_head
from ingest.store.database import Store
from ingest.store.span_columns import MARKS
from ingest.unpack import open_source
from tests.support.otlp import request, span, store_for
from tests.support.otlp_rows import as_protobuf, delimited

HOW_TOLD = {"source", "line", "upload_id"}
SPELLED = sum(MARKS[name] for name in ("base64_ids", "enum_names", "snake_case", "legacy_scope_key"))
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
    "events dropped beyond 31 bits": {"droppedEventsCount": 2**32 - 1},
    "an error that is told twice, and one that is no text": {
        "events": [
            {
                "name": "exception",
                "attributes": [
                    {"key": "exception.type", "value": {"intValue": "5"}},
                    {"key": "exception.type", "value": {"stringValue": "First"}},
                    {"key": "exception.type", "value": {"stringValue": "Last"}},
                ],
            }
        ]
    },
}
WORDS = st.text(
    st.sampled_from('ab"\\/\x00\x01\x08\t\n\x1b\x1f\x7f\u2028\u00e9\U0001f600,:{}[]'), max_size=6
) | st.sampled_from(['"doubleValue":1,', '{"key":"k"}', '"arrayValue":{}', "\\u001b", "string_value"])
DOUBLES = (
    st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.sampled_from(
        ["1", "-1", "0", "-0.0", "1e16", "1E16", "1e+16", "10000000000000000", "1e15", "1e21", "1e22", "1e-5"]
        + [str(sign * (2**power + 1)) for sign in (1, -1) for power in (53, 60, 62, 63, 64, 70)]
    )
    | st.sampled_from(["1e-6", "1e-7", "0.0001", "12.50", "5e-324", "1.7976931348623157e308", '"NaN"', '"-Infinity"'])
)
WHOLE = st.integers(-(2**63), 2**63 - 1)


def spelled(kind: str, content: str) -> str:
    return f'{{"{kind}": {content}}}'


PLAIN = st.one_of(
    WORDS.map(lambda word: spelled("stringValue", json.dumps(word))),
    WORDS.map(lambda word: spelled("stringValue", json.dumps(word, ensure_ascii=False))),
    DOUBLES.map(lambda told: spelled("doubleValue", told)),
    WHOLE.map(lambda number: spelled("intValue", f"{number}")),
    WHOLE.map(lambda number: spelled("intValue", f'"{number}"')),
    st.sampled_from([spelled("boolValue", "true"), spelled("bytesValue", '"AP8="'), "{}"]),
)
"""JSON of a value, in any of the spellings that exporters use."""


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    some = st.lists(inner, max_size=3)
    pairs = st.lists(st.tuples(WORDS, inner | st.none()), max_size=3)
    return st.one_of(
        st.sampled_from([spelled("arrayValue", "{}"), spelled("kvlistValue", "{}")]),
        some.map(lambda items: spelled("arrayValue", f'{{"values":[{", ".join(items)}]}}')),
        pairs.map(lambda told: spelled("kvlistValue", f'{{"values":[{",".join(pair(*each) for each in told)}]}}')),
    )


def pair(key: str, value: str | None) -> str:
    return f'{{"key":{json.dumps(key)}' + (f', "value":{value}}}' if value is not None else "}")


VALUES = st.recursive(PLAIN, lists, max_leaves=6)


def line_of(number: int, value: str, resource: Sequence[str | None]) -> str:
    """One request whose span has an attribute of that value, and whose resource tells its name by those."""
    told = request([span("chat", span_id="s1") | {"traceId": f"{number + 1:032x}", "attributes": ["@value"]}])
    told["resourceSpans"][0]["resource"] = {"attributes": ["@resource"]}
    named = [pair("service.name", each) for each in resource]
    return json.dumps(told).replace('"@value"', pair("x", value)).replace('"@resource"', ",".join(named))


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(VALUES, st.lists(VALUES | st.none(), max_size=3)), min_size=50, max_size=80))
def test_every_spelling_of_a_value_is_the_same_in_both(told: list[tuple[str, list[str | None]]]) -> None:
    with TemporaryDirectory() as folder:
        both_texts([line_of(number, *each) for number, each in enumerate(told)], Path(folder))


def test_snake_case_tells_lists_as_camel_case_does(tmp_path: Path) -> None:
    value = spelled(
        "arrayValue", '{"values":[{"intValue":1},{"doubleValue":1},{"stringValue":"a"},{"kvlistValue":{}}]}'
    )
    camel = line_of(0, value, [value])
    words = ("resourceSpans", "scopeSpans", "traceId", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano")
    snake = camel
    for word in (*words, "arrayValue", "intValue", "doubleValue", "stringValue", "kvlistValue"):
        snake = snake.replace(f'"{word}"', '"' + "".join(f"_{c.lower()}" if c.isupper() else c for c in word) + '"')
    found = []
    for name, line in (("camel", camel), ("snake", snake)):
        (tmp_path / f"{name}.jsonl").write_text(line + "\n")
        with store_for(tmp_path) as store:
            found.append(rows_of(store, tmp_path / f"{name}.jsonl", "lines")[1])
    assert found[0] == found[1]


def rows_of(store: Store, path: Path, reader: str) -> tuple[SpanCounts, list[dict[str, Any]], list[dict[str, Any]]]:
    """Counts, and what the store holds of spans and of requests, without how they were told."""
    source = open_source(path)
    with store.writing() as cursor:
        if reader == "protobuf":
            counts = load_messages(cursor, source, read_head(source), "u", Options(source="otlp_protobuf"))
        else:
            counts = load_spans(store, cursor, source, "lines", "u", Options(source="otlp_json"))
        assemble(cursor)
    spans = store.read("spans", order="trace_id").with_columns(pl.col("marks") & ~SPELLED)
    requests = store.read("requests", order="trace_id")
    told = [frame.drop(HOW_TOLD, strict=False).rows(named=True) for frame in (spans, requests)]
    return counts, told[0], told[1]


def both(told: dict[str, Any], folder: Path) -> tuple[SpanCounts, list[dict[str, Any]]]:
    """Counts and spans of a request, which both readers must tell alike."""
    return both_texts([json.dumps(told)], folder)


def both_texts(lines: list[str], folder: Path) -> tuple[SpanCounts, list[dict[str, Any]]]:
    """The same of several requests as JSON, whatever their spelling."""
    (folder / "a.pb").write_bytes(delimited(*(as_protobuf(json.loads(line)) for line in lines)))
    (folder / "a.jsonl").write_text("".join(line + "\n" for line in lines))
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


@pytest.mark.parametrize(
    "before", [[], ["{}"], [None]], ids=["at once", "an empty value goes first", "none goes first"]
)
def test_of_a_resource_told_twice_the_first_value_stands(before: list[str | None], tmp_path: Path) -> None:
    values = [spelled("stringValue", f'"{text}"') for text in ("first", "last")]
    (row,) = both_texts([line_of(0, values[0], [*before, *values])], tmp_path)[1]
    assert row["service"] == "first"


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**62 + 1, 12345678901234567890, 2**64 + 1])
def test_a_double_within_a_list_told_in_more_digits_than_it_has_is_the_same_in_both(
    number: int, tmp_path: Path
) -> None:
    inner = spelled("doubleValue", f"{number}")
    listed = spelled("arrayValue", f'{{"values":[{inner}, {inner}, {spelled("intValue", str(2**53 + 1))}]}}')
    both_texts([line_of(0, value, [value]) for value in (inner, listed)], tmp_path)
