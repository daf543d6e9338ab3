"""Rows of CSV sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.formats.contract import RawReject
from ingest.formats.csv_rows import csv_rows
from ingest.unpack import open_source


def told(tmp_path: Path, data: bytes, delimiter: str = ",") -> list[tuple[object, int | None]]:
    file = tmp_path / "data.csv"
    file.write_bytes(data)
    return [
        (row.reason, row.line) if isinstance(row, RawReject) else (row.value, row.line)
        for row in csv_rows(open_source(file), delimiter)
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a,b\n1,2\n", [({"a": "1", "b": "2"}, 2)]),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4", [({"a": "1", "b": "2"}, 2), ({"a": "3", "b": "4"}, 4)]),
        (b'a,b\n"x\ny",2\n3,4\n', [({"a": "x\ny", "b": "2"}, 2), ({"a": "3", "b": "4"}, 4)]),
        (b"a,b\n1\n3,4\n", [("wrong_columns", 2), ({"a": "3", "b": "4"}, 3)]),
        (b"a,b\n1,2,3\n3,4\n", [("wrong_columns", 2), ({"a": "3", "b": "4"}, 3)]),
        (b"a,b\n1,2\n3", [({"a": "1", "b": "2"}, 2), ("torn_line", 3)]),
        (b"a,b\n\xff,2\n3,4\n", [("invalid_utf8", 2), ({"a": "3", "b": "4"}, 3)]),
        (b"a,b\n", []),
        (b"", []),
    ],
)
def test_records_are_read_by_header_and_bad_ones_are_rejects(
    tmp_path: Path, data: bytes, expected: list[tuple[object, int | None]]
) -> None:
    assert told(tmp_path, data) == expected


def test_another_delimiter_is_taken(tmp_path: Path) -> None:
    assert told(tmp_path, b"a;b\n1,5;2\n", ";") == [({"a": "1,5", "b": "2"}, 2)]
