"""What is wrong with one source stays with it: line ends, quotes, zero bytes, damaged pages."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from ingest.load import load_paths
from ingest.sniff import shape_of
from ingest.store.database import Store
from tests.support.loads import PLAIN, counts, load_bytes, write

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
