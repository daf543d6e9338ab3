"""Parts of spans: attribute values, ids, kinds, status."""

from __future__ import annotations

import pytest

from ingest.formats import span_values as s

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("written", "digits", "expected"),
    [
        (TRACE.upper(), 32, TRACE),
        ("0x" + TRACE, 32, TRACE),
        ("S/kvNXezTaajzpKdDg5HNg==", 32, TRACE),
        ("84b3fad94c6112ed", 32, "0" * 16 + "84b3fad94c6112ed"),
        ("3ef9cf89", 16, "000000003ef9cf89"),
        ("not an id", 16, "not an id"),
        ("", 16, ""),
        (None, 32, ""),
    ],
)
def test_ids_are_hex_of_their_length_whatever_they_were(written: object, digits: int, expected: str) -> None:
    assert s.hex_id(written, digits) == expected


def test_no_parent_is_written_in_many_ways() -> None:
    assert [s.parent_id(value) for value in (None, "", "0000000000000000", "null")] == [None] * 4
    assert s.parent_id("0x29D6E9B3DDEC9996") == "29d6e9b3ddec9996"


def test_typed_values_are_unwrapped_to_text() -> None:
    tags = [
        {"key": "a", "value": {"intValue": "57"}},
        {"key": "b", "value": {"boolValue": True}},
        {"key": "c", "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"doubleValue": 0.5}]}}},
        {"key": "d", "value": {"kvlistValue": {"values": [{"key": "e", "value": {"intValue": 1}}]}}},
        {"key": "f", "value": "plain"},
        {"key": "g", "value": {}},
        {"key": "", "value": 1},
        None,
    ]
    assert s.tagged(tags) == {"a": "57", "b": "true", "c": '["x",0.5]', "d": '{"e":1}', "f": "plain"}


def test_nested_objects_are_flattened_and_lists_stay() -> None:
    assert s.flattened({"a": {"b": 1, "c": {"d": [1]}}, "e": {}}) == {"a.b": 1, "a.c.d": [1], "e": {}}


def test_kinds_and_status_in_every_spelling() -> None:
    kinds = [s.kind_of(kind) for kind in (3, "SPAN_KIND_SERVER", "SpanKind.CLIENT", "consumer", 9, True, None)]
    assert kinds == [3, 2, 3, 5, 0, 0, 0]
    codes = [s.status_of(code) for code in (2, "STATUS_CODE_ERROR", "OK", "StatusCode.ERROR", 7, None)]
    assert codes == [2, 2, 1, 2, 0, 0]


def test_a_typed_value_may_have_fields_that_nobody_knows() -> None:
    listed = {"arrayValue": {"values": [{"stringValue": "stop", "unheard": 1}]}, "unheard": 2}
    told = s.tagged([{"key": "a", "value": {"unheard": 1, "intValue": "57"}}, {"key": "b", "value": listed}])
    assert told == {"a": "57", "b": '["stop"]'}


@pytest.mark.parametrize(
    ("told", "kind", "status"), [("2", 2, 2), (2, 2, 2), ("7", 0, 0), (True, 0, 0), ("STATUS_CODE_OK", 0, 1)]
)
def test_numbers_of_kinds_and_codes_may_be_text(told: object, kind: int, status: int) -> None:
    assert (s.kind_of(told), s.status_of(told)) == (kind, status)
