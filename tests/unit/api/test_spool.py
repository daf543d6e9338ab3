"""The spool: durable before acknowledged, whole records only, nothing lost between processes."""

from __future__ import annotations

from concurrent.futures import wait
from pathlib import Path

import pytest

from api.problems import Refused
from api.spool import Spool, records


def test_what_was_acknowledged_is_read_back_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1_000_000)
    spool.start()
    wait([spool.offer(b"j", f"body {n}".encode()) for n in range(100)])
    segments = spool.take()
    spool.close()
    assert [record for path in segments for record in records(path)] == [
        (b"j", f"body {n}".encode()) for n in range(100)
    ]


def test_a_later_process_finds_what_an_earlier_one_left(tmp_path: Path) -> None:
    first = Spool(tmp_path, 1_000_000)
    first.start()
    first.offer(b"p", b"left").result(10)
    first.close()
    second = Spool(tmp_path, 1_000_000)
    second.start()
    second.offer(b"p", b"new").result(10)
    second.close()
    assert [record for path in second.take() for record in records(path)] == [(b"p", b"left"), (b"p", b"new")]


def test_a_later_process_gives_out_no_name_a_second_time(tmp_path: Path) -> None:
    names = []
    for body in (b"one", b"two"):
        spool = Spool(tmp_path, 1_000_000)
        spool.start()
        spool.offer(b"j", body).result(10)
        (segment,) = spool.take()
        (tmp_path / "set-aside").mkdir(exist_ok=True)
        (tmp_path / "set-aside" / f"{segment.stem}-0.json").write_bytes(body)
        spool.done(segment)
        spool.close()
        names.append(segment.name)
    assert names[0] < names[1]
    assert sorted(path.read_bytes() for path in (tmp_path / "set-aside").iterdir()) == [b"one", b"two"]


def test_a_clock_that_went_back_gives_out_no_name_a_second_time(tmp_path: Path) -> None:
    (tmp_path / "set-aside").mkdir()
    (tmp_path / "set-aside" / "9000000000000-0.json").write_bytes(b"of a clock far ahead")
    spool = Spool(tmp_path, 1_000_000)
    spool.start()
    spool.offer(b"j", b"body").result(10)
    assert [path.name for path in spool.take()] == ["9000000000001.segment"]
    spool.close()


def test_a_record_torn_by_a_crash_ends_the_segment_and_harms_nothing_before_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1_000_000)
    spool.start()
    wait([spool.offer(b"j", b"whole"), spool.offer(b"j", b"torn")])
    spool.close()
    (segment,) = spool.take()
    segment.write_bytes(segment.read_bytes()[:-2])
    assert list(records(segment)) == [(b"j", b"whole")]


def test_a_full_spool_says_when_to_come_back(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10)
    with pytest.raises(Refused) as caught:
        spool.offer(b"j", b"more than ten bytes")
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (503, "backlog_full", 5)


def test_a_stored_segment_no_longer_counts(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1_000_000)
    spool.start()
    spool.offer(b"j", b"body").result(10)
    (segment,) = spool.take()
    before = spool.backlog_bytes
    spool.done(segment)
    spool.close()
    assert (before, spool.backlog_bytes, list(tmp_path.iterdir())) == (17, 0, [])


def test_whoever_stops_waiting_takes_nothing_back_and_stops_nobody(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1_000_000)
    left = spool.offer(b"p", b"of a client that went away")
    left.cancel()
    spool.start()
    spool.offer(b"p", b"next").result(10)
    segments = spool.take()
    spool.close()
    assert [body for path in segments for _, body in records(path)] == [b"of a client that went away", b"next"]


def test_a_long_backlog_is_many_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.spool.SEGMENT_BYTES", 1000)
    spool = Spool(tmp_path, 1_000_000)
    offered = [spool.offer(b"j", b"%03d" % n * 100) for n in range(40)]
    spool.start()
    wait(offered)
    segments = spool.take()
    spool.close()
    assert [body for path in segments for _, body in records(path)] == [b"%03d" % n * 100 for n in range(40)]
    assert len(segments) == 10
    assert max(path.stat().st_size for path in segments) < 2500
