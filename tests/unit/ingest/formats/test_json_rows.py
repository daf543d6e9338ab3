"""JSON objects of a source, however they are laid out."""

from __future__ import annotations

import json
import random
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats import json_rows as module
from ingest.formats.contract import RawReject
from ingest.formats.json_rows import Path as JsonPath
from ingest.formats.json_rows import Row, by_line_rows, document_rows, json_rows
from ingest.unpack import open_source


def told(tmp_path: Path, data: bytes | str, *paths: JsonPath) -> list[tuple[object, ...]]:
    """Values with their line, rejects with reason and line."""
    file = tmp_path / "data"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return [
        (row.reason, row.line) if isinstance(row, RawReject) else (row.value, row.line)
        for row in json_rows(open_source(file), *paths)
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"a": 1}\n{"a": 2}\n', [({"a": 1}, 1), ({"a": 2}, 2)]),
        ('\n{"a": 1}\n\n{"a": 2}', [({"a": 1}, 2), ({"a": 2}, 4)]),
        ('{"a": 1}\r\n{"a": 2}\r\n', [({"a": 1}, 1), ({"a": 2}, 2)]),
        ('{"a": 1}\n[{"a": 2}, {"a": 3}]\n', [({"a": 1}, 1), ({"a": 2}, 2), ({"a": 3}, 2)]),
        ('{"a": 1}{"a": 2}\n{"a": 3}\n', [({"a": 1}, 1), ({"a": 2}, 1), ({"a": 3}, 2)]),
        ('{\n "a": 1\n}\n{\n "a": 2\n}\n', [({"a": 1}, 1), ({"a": 2}, 4)]),
        ('[\n {"a": 1},\n {"a": 2}\n]\n', [({"a": 1}, 2), ({"a": 2}, 3)]),
        ('{"a": 1}', [({"a": 1}, 1)]),
        ('{"a": "}{][\\\\\\" "}\n{"a": 2}', [({"a": '}{][\\" '}, 1), ({"a": 2}, 2)]),
        ("", []),
    ],
)
def test_every_layout_gives_its_objects_with_their_lines(
    tmp_path: Path, data: str, expected: list[tuple[object, ...]]
) -> None:
    assert told(tmp_path, data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}\n{"a": \n{"a": 2}\n', [({"a": 1}, 1), ("invalid_json", 2), ({"a": 2}, 3)]),
        (b'{"a": 1}\n{"a": 2}TRAILER\n{"a": 3}\n', [({"a": 1}, 1), ("trailing_text", 2), ({"a": 3}, 3)]),
        (b'{"a": 1}\n{"a": 2}\n{"a": 3', [({"a": 1}, 1), ({"a": 2}, 2), ("torn_line", 3)]),
        (b'{"a": 1}\n{"a": "\xff"}\n{"a": 3}\n', [({"a": 1}, 1), ("invalid_utf8", 2), ({"a": 3}, 3)]),
        (b'{"a": 1}\n5\n"x"\n', [({"a": 1}, 1), ("not_an_object", 2), ("not_an_object", 3)]),
        (b'{"a": NaN}\n{"a": -Infinity}\n', [({"a": None}, 1), ({"a": None}, 2)]),
        (b'[\n{"a": 1},\n{"a": tru},\n{"a": 3}\n]', [({"a": 1}, 2), ("invalid_json", 3), ({"a": 3}, 4)]),
        (b'[\n{"a": 1},\n{"a": 2},\n{"a": ', [({"a": 1}, 2), ({"a": 2}, 3), ("torn_line", 4)]),
        (b'[\n{"a": 1}\n]\nrest', [({"a": 1}, 2), ("trailing_text", 3)]),
        (b'[\n{"a": 1},\n{"a": 2]\n]', [({"a": 1}, 2), ("invalid_json", 3)]),
        (b'{"a": ' + b"[" * 5000 + b'\n{"a": 2}\n', [("invalid_json", 1), ({"a": 2}, 2)]),
    ],
)
def test_a_bad_piece_is_one_reject_and_costs_no_neighbor(
    tmp_path: Path, data: bytes, expected: list[tuple[object, ...]]
) -> None:
    assert told(tmp_path, data) == expected


def test_brackets_without_end_are_one_reject(tmp_path: Path) -> None:
    assert told(tmp_path, "[" * 1_000_000) == [("invalid_json", 1)]
    assert told(tmp_path, '{"a": "' + "\\" * 3_000_001) == [("torn_line", 1)]


def test_a_long_document_on_one_line_is_read_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text(json.dumps({"items": [{"n": n, "text": "x" * 1000} for n in range(20_000)]}))
    tracemalloc.start()
    n_rows = sum(isinstance(row, Row) for row in json_rows(open_source(file), ("items", "[]")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 20_000
    assert peak < file.stat().st_size / 2  # 20 MB of document, buffers of a few


def test_elements_are_cut_out_at_their_paths(tmp_path: Path) -> None:
    data = {"meta": {"items": [{"no": 1}]}, "groups": [{"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 3}]}]}
    expected = [({"n": 1}, 1), ({"n": 2}, 1), ({"n": 3}, 1)]
    assert told(tmp_path, json.dumps(data), ("groups", "[]", "items", "[]")) == expected
    assert told(tmp_path, json.dumps(data), ("meta", "*", "[]")) == [({"no": 1}, 1)]
    assert told(tmp_path, json.dumps(data), ("nowhere",)) == []


def test_a_line_above_the_limit_is_refused_without_being_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    lines = '{"a": 1}\n{"a": "' + "x" * 500 + '"}\n{"a": 3}\n'
    assert told(tmp_path, lines) == [({"a": 1}, 1), ("line_too_long", 2), ({"a": 3}, 3)]
    long = next(row for row in by_line_rows(BytesIO(lines.encode())) if isinstance(row, RawReject))
    assert long.detail.startswith("510 bytes are above the 67,108,864 bytes that one line or object may have; write it")


def test_an_element_above_the_limit_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    data = b'[{"a": 1},\n{"a": ["' + b"x" * 500 + b'"]}]'
    (long,) = [row for row in document_rows(BytesIO(data)) if isinstance(row, RawReject)]
    assert (long.line, long.offset, long.reason) == (2, 11, "line_too_long")
    assert long.detail.startswith(
        "it is above the 67,108,864 bytes that one line or object may have; write it as several"
    )


class _Dripping:
    """A stream that gives a few bytes at a time, so that every cut falls somewhere."""

    def __init__(self, data: bytes, seed: int) -> None:
        self._data, self._chooser = data, random.Random(seed)

    def read(self, _: int = -1) -> bytes:
        size = self._chooser.randrange(1, 9)
        part, self._data = self._data[:size], self._data[size:]
        return part


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=4), max_size=6),
    st.integers(0, 99),
    st.sampled_from([None, 1]),
)
def test_chunks_cut_anywhere_change_nothing(objects: list[dict[str, object]], seed: int, indent: int | None) -> None:
    data = json.dumps(objects, indent=indent).encode()
    stream = _Dripping(data, seed)
    found = list(document_rows(stream))  # type: ignore[arg-type]
    assert [row.value for row in found if isinstance(row, Row)] == objects
    assert all(
        json.loads(data[row.offset : row.offset + len(row.data)]) == row.value for row in found if isinstance(row, Row)
    )
