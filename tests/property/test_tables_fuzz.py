"""Flat tables through the door, mutated: no exception, and every line accounted for at its place."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from ingest.errors import REJECT_REASONS
from ingest.load import LoadOptions, Receipt, load
from ingest.sniff import shape_of
from ingest.store.database import Store, StoreSettings

ROWS: list[dict[str, object]] = [
    {
        "request_id": f"r-{number}",
        "start_time": f"2026-03-02T10:00:{number:02}Z",
        "model": "m-1",
        "user_id": f'u "{number % 3}"',
        "status_code": 200 if number % 5 else 504,
        "input_tokens": 100 + number,
        "output_tokens": number,
        "queue_ms": 0.5 * number,
        "ttft_ms": 200.25,
        "e2e_ms": 1000 + number,
        "note": "text, with; marks",
    }
    for number in range(10)
]
HOURS: list[dict[str, object]] = [
    {"replica": f"a-{n}", "hour_start": "2026-03-02T11:00:00Z", "up_seconds": 3600.0, "cost_usd": 5.0} for n in range(6)
]


def as_lines(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_table(rows: list[dict[str, object]], delimiter: str) -> bytes:
    def cell(value: object) -> str:
        quoted = str(value).replace('"', '""')
        return f'"{quoted}"' if set(str(value)) & set(f'"{delimiter}\n') else str(value)

    header = [delimiter.join(rows[0])]
    return "\n".join(header + [delimiter.join(map(cell, row.values())) for row in rows]).encode() + b"\n"


BASES = {
    "a.jsonl": as_lines(ROWS),
    "b.csv": as_table(ROWS, ","),
    "c.csv": as_table(ROWS, ";"),
    "d.jsonl": as_lines(HOURS),
    "e.json": json.dumps(ROWS, indent=1).encode(),
}
LINES = [
    b"\n",
    b"  \r\n",
    b"{\n",
    b"[1]\n",
    b"{}\n",
    b"null\n",
    b'{"a":1}{"b":2}\n',
    b"\x00\n",
    b",,,\n",
    b'"\n',
    b"#\n",
]
VALUES = [b"null", b"-1", b'"x"', b"NaN", b"1e400", b"[]", b"{}", b'""', b'"\\ud800"', b'"\\u0000"', b"9" * 25, b"\xff"]


def mutated(data: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 4)):
        if not data:
            return data
        at = dice.randrange(len(data))
        end = min(len(data), at + dice.randint(1, 40))
        lines = data.splitlines(keepends=True)
        kind = dice.randrange(9)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + data[end:]
        elif kind == 3:
            data = data[:at] + data[at:end] * 2 + data[end:]
        elif kind == 4:
            lines.insert(dice.randrange(len(lines) + 1), dice.choice(LINES))
            data = b"".join(lines)
        elif kind == 5:
            data = b"".join([*lines, dice.choice(lines)])
        elif kind == 6:
            data = data.replace(b"\n", b"\r\n")
        elif kind == 7:
            data = b"\xef\xbb\xbf" + data
        else:
            data = replaced_value(data, at, dice.choice(VALUES))
    return data


def replaced_value(data: bytes, at: int, value: bytes) -> bytes:
    colon = data.find(b": ", at)
    ends = [end for end in (data.find(b",", colon), data.find(b"}", colon)) if end > 0]
    return data[: colon + 2] + value + data[min(ends) :] if colon > 0 and ends else data


def check(receipt: Receipt, data: bytes, store: Store, *, is_lines: bool, is_plain: bool) -> None:
    assert receipt.read == receipt.accepted + receipt.duplicate + receipt.rejected
    assert sum(receipt.reasons.values()) == receipt.rejected
    assert set(receipt.reasons) <= set(REJECT_REASONS)
    if receipt.state != "done":
        assert (receipt.read, bool(receipt.message)) == (0, True)
        return
    if not (receipt.message or "").startswith("the same bytes"):
        assert store.rejects(receipt.upload_id).height == receipt.rejected
    if not is_plain or data[:1] == b"\0":  # packed, or taken for UTF-16
        return
    lines = data.split(b"\n")
    if is_lines:
        assert receipt.read == sum(bool(line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r")) for line in lines)
    for reject in receipt.rejects:
        assert reject.line is not None
        assert reject.offset is not None
        if is_lines:
            assert reject.offset == sum(len(line) + 1 for line in lines[: reject.line - 1])
        else:
            assert data.count(b"\n", 0, reject.offset) == reject.line - 1


def run(folder: Path, seed: int, inputs: int) -> None:
    dice = random.Random(seed)
    store_of = StoreSettings(threads=1)
    for start in range(0, inputs, 200):
        with Store.open(settings=store_of) as store:
            for number in range(start, min(start + 200, inputs)):
                name = dice.choice(list(BASES))
                data = mutated(BASES[name], dice)
                is_packed = dice.random() < 0.1
                path = folder / name
                path.write_bytes(gzip.compress(data)[: dice.randrange(20, 2000)] if is_packed else data)
                try:
                    receipt = load(path, store, LoadOptions())
                    is_lines = not is_packed and shape_of(data.removeprefix(b"\xef\xbb\xbf")) == "json_lines"
                    check(receipt, data, store, is_lines=is_lines, is_plain=not is_packed)
                except BaseException as error:
                    error.add_note(f"seed {seed}, input {number}, {name}: {data!r}")
                    raise


def test_mutated_tables_are_accounted_for(tmp_path: Path) -> None:
    run(tmp_path, seed=11, inputs=60)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_two_thousand_mutated_tables_are_accounted_for(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, inputs=200)
