"""The walk that gives refused records their line and offset."""

from __future__ import annotations

from io import BytesIO

import pytest

from ingest.errors import Reject
from ingest.lines import UNJUDGED, fault_of_line, json_rejects


def test_records_are_counted_without_blank_lines_and_lines_with_them() -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n\r\nbroken\r\n  \t\r\n{"a": 2}\r\n{"a": "x"}\r\n'
    told = list(json_rejects(BytesIO(data), [(2, UNJUDGED, ""), (4, "bad_value", 'a: "x" is no number')]))
    assert told == [
        Reject(3, 15, "invalid_json", "broken", "character 1 of 6: Expecting value"),
        Reject(6, 38, "bad_value", '{"a": "x"}', 'a: "x" is no number'),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense\n", "invalid_json"),
        (b'{"a": 1,\n', "invalid_json"),
        (b'{"a": 1,', "torn_line"),
        (b'{"a": 1} x\n', "trailing_text"),
        (b'{"a": 1}{"b": 2}\n', "trailing_text"),
        (b'{"a": "\xff"}\n', "invalid_utf8"),
        (b'{"a": "\\ud800"}\n', "invalid_utf8"),
        (b"[1]\n", "not_an_object"),
        (b"17\n", "not_an_object"),
        (b'{"other": NaN}\n', "no_time"),
    ],
)
def test_a_line_without_a_row_tells_why(line: bytes, reason: str) -> None:
    assert fault_of_line(line) == reason


def test_heads_are_cut_at_200_characters() -> None:
    line = ", ".join(f'"ü{number}": {number}' for number in range(100, 140))
    (told,) = json_rejects(BytesIO(f"{{{line}\n".encode()), [(1, UNJUDGED, "")])
    assert told.head == f"{{{line}"[:200]
