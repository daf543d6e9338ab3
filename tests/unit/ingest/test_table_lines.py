"""Delimited tables with bad rows: one bad line costs no neighbor."""

from __future__ import annotations

import json
from io import BytesIO

from ingest.errors import Reject
from ingest.table_lines import Places, Table, rewrite


def rewritten(data: bytes, delimiter: str = ",") -> tuple[list[dict[str, str]], list[tuple[int, int, str]], Places]:
    out, places = BytesIO(), Places()
    rejects = list(rewrite(BytesIO(data), ("a", "b"), delimiter, out, places))
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    return rows, [(reject.line or 0, reject.offset or 0, reject.reason) for reject in rejects], places


def test_sound_records_become_objects_and_empty_cells_are_left_out() -> None:
    rows, rejects, places = rewritten(b'\xef\xbb\xbfa;b\r\n1;"x;\r\ny"\r\n\r\n;2\r\n', ";")
    assert rows == [{"a": "1", "b": "x;\r\ny"}, {"b": "2"}]
    assert rejects == []
    assert (list(places.lines), list(places.offsets)) == ([2, 5], [8, 21])


def test_rows_that_are_none_tell_why() -> None:
    data = b'a,b\n1\n1,2,3\n\xff,2\n1,"x"y\n,\n5,6\n7'
    rows, rejects, _ = rewritten(data)
    assert rows == [{"a": "5", "b": "6"}]
    assert rejects == [
        (2, 4, "wrong_columns"),
        (3, 6, "wrong_columns"),
        (4, 12, "invalid_utf8"),
        (5, 16, "wrong_columns"),
        (6, 23, "no_time"),
        (8, 29, "torn_line"),
    ]


def test_a_quote_that_never_ends_costs_its_own_line_alone() -> None:
    rows, rejects, _ = rewritten(b'a,b\n1,"x\n' + b"2,y\n" * 500)
    assert rows == [{"a": "2", "b": "y"}] * 500
    assert rejects == [(2, 4, "unclosed_quote")]


def test_a_stray_quote_that_swallows_lines_costs_its_own_line_alone() -> None:
    rows, rejects, _ = rewritten(b'a,b\n1,"x\n2,y\n3,"z"\n4,w\n')
    assert rows == [{"a": "2", "b": "y"}, {"a": "3", "b": "z"}, {"a": "4", "b": "w"}]
    assert rejects == [(2, 4, "wrong_columns")]


def test_refused_records_are_found_again_in_the_source() -> None:
    data = b'a,b\n1,"x\ny"\nbad\n2,z\n3,w\n'
    _, _, places = rewritten(data)
    told = list(places.rejects(BytesIO(data), [(1, "bad_value", "a: 1"), (3, "no_time", "")], Table(("a", "b"), ",")))
    assert told == [Reject(2, 4, "bad_value", '1,"x', "a: 1"), Reject(6, 20, "no_time", "3,w")]
