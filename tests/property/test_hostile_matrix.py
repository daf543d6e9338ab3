"""A good file of every format against everything that befalls files: nothing stops a reader, every row is accounted
for at its place, what says the same gives the same rows, and a bad line costs no other.

A part of the matrix is run each time, another one for each file; TAILWISE_EXAMPLES above 1 runs all of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import InputError, ServiceError
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import RowReader
from ingest.load import LoadOptions, Receipt
from ingest.load_source import Job, SourceLoad
from ingest.paths import Found
from ingest.sniff import read_head, recognize
from ingest.store.database import Store, StoreSettings
from ingest.unpack import open_source
from tests.property.test_every_format_fuzz import SAMPLES, check, limited
from tests.property.test_formats_fuzz import check as check_row
from tests.support.hostile import BAD_LINES, DAMAGE, ODD, REWRITTEN, SAME, json_of, leaves, put, text_of, with_line
from tests.support.otlp import request, span

IS_WHOLE = int(os.environ.get("TAILWISE_EXAMPLES", "1")) > 1
PART = 16  # one in so many of the matrix is run each time
TABLES = ("requests", "calls", "spans", "replica_hours")
OF_LOAD = ("upload_id",)
OF_LAYOUT = ("content_key", "shape_key", "request_key", "marks")  # hashes of a row as it was written, and how
TOLD = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "x.ratio": 0.25,
    "gen_ai.response.finish_reasons": ["stop"], "x.is_new": True, "gen_ai.usage.output_tokens": 7,
}  # fmt: skip
TRACES = [request([span("chat é", n, n + 1, span_id=f"{n}", attributes=TOLD, events=[("x", n)])]) for n in range(4)]
GOOD = {name: data for name, data in SAMPLES.items() if not name.startswith("otlp.")} | {
    "otlp.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in TRACES),
    "otlp.json": json.dumps(TRACES, indent=1).encode(),
}
ORDERED = {"mooncake/good.jsonl"}  # tells which blocks of a prompt were seen before
MAKES_ROOTS = {"langfuse/observations.jsonl"}  # of traces that several observations share
BY_SPACE = {"span_objects/python.txt"}  # documents one after another
Told = tuple[Receipt, "Counter[str]"]


def told(path: Path, *, hides: tuple[str, ...] = OF_LOAD) -> Told:
    """Receipt and rows of a file in a store of its own; requests are not made of spans."""
    with Store.open(settings=StoreSettings(threads=1)) as store:
        work = SourceLoad(Found(path, path.name, is_named=True), store, LoadOptions(), Job(assembles=False))
        try:
            with limited():
                receipt = work.run()
        except InputError as error:
            receipt = work.blank("failed", error.message, error.code)
        check(receipt, store)
        rows = Counter(f"{table} {_shown(row, hides)}" for table in TABLES for row in store.read(table).to_dicts())
    return receipt, rows


def _shown(row: dict[str, Any], hides: tuple[str, ...]) -> str:
    kept = {name: value for name, value in row.items() if value is not None and name not in hides}
    for name in ("attributes", "dimensions"):
        if name in kept:
            kept[name] = json.loads(kept[name])
    return json.dumps(kept, sort_keys=True, default=str)


@cache
def _format(name: str) -> str | None:
    """Format of a good file; None of one that is refused."""
    return None if "summary" in name or name.startswith(("openai_usage/", "otlp_other")) else name


NAMES = [name for name in sorted(GOOD) if _format(name)]


def turn(*parts: str) -> bool:
    """Whether a place of the matrix is run this time."""
    return IS_WHOLE or zlib.crc32(" ".join(parts).encode()) % PART == 0


def placed(folder: Path, name: str, data: bytes) -> Path:
    path = folder / Path(name).name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_what_says_the_same_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    for mutations, hides in ((SAME, OF_LOAD), (REWRITTEN, OF_LOAD + OF_LAYOUT)):
        wanted = {
            mutation: made
            for mutation, change in mutations.items()
            if turn(name, mutation) and (made := change(GOOD[name]))
        }
        if not wanted:
            continue
        before, rows = told(placed(tmp_path, name, GOOD[name]), hides=hides)
        for mutation, data in wanted.items():
            if mutation == "shuffled" and name in ORDERED | BY_SPACE:
                continue
            receipt, again = told(placed(tmp_path, name, data), hides=hides)
            assert again == rows, (
                mutation,
                receipt.message,
                list((rows - again).elements())[:1],
                list((again - rows).elements())[:1],
            )
            assert _counts(receipt) == _counts(before), (mutation, receipt.reasons)


def _counts(receipt: Receipt) -> tuple[int, int, int, int]:
    return receipt.read, receipt.accepted, receipt.duplicate, receipt.rejected


def _has_lines(name: str) -> bool:
    found = json_of(GOOD[name])
    return text_of(GOOD[name]) is not None and GOOD[name].count(b"\n") > 1 and (found is None or found[0])


@pytest.mark.parametrize("name", [name for name in NAMES if _has_lines(name) and name not in BY_SPACE])
def test_a_bad_line_costs_no_other(name: str, tmp_path: Path) -> None:
    n_lines = GOOD[name].rstrip(b"\r\n").count(b"\n") + 1
    is_table = json_of(GOOD[name]) is None and name.endswith(".csv")
    wanted = [
        (bad, at)
        for bad in BAD_LINES
        for at in sorted({int(is_table), n_lines // 2, n_lines - 1})
        if turn(name, bad, str(at))
    ]
    before, rows = told(placed(tmp_path, name, GOOD[name]))
    for bad, at in wanted:
        if not at and bad == "zero bytes" and name.endswith(".log"):
            continue  # what begins with zeros is no text
        data = with_line(GOOD[name], BAD_LINES[bad], at)
        receipt, again = told(placed(tmp_path, name, data))
        assert not rows - again, (bad, at, receipt.message, receipt.reasons)
        assert receipt.rejected == before.rejected + 1, (bad, at, receipt.reasons)
        offset = sum(len(line) for line in data.splitlines(keepends=True)[:at])
        assert (at + 1, offset) in {(reject.line, reject.offset) for reject in receipt.rejects}, (bad, at)


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_accounted_for(name: str, tmp_path: Path) -> None:
    for mutation, change in DAMAGE.items():
        if turn(name, mutation) and (data := change(GOOD[name])) is not None:
            receipt, _ = told(placed(tmp_path, name, data))
            assert receipt.read or receipt.message or receipt.format is None, mutation


def _places(name: str) -> list[tuple[str | int, ...]]:
    """Places of the values of the first row, or of the document."""
    found = json_of(GOOD[name])
    if found is None:
        return []
    value = found[1]
    is_list = isinstance(value, list)
    return [place for place in leaves(value) if not is_list or place[0] == 0]


def _read_in_python(path: Path) -> None:
    """Reads a file without a store, where its format is read in Python, and checks every row."""
    source = open_source(path)
    head = read_head(source)
    reader = recognize(head, FORMATS).reader
    if isinstance(reader, RowReader):
        n_lines = path.read_bytes().count(b"\n") + 1
        for row in reader.read(source, head):
            check_row(row, n_lines)


@pytest.mark.parametrize("name", [name for name in NAMES if json_of(GOOD[name])])
def test_an_odd_value_stops_no_reader(name: str, tmp_path: Path) -> None:
    is_lines, value = json_of(GOOD[name]) or (False, None)
    for odd in ODD:
        for place in _places(name):
            if turn(name, odd, str(place)):
                with contextlib.suppress(ServiceError):
                    _read_in_python(placed(tmp_path, name, put(is_lines, value, place, odd)))


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance((json_of(GOOD[name]) or (0, 0))[1], list)])
def test_an_odd_value_costs_its_row_at_most(name: str, tmp_path: Path) -> None:
    is_lines, value = json_of(GOOD[name]) or (False, None)
    before, rows = told(placed(tmp_path, name, GOOD[name]))
    places = _places(name)
    for number, odd in enumerate(ODD):
        for place in places if IS_WHOLE else [places[number % len(places)]]:
            if not turn(name, odd):
                continue
            receipt, again = told(placed(tmp_path, name, put(is_lines, value, place, odd)))
            assert receipt.read == before.read or receipt.state == "failed" or name in MAKES_ROOTS, (place, odd)
            assert name in ORDERED | MAKES_ROOTS or sum((rows - again).values()) <= 1, (
                place,
                odd,
                receipt.message,
                receipt.reasons,
            )
