"""The receiver: a body that cannot be stored is set aside, and costs its neighbors nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from api import receiver as module
from api.receiver import Receiver
from api.spool import Spool
from api.telemetry import Telemetry
from api.uploads import upload_view
from ingest.assemble import SpanCounts
from ingest.receipts import LoadOptions
from ingest.receive import Kind, receive, set_aside
from ingest.store import lists
from ingest.store.database import Store

START = 1_772_445_600_000_000_000


def body(number: int) -> bytes:
    span = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "chat m",
        "startTimeUnixNano": str(START),
        "endTimeUnixNano": str(START + 1_000_000),
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb") as opened:
        yield opened


def receiver_of(store: Store, folder: Path, changes: list[int]) -> Receiver:
    spool = Spool(folder, 1_000_000)
    options = {"batch_seconds": 60.0, "changed": lambda: changes.append(1)}
    return Receiver(store, spool, LoadOptions(), Telemetry(), **options)  # type: ignore[arg-type]


def test_what_was_taken_is_in_the_store_when_the_receiver_is_closed(store: Store, tmp_path: Path) -> None:
    changes: list[int] = []
    receiver = receiver_of(store, tmp_path / "spool", changes)
    receiver.start()
    checked = [asyncio.run(receiver.take("json", body(number))) for number in (1, 2, 3)]
    receiver.close()
    assert ([one.spans for one in checked], lists.counts(store)["requests"], changes) == ([1, 1, 1], 3, [1])


def test_a_body_that_breaks_the_batch_is_set_aside_and_its_neighbors_are_stored(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(bodies: Iterable[tuple[Kind, bytes]], *more: object) -> SpanCounts:
        told = list(bodies)
        if body(2) in [one for _, one in told]:
            raise ZeroDivisionError("a fault of the store")
        return receive(told, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "receive", breaks)
    receiver = receiver_of(store, tmp_path / "spool", [])
    receiver.start()
    for number in (1, 2, 3):
        asyncio.run(receiver.take("json", body(number)))
    receiver.close()
    aside = list((tmp_path / "spool" / "set-aside").iterdir())
    assert lists.counts(store)["requests"] == 2
    assert [path.read_bytes() for path in aside] == [body(2)]
    assert list((tmp_path / "spool").glob("*.segment")) == []
    (upload,) = store.uploads().to_dicts()
    assert [upload[f"n_{name}"] for name in ("read", "accepted", "duplicate", "rejected")] == [3, 2, 0, 1]
    assert json.loads(upload["receipt"])["reasons"] == {"set_aside": 1}
    assert json.loads(upload["receipt"])["notes"] == [
        "received bodies that could not be stored lie in set-aside; look at them with tailwise doctor"
    ]
    (reject,) = store.rejects(upload["upload_id"]).to_dicts()
    assert reject["detail"] == f"1 span in set-aside/{aside[0].name}: ZeroDivisionError: a fault of the store"
    assert upload_view(upload, None)["reasons"] == {"set_aside": 1}


def test_a_later_batch_of_the_hour_keeps_what_was_told_before(store: Store, tmp_path: Path) -> None:
    at = START + 60_000_000_000
    set_aside("json", body(1), store, file="set-aside/a.json", why="OSError: no", now_ns=at)
    receive([("json", body(2))], store, LoadOptions(), at)
    (upload,) = store.uploads().to_dicts()
    assert (upload["n_read"], upload["n_rejected"]) == (2, 1)
    assert len(json.loads(upload["receipt"])["notes"]) == 1


def test_of_an_hour_one_sentence_tells_how_many_spans_were_told_again(store: Store, tmp_path: Path) -> None:
    at = START + 60_000_000_000
    metrics = b'{"resourceMetrics":[{}]}'
    fuller = [
        body(number).replace(b'"attributes": [', b'"attributes": [{"key": "x.more", "value": {"stringValue": "y"}}, ')
        for number in range(1, 7)
    ]
    receive([("json", body(number)) for number in range(1, 7)], store, LoadOptions(), at)
    receive([("json", fuller[0]), ("json", metrics)], store, LoadOptions(), at)
    set_aside("json", body(9), store, file="set-aside/a.json", why="OSError: no", now_ns=at)
    receive([("json", told) for told in (*fuller[1:5], metrics)], store, LoadOptions(), at)
    (upload,) = store.uploads().to_dicts()
    assert upload_view(upload, None)["notes"] == [
        "2 entries of metrics skipped: only spans are read",
        "5 spans were told again with more or other content; the fuller telling stands",
        "received bodies that could not be stored lie in set-aside; look at them with tailwise doctor",
    ]
    assert upload_view(upload, None)["not_understood"] == {"x.more": 5}


def test_a_backlog_that_takes_long_is_left_for_the_next_start(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.spool.SEGMENT_BYTES", 1)
    monkeypatch.setattr(module, "LAST_S", -1.0)
    receiver = receiver_of(store, tmp_path / "spool", [])
    receiver.start()
    for number in (1, 2, 3):
        asyncio.run(receiver.take("json", body(number)))
    receiver.close()
    assert (lists.counts(store)["requests"], len([*(tmp_path / "spool").glob("*.segment")])) == (0, 3)
    monkeypatch.undo()
    receiver = receiver_of(store, tmp_path / "spool", [])
    receiver.start()
    receiver.close()
    assert lists.counts(store)["requests"] == 3
