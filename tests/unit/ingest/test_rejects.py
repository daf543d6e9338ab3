"""Refused rows of a source: all are told in order, few are held."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ingest import rejects as module
from ingest.errors import Reject
from ingest.load import load
from ingest.rejects import Rejects, in_order
from ingest.store import spans as spans_module
from ingest.store.database import Store
from tests.support.loads import PLAIN
from tests.support.otlp import START_NS, Json, request, span, write_lines


def reject(line: int, reason: str = "torn_line") -> Reject:
    return Reject(line, line * 10, reason, 'head "é"\n', "detail")


def test_those_that_are_not_held_are_told_too_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IN_MEMORY", 3)
    monkeypatch.setattr(module, "READ_BYTES", 100)
    wanted = [reject(line, "a" if line % 2 else "b") for line in range(10)]
    told = Rejects(wanted[:5])
    first = iter(told)
    assert [next(first) for _ in range(4)] == wanted[:4]
    told.extend(wanted[5:])
    assert [*first] == wanted[4:]  # what comes while it is read is told too
    assert [*told] == [*told] == wanted
    assert (len(told), told[7], told[-1], told[2:5]) == (10, wanted[7], wanted[9], tuple(wanted[2:5]))
    assert told == Rejects(wanted) == tuple(wanted)
    assert told != Rejects(wanted[1:])
    assert told.reasons == {"a": 5, "b": 5}
    assert len(told._held) == 3
    assert [*in_order(told, [reject(3), reject(20)])] == [*wanted[:4], reject(3), *wanted[4:], reject(20)]
    with pytest.raises(IndexError):
        told[10]


def test_a_source_of_many_refused_lines_and_spans_holds_few_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IN_MEMORY", 5)
    monkeypatch.setattr(spans_module, "PAGE_ROWS", 7)
    held: list[int] = []
    extend = Rejects.extend

    def noted(rejects: Rejects, told: Iterable[Reject]) -> None:
        extend(rejects, told)
        held.append(len(rejects._held))

    monkeypatch.setattr(Rejects, "extend", noted)
    bad = [span("x", span_id=f"s{n}", endTimeUnixNano=str(START_NS - 1)) for n in range(3)]
    lines: list[Json | str] = [
        request([span("x", trace="good")]),
        *("{torn" for _ in range(40)),
        *(request(bad) for _ in range(10)),
    ]
    path = write_lines(tmp_path / "t.jsonl", lines)
    with Store.open() as store:
        receipt = load(path, store, PLAIN)
        rows = store.rejects(receipt.upload_id).to_dicts()
    data = path.read_bytes()
    assert (receipt.read, receipt.accepted, receipt.rejected) == (71, 1, 70)
    assert receipt.reasons == {"invalid_json": 40, "end_before_start": 30}
    places = [*range(2, 42), *(line for line in range(42, 52) for _ in range(3))]
    assert [row["line"] for row in rows] == places
    starts = [0, *(n + 1 for n, byte in enumerate(data) if byte == ord("\n"))]
    assert [row["byte_offset"] for row in rows] == [starts[line - 1] for line in places]
    assert [reject.line for reject in receipt.rejects] == places[:20]
    assert max(held) == 5
