"""Loading protobuf messages: pieces, rejects with their places, the thread that reads ahead, and ending early."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from ingest import messages as module
from ingest.assemble import SpanCounts, SpanOptions, assemble
from ingest.errors import Cancelled, Reject
from ingest.messages import load_messages, one_ahead, stage_messages
from ingest.rejects import Rejects
from ingest.sniff import read_head
from ingest.store.database import Store
from ingest.unpack import open_source
from tests.support.otlp import request, span, store_for
from tests.support.otlp_rows import as_protobuf, delimited


def bodies(n: int) -> list[bytes]:
    return [
        as_protobuf(request([span("chat", span_id=f"{i}", trace=f"t{i}", attributes={f"a.{i % 5}": i})]))
        for i in range(n)
    ]


def load(store: Store, path: Path, **more: object) -> SpanCounts:
    source = open_source(path)
    with store.writing() as cursor:
        counts = load_messages(cursor, source, read_head(source), "u", SpanOptions(source="otlp_protobuf"), **more)  # type: ignore[arg-type]
        assemble(cursor)
    return counts


def ids(store: Store) -> list[tuple[str, str, int]]:
    with store.cursor() as cursor:
        return cursor.execute("SELECT trace_id, span_id, content_key FROM spans ORDER BY ALL").fetchall()


def test_a_source_in_many_pieces_is_stored_as_one_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(*bodies(40)))
    with store_for(tmp_path) as store:
        whole, expected = load(store, path), ids(store)
    monkeypatch.setattr(module, "PIECE_SPANS", 7)
    monkeypatch.setattr(module, "FEW_BYTES", 0)
    with store_for(tmp_path) as store:
        assert load(store, path) == whole
        assert ids(store) == expected
    assert (whole.read, whole.accepted, len(expected)) == (40, 40, 40)
    assert dict(whole.not_understood) == {f"a.{i}": 8 for i in range(5)}


def test_a_reject_tells_the_byte_at_which_its_message_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = bodies(3)
    late = as_protobuf(request([span("late", start=2, end=1, span_id="x"), span("fine", span_id="y")]))
    data = delimited(good[0], late, b"\x0a\x7fbad", good[1], late) + delimited(good[2])[:-4]
    path = tmp_path / "traces.pb"
    path.write_bytes(data)
    monkeypatch.setattr(module, "PIECE_SPANS", 1)
    with store_for(tmp_path) as store:
        counts = load(store, path)
    first = len(delimited(good[0]))
    second = first + len(delimited(late))
    third = second + 6 + len(delimited(good[1]))
    assert [(reject.line, reject.offset, reject.reason) for reject in counts.rejects] == [
        (None, first, "end_before_start"),
        (None, second, "bad_value"),
        (None, third, "end_before_start"),
        (None, third + len(delimited(late)), "torn_line"),
    ]
    assert counts.rejects[0].head.startswith("late 74")
    assert counts.rejects[1] == Reject(None, second, "bad_value", "", "5 bytes of a message")
    assert (counts.read, counts.accepted, counts.duplicate, counts.rejected) == (8, 3, 1, 4)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_a_message_with_a_broken_span_is_one_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    good = bodies(4)
    spoiled = as_protobuf(request([span("chat", span_id="1"), span("chat", span_id="2", attributes={"kk": 7})]))
    spoiled = spoiled.replace(b"kk\x12\x02", b"kk\x12\x7f")
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(*good[:2], spoiled, *good[2:], spoiled))
    monkeypatch.setattr(module, "PIECE_SPANS", most)
    with store_for(tmp_path) as store:
        counts = load(store, path)
    first = len(delimited(*good[:2]))
    second = len(delimited(*good[:2], spoiled, *good[2:]))
    assert counts.rejects == tuple(
        Reject(None, at, "bad_value", "", f"{len(spoiled)} bytes of a message") for at in (first, second)
    )
    assert (counts.read, counts.accepted, counts.rejected) == (6, 4, 2)


def test_many_messages_that_cannot_be_read_are_held_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    extend = Rejects.extend

    def noted(self: Rejects, told: Iterable[Reject]) -> None:
        extend(self, told := [*told])
        held.append(max(len(told), len(self._held)))

    monkeypatch.setattr(module, "PIECE_SPANS", 8)
    bad, good = b"\x0a\x7fbad", bodies(3)
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(good[0], *[bad] * 30, good[1], *[bad] * 30, good[2]))
    with store_for(tmp_path) as store:
        whole = load(store, path)
    monkeypatch.setattr("ingest.rejects.IN_MEMORY", 5)
    monkeypatch.setattr(Rejects, "extend", noted)
    with store_for(tmp_path) as store:
        assert load(store, path) == whole
    first = len(delimited(good[0]))
    places = [first + 6 * n + (len(delimited(good[1])) if n >= 30 else 0) for n in range(60)]
    assert [reject.offset for reject in whole.rejects] == places
    assert (whole.read, whole.accepted, whole.rejected) == (63, 3, 60)
    assert max(held[:-1]) <= 8  # the last is all of them, one after the other


def test_bodies_are_stored_beside_those_of_the_same_upload(tmp_path: Path) -> None:
    with store_for(tmp_path) as store:
        for part in (bodies(4)[:3], bodies(4)[2:]):
            with store.writing() as cursor:
                counts = stage_messages(cursor, part, "hour", SpanOptions(source="otlp_protobuf"))
        assert (counts.read, counts.accepted, counts.duplicate) == (2, 1, 1)
        assert len(ids(store)) == 4


def test_progress_ends_at_the_size_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(*bodies(5)))
    told: list[tuple[int, int]] = []
    with store_for(tmp_path) as store:
        load(store, path, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert told == sorted(told)


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["ahead", "at once"])
def test_a_load_that_is_ended_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(*bodies(50)))
    monkeypatch.setattr(module, "PIECE_SPANS", 5)
    monkeypatch.setattr(module, "FEW_BYTES", few)
    asked = iter(range(1000))
    with store_for(tmp_path) as store:
        with pytest.raises(Cancelled):
            load(store, path, cancelled=lambda: next(asked) > 20)
        assert ids(store) == []
    gc.collect()  # what was left to its end would touch a cursor that is closed, and be told as an error
    assert not [thread for thread in threading.enumerate() if thread.name == "ahead"]


def test_items_come_in_order_and_an_error_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise OSError("gone")

    found: list[int] = []
    with pytest.raises(OSError, match="gone"):
        found.extend(one_ahead(items()))
    assert found == [0, 1, 2]


def test_a_reader_that_stops_early_ends_the_thread() -> None:
    ahead = one_ahead(iter(range(1_000_000)))
    assert next(ahead) == 0
    ahead.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "ahead"]


def test_a_message_that_unpacks_to_more_than_a_line_may_hold_is_refused() -> None:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    from ingest.formats.otlp_protobuf import messages

    packed = zstd.compress(bytes(70 << 20))
    data = len(packed).to_bytes(4, "big") + packed
    (message,) = messages(BytesIO(data), data)
    assert (message.fault, len(message.body)) == ("line_too_long", len(packed))
