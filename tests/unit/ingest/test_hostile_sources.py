"""What is wrong with one source stays with it: line ends, quotes, zero bytes, damaged pages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from ingest.load import Receipt, load_paths
from ingest.sniff import shape_of
from ingest.store.database import Store
from tests.support.hostile import zipped
from tests.support.loads import PLAIN, counts, load_bytes, places, write
from tests.support.otlp import request, span
from tests.support.readers import DATA

HEADER = b"request_id,start_time,model,input_tokens,e2e_ms"


def cells(number: int) -> bytes:
    return b"r-%d,2026-03-02T10:%02d:00Z,m,9,1000.0" % (number, number)


ROWS = [HEADER, *map(cells, range(3))]


@pytest.mark.parametrize(
    "content",
    [
        b"\r\n".join(ROWS[:2]) + b"\r\n" + b"\n".join(ROWS[2:]) + b"\n",
        b"\n".join(ROWS[:2]) + b"\n" + b"\r\n".join(ROWS[2:]) + b"\r\n",
        b"\r".join(ROWS) + b"\r",
        b"\xef\xbb\xbf" + b"\r".join(ROWS),
        b"\n\n".join(ROWS),
    ],
    ids=["crlf then lf", "lf then crlf", "cr", "cr without an end", "blank lines"],
)
def test_a_table_has_any_line_ends(content: bytes, tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, content, "a.csv")
    assert counts(receipt) == (3, 3, 0, 0)
    assert requests["request_id"].to_list() == ["r-0", "r-1", "r-2"]
    assert requests["e2e_ns"].to_list() == [1_000_000_000] * 3


def test_a_bad_row_of_a_table_with_carriage_returns_has_its_line_and_offset(tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, b"\r".join([*ROWS[:2], b"bad", ROWS[2]]) + b"\r", "a.csv")
    (reject,) = receipt.rejects
    assert (reject.line, reject.offset, reject.reason) == (3, len(HEADER) + len(ROWS[1]) + 2, "wrong_columns")


def test_line_ends_within_quotes_of_header_and_first_row_are_read(tmp_path: Path) -> None:
    header = b'"request\nid",start_time,model,input_tokens,"e2e\nms"\n'
    first = b'"r-0\nx",2026-03-02T10:00:00Z,m,9,1000.0\n'
    receipt, requests = load_bytes(tmp_path, header + first + cells(1) + b"\n", "a.csv")
    assert counts(receipt) == (2, 2, 0, 0)
    assert requests["request_id"].to_list() == ["r-0\nx", "r-1"]
    assert requests["e2e_ns"].to_list() == [1_000_000_000] * 2


@pytest.mark.parametrize("at", [0, 1, 2])
def test_zero_bytes_of_one_line_cost_that_line(at: int, tmp_path: Path) -> None:
    lines = [b'{"request_id": "r-%d", "start_time": "2026-03-02T10:00:0%dZ", "e2e_ms": 5}\n' % (n, n) for n in range(3)]
    lines[at] = b"\0" * 60 + b"\n"
    receipt, _ = load_bytes(tmp_path, b"".join(lines))
    assert (counts(receipt), receipt.rejects[0].line) == ((3, 2, 0, 1), at + 1)


def test_damaged_pages_of_one_file_are_its_receipt_and_the_others_are_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"request_id": [f"r-{n}" for n in range(5000)], "e2e_ms": [float(n + 1) for n in range(5000)]})
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(range(256)) * 7 + bytes(204)
    path.write_bytes(data)
    write(tmp_path, {"b.csv": b"\n".join(ROWS) + b"\n"})
    with Store.open() as store:
        bad, good = load_paths([tmp_path], store, PLAIN)
        assert store.uploads()["state"].to_list() == ["failed", "done"]
    assert (bad.state, bad.code, counts(good)) == ("failed", "unreadable_rows", (3, 3, 0, 0))
    assert bad.message is not None
    assert bad.message.startswith("a.parquet cannot be read: ")


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize(
    "bad", [b"\0" * 60, b"r-\0x,2026-03-02T10:00:00Z,m,9,1.0", b"x,2026-03-02T10:00:00Z,m,9\0,1.0"]
)
@pytest.mark.parametrize("at", [1, 2, 150])
def test_zero_bytes_in_a_table_cost_their_rows_alone(at: int, bad: bytes, packs: bool, tmp_path: Path) -> None:
    rows = [HEADER, *(b"r-%d,2026-03-02T10:00:00Z,m,9,1.0" % number for number in range(200))]
    rows[at] = bad
    content = b"\n".join(rows) + b"\n"
    receipt, requests = load_bytes(tmp_path, gzip.compress(content) if packs else content, "a.csv")
    assert counts(receipt) == (200, 199, 0, 1)
    assert [(told.line, told.reason) for told in receipt.rejects] == [(at + 1, "zero_bytes")]
    assert receipt.rejects[0].detail == f"{bad.count(0)} zero bytes, the first at byte {bad.find(0) + 1}"
    assert requests.height == 199


def test_a_page_of_zeros_within_a_table_is_one_bad_row(tmp_path: Path) -> None:
    content = b"\n".join(ROWS[:2]) + b"\n" + bytes(5000) + b"\n" + ROWS[2] + b"\n"
    receipt, _ = load_bytes(tmp_path, content, "a.csv")
    assert (counts(receipt), receipt.rejects[0].line) == ((3, 2, 0, 1), 3)


@pytest.mark.parametrize(
    "content",
    [
        b"SQLite format 3\0" + bytes(100) + b"a,b\n1,2\n",
        b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'a': 1}\n" + bytes(800),
        b"name, of a file" + bytes(500) + b"ustar\0" + b"a,b\n1,2\n",
        b"a,b\n1,2\n" + bytes(range(256)) * 4,
        b"a,b\n\0\x01\x02\x03,\xff\xfe\n",
    ],
    ids=["sqlite", "numpy", "tar", "a tail of bytes", "control characters"],
)
def test_what_is_no_text_is_still_binary(content: bytes) -> None:
    assert shape_of(content) == "binary"


LINES = [
    b'{"request_id": "r-%d", "start_time": "2026-03-02T10:00:0%dZ", "input_tokens": 9, "e2e_ms": 5}\n' % (n, n)
    for n in range(4)
]
OTLP = [json.dumps(request([span("chat", span_id=f"s{n}")])).encode() + b"\n" for n in range(3)]
QWEN = (DATA / "qwen_trace" / "good.jsonl").read_bytes()
DEEP = b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"\n"


def spans_of(folder: Path, content: bytes, name: str) -> tuple[Receipt, list[str]]:
    """Receipt and span ids of a source of spans."""
    (path,) = write(folder, {name: content})
    with Store.open() as store:
        (receipt,) = load_paths([path], store, PLAIN)
        return receipt, sorted(store.read("spans")["span_id"].to_list())


@pytest.mark.parametrize("bad", [b"{}\n", DEEP, b'{"a": tru\n', b"null\n", b'{"note": "%s"}\n' % (b"y" * 5_000_000)])
@pytest.mark.parametrize("rows", [b"".join(LINES), QWEN], ids=["flat", "qwen_trace"])
def test_a_first_line_that_is_no_row_costs_no_other(rows: bytes, bad: bytes, tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, bad + rows)
    n = rows.count(b"\n")
    assert (requests.height, counts(receipt)) == (n, (n + 1, n, 0, 1))
    assert places(receipt)[0][:2] == (1, 0)


def test_a_long_text_that_goes_first_hides_no_format(tmp_path: Path) -> None:
    row = json.loads(QWEN.splitlines()[0])
    content = json.dumps({"prompt": "y" * 200_000} | row).encode()
    receipt, _ = load_bytes(tmp_path, content + b"\n" + QWEN)
    assert (receipt.format, counts(receipt)[1]) == ("qwen_trace", 2)


@pytest.mark.parametrize("name", ["burstgpt/good.csv", "azure_trace/good.csv", "litellm/good.csv", "vidur/good.csv"])
@pytest.mark.parametrize("bad", [b"garbage", b'"', b'"open,1', b"\0\0", b"\xff\xfe"])
def test_a_bad_row_of_any_table_costs_its_own_line(name: str, bad: bytes, tmp_path: Path) -> None:
    header, *rows = (DATA / name).read_bytes().splitlines(keepends=True)
    receipt, requests = load_bytes(tmp_path, header + bad + b"\n" + b"".join(rows), "a.csv")
    assert counts(receipt) == (len(rows) + 1, len(rows), 0, 1)
    assert requests.height == len(rows)
    assert places(receipt)[0][:2] == (2, len(header))


def test_lines_of_blanks_are_no_rows(tmp_path: Path) -> None:
    header, *rows = (DATA / "burstgpt" / "good.csv").read_bytes().splitlines(keepends=True)
    assert counts(load_bytes(tmp_path, header + b"  \n" + b" \t\r\n".join(rows), "a.csv")[0]) == (2, 2, 0, 0)


@pytest.mark.parametrize("name", ["apisix/good.log", "nginx/good.log"])
def test_a_log_may_end_its_lines_with_carriage_returns_alone(name: str, tmp_path: Path) -> None:
    content = (DATA / name).read_bytes()
    receipt, _ = load_bytes(tmp_path, content.replace(b"\n", b"\r"), "a.log")
    assert counts(receipt) == (content.count(b"\n"), content.count(b"\n"), 0, 0)


@pytest.mark.parametrize(
    "tail", [b"garbage at the end", gzip.compress(b"".join(LINES))[:30]], ids=["text", "half a member"]
)
def test_a_small_archive_is_read_as_far_as_it_is_whole(tail: bytes, tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, gzip.compress(b"".join(LINES)) + tail)
    assert (receipt.state, receipt.accepted) == ("done", 4)
    assert any("is damaged" in note for note in receipt.notes)
    assert load_bytes(tmp_path, gzip.compress(LINES[0] * 400)[:-40], "b.jsonl")[0].accepted > 0


def test_a_zero_byte_at_the_start_of_json_is_a_fault_of_its_row(tmp_path: Path) -> None:
    content = json.dumps([json.loads(line) for line in LINES], indent=1).encode()
    receipt, _ = load_bytes(tmp_path, content.replace(b"r-0", b"r\0000"), "a.json")
    assert (receipt.format, counts(receipt), receipt.reasons) == ("flat", (4, 3, 0, 1), {"invalid_json": 1})


def test_documents_set_one_after_another_are_a_table_too(tmp_path: Path) -> None:
    content = b"".join(json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in LINES)
    assert counts(load_bytes(tmp_path, content, "a.json")[0]) == (4, 4, 0, 0)


@pytest.mark.parametrize("bad", [b"garbage\n", b'{"a": tru\n', b"null\n", b"}\n", b"[1]\n"])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_bad_line_of_otlp_costs_no_other(at: int, bad: bytes, tmp_path: Path) -> None:
    lines = [*OTLP[:at], bad, *OTLP[at:]]
    receipt, spans = spans_of(tmp_path, b"".join(lines), "a.jsonl")
    assert (counts(receipt), len(spans)) == ((4, 3, 0, 1), 3)
    assert places(receipt)[0][:2] == (at + 1, sum(map(len, lines[:at])))


def test_text_between_documents_is_told_and_costs_none(tmp_path: Path) -> None:
    documents = [json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in OTLP]
    receipt, spans = spans_of(tmp_path, b"INFO started\n".join([*documents, b""]), "a.json")
    assert (counts(receipt), len(spans)) == ((6, 3, 0, 3), 3)
    assert {reason for _, _, reason in places(receipt)} == {"trailing_text"}
    assert places(receipt)[0][:2] == (documents[0].count(b"\n") + 1, len(documents[0]))
    printed = (DATA / "span_objects" / "python.txt").read_bytes()
    first, second = printed.split(b"\n}\n{", 1)
    noisy = first + b"\n}\nINFO {a: [\n{" + second + b"INFO stopped\n"
    receipt, _ = spans_of(tmp_path, noisy, "a.txt")
    assert (receipt.accepted + receipt.duplicate, receipt.rejected) == (2, 2)


def test_half_a_character_costs_no_span(tmp_path: Path) -> None:
    for name, content in {
        "a.jsonl": b"".join(OTLP),
        "b.json": json.dumps([*map(json.loads, OTLP)], indent=1).encode(),
    }.items():
        receipt, spans = spans_of(tmp_path, content.replace(b'"chat"', b'"chat \\ud83d"', 1), name)
        assert (counts(receipt), len(spans)) == ((3, 3, 0, 0), 3)
        assert "half characters in 1 line became question marks" in receipt.notes


def test_an_observation_told_twice_makes_no_trace_of_several(tmp_path: Path) -> None:
    content = (DATA / "langfuse" / "good.json").read_bytes()
    once, spans = spans_of(tmp_path, content, "a.json")
    twice, again = spans_of(tmp_path, content + content, "b.json")
    assert (counts(twice), again) == ((2 * once.read, once.read, once.read, 0), spans)


def test_a_source_without_a_row_says_so(tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, b'{"experiments": [{"requests": []}]}', "a.json")
    assert (receipt.read, receipt.message) == (
        0, "a.json looks like GenAI-Perf profile export, and no row was found in it: there is none, or its frame is damaged"
    )  # fmt: skip


def test_a_zip_of_one_file_is_that_file(tmp_path: Path) -> None:
    rows = b"".join(LINES)
    pl.DataFrame([json.loads(line) for line in LINES]).write_parquet(tmp_path / "b.parquet")
    for content in (rows, gzip.compress(rows), (tmp_path / "b.parquet").read_bytes()):
        receipt, requests = load_bytes(tmp_path, zipped({"a/": b"", "a/b": content, "__MACOSX/._b": b"x"}), "a.zip")
        assert (counts(receipt), requests.height) == ((4, 4, 0, 0), 4)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            zipped({"a": b"1", "b": b"2"}),
            "a.zip is a zip archive of 2 files, not read; unpack it first and load its folder",
        ),
        (zipped({}).ljust(4), None),
        (
            zipped({"a": b"".join(LINES)})[:100],
            "a.zip is a zip archive that cannot be unpacked: File is not a zip file",
        ),
    ],
    ids=["two", "none", "cut"],
)
def test_what_no_zip_of_one_file_is_says_why(content: bytes, says: str | None, tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, content, "a.zip")
    assert receipt.state == "failed"
    assert receipt.message
    assert says is None or receipt.message == says
