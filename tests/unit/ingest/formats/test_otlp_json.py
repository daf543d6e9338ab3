"""Documents cut into lines, and what is recognized."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from ingest.errors import Reject
from ingest.formats import otlp_json
from ingest.formats.otlp_json import FORMAT, Piece, has_long_line, is_document, pieces, short_lines, slim
from ingest.sniff import head_of
from tests.support.loads import load_bytes
from tests.support.otlp import request, span


def texts(data: bytes) -> list[object]:
    return [json.loads(piece.text) if isinstance(piece, Piece) else piece.reason for piece in pieces(data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"resourceSpans":[]}', False),
        (b'{"resourceSpans":[]}\n{"resourceSpans":[]}', False),
        (b'{"resourceSpans":[]}{"resourceSpans":[]}', True),
        (b'{\n "resourceSpans":[]}', True),
        (b'[{"resourceSpans":[]}]', True),
        (b'\xef\xbb\xbf  {"resourceSpans":[{"a":"' + b"x" * 100, False),
    ],
)
def test_a_document_is_told_by_its_layout(data: bytes, expected: bool) -> None:
    assert is_document(data) is expected


def test_each_entry_of_resource_spans_is_a_line_with_its_place() -> None:
    data = b'{\n "resourceSpans": [\n  {"a": 1},\n  {"b":\n 2}\n ]\n}'
    found = [piece for piece in pieces(data) if isinstance(piece, Piece)]
    assert [(json.loads(piece.text), piece.line) for piece in found] == [
        ({"resourceSpans": [{"a": 1}]}, 3),
        ({"resourceSpans": [{"b": 2}]}, 4),
    ]
    assert [data[piece.offset : piece.offset + 1] for piece in found] == [b"{", b"{"]
    assert all(b"\n" not in piece.text for piece in found)


def test_other_signals_and_foreign_documents_keep_their_place() -> None:
    data = b'{"resourceMetrics":[{"x":1}]}{"other":2}{"resource_spans":[{"y":1}]}'
    assert texts(data) == [{"resourceMetrics": []}, {"other": 2}, {"resource_spans": [{"y": 1}]}]


def test_a_torn_entry_gives_its_whole_spans_with_resource_and_scope() -> None:
    text = json.dumps(request([span("a", span_id="a"), span("b", span_id="b")], "scope-1")).encode()
    found = texts(text[: text.rindex(b'"name"')])
    assert found[-1] == "torn_line"
    (entry,) = found[0]["resourceSpans"]  # type: ignore[index]
    assert entry["resource"]["attributes"][0]["key"] == "service.name"
    assert [(scope["scope"]["name"], len(scope["spans"])) for scope in entry["scopeSpans"]] == [("scope-1", 1)]


def test_a_long_entry_becomes_several_without_losing_or_repeating_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_json, "MAX_PIECE_BYTES", 1500)
    document = request([span(f"s{i}", span_id=f"s{i}") for i in range(10)], "one")
    document["resourceSpans"][0]["scopeSpans"] += request([span("t", span_id="t")], "two")["resourceSpans"][0][
        "scopeSpans"
    ]
    found = [json.loads(piece.text) for piece in pieces(json.dumps(document).encode()) if isinstance(piece, Piece)]
    assert len(found) > 2
    names = [
        (scope["scope"]["name"], told["name"])
        for line in found
        for scope in line["resourceSpans"][0]["scopeSpans"]
        for told in scope["spans"]
    ]
    assert names == [*(("one", f"s{i}") for i in range(10)), ("two", "t")]
    assert all(line["resourceSpans"][0]["resource"]["attributes"] for line in found)


def test_a_bracket_too_many_is_one_reject() -> None:
    assert list(pieces(b'{"a":1}}')) == [
        Piece(b'{"a":1}', 1, 0),
        Reject(1, 7, "trailing_text", "}"),
    ]


def test_braces_within_text_are_no_brackets() -> None:
    assert texts(b'{"resourceSpans":[{"a":"}]{\\""}]}') == [{"resourceSpans": [{"a": '}]{"'}]}]


@pytest.mark.parametrize(
    ("data", "is_mine"),
    [
        (b'{"resourceSpans":[{"resource":{}}]}\n', True),
        (b'{"resource_spans":[]}\n', True),
        (b'{"resourceMetrics":[]}\n', True),
        (b'{"id":1,"timestamp":2}\n', False),
        (b"a,b\n1,2\n", False),
    ],
)
def test_the_format_is_told_by_its_keys(data: bytes, is_mine: bool) -> None:
    assert (FORMAT.sniff(head_of("x", data)) > 0.5) is is_mine


def test_a_long_line_is_told_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_json, "LONG_LINE_BYTES", 100)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x" * 99 + b"\n" + b"y" * 60 + b"\n" + b"z" * 60)
    assert not has_long_line(path)
    path.write_bytes(b"x" * 60 + b"\n" + b"y" * 120 + b"\n")
    assert has_long_line(path)


def test_long_lines_are_cut_and_the_others_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_json, "LONG_LINE_BYTES", 900)
    monkeypatch.setattr(otlp_json, "MAX_LINE_BYTES", 20_000)
    long = json.dumps(request([span("a", span_id="a"), span("b", span_id="b")])).encode()
    data = b'{"short":1}\n' + long + b"\n\n" + b"q" * 20_001 + b'\n{"torn":'
    found = list(short_lines(io.BytesIO(data)))
    assert [(item.line, item.offset) for item in found] == [
        (1, 0),
        (2, 12),
        (4, 14 + len(long)),
        (5, 14 + len(long) + 20_002),
    ]
    assert isinstance(found[2], Reject)
    assert (found[2].reason, found[2].detail.partition(";")[0]) == (
        "line_too_long",
        "20,002 bytes are above the 67,108,864 bytes that one line or object may have",
    )
    assert found[3] == Piece(b'{"torn":', 5, 14 + len(long) + 20_002, is_ended=False)


def test_a_value_of_some_megabytes_is_cut_to_its_start() -> None:
    told = json.loads(slim(json.dumps({"a": ["x" * 70_000, 1.5, None], "b": "y"}).encode()))
    assert told == {"a": ["x" * 200, 1.5, None], "b": "y"}


@pytest.mark.parametrize("torn", [False, True])
def test_a_mapped_document_gives_the_same_pieces_and_its_pages_are_let_go(
    torn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [request([span(f"s{n}", span_id=f"{n}-{i}") for i in range(5)])["resourceSpans"][0] for n in range(40)]
    data = json.dumps({"resourceSpans": entries}, indent=1).encode()
    data = data[:-2000] if torn else data
    path = tmp_path / "d.json"
    path.write_bytes(data)
    monkeypatch.setattr(otlp_json, "MAX_PIECE_BYTES", 1500)
    held = list(pieces(data))
    assert any(isinstance(piece, Reject) for piece in held) is torn
    monkeypatch.setattr(otlp_json, "RELEASED_BYTES", 5000)
    assert list(pieces(otlp_json.mapped(path))) == held
    path.write_bytes(b"")
    assert list(pieces(otlp_json.mapped(path))) == []


def test_a_packed_document_is_read_like_an_unpacked_one(tmp_path: Path) -> None:
    content = json.dumps([request([span("a", span_id=str(n), trace=str(n))]) for n in range(9)], indent=1).encode()
    plain, _ = load_bytes(tmp_path, content, "a.json")
    packed, _ = load_bytes(tmp_path, gzip.compress(content), "b.json.gz")
    assert (plain.read, plain.accepted) == (packed.read, packed.accepted) == (9, 9)
