"""Taking an upload out: what another upload told too stays, and the same bytes can always come again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ingest.forget import forget
from ingest.load import load
from ingest.store.database import Store
from tests.support.loads import PLAIN, counts, write


def row(number: int, **more: object) -> bytes:
    told = {"start_time": f"2026-03-02T10:{number:02}:00Z", "model": "m", "input_tokens": 9, "e2e_ms": 1000.0}
    return json.dumps({"request_id": f"r-{number}"} | told | more).encode() + b"\n"


def nameless(number: int) -> bytes:
    return json.dumps(json.loads(row(number)) | {"request_id": None}).encode() + b"\n"


def span(number: int, **attributes: str) -> bytes:
    told = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": str(1_772_445_600_000_000_000 + number),
        "endTimeUnixNano": str(1_772_445_601_000_000_000 + number),
        "attributes": [
            {"key": key, "value": {"stringValue": value}}
            for key, value in ({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"} | attributes).items()
        ],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]}).encode() + b"\n"


def owners(store: Store, table: str = "requests") -> dict[str, int]:
    return dict(store.read(table)["upload_id"].value_counts().rows())


def receipts(store: Store) -> dict[str, tuple[int, int]]:
    frame = store.uploads()
    for values in frame.iter_rows(named=True):
        told = json.loads(values["receipt"])
        assert (told["accepted"], told["duplicate"]) == (values["n_accepted"], values["n_duplicate"])
    return {values["upload_id"]: (values["n_accepted"], values["n_duplicate"]) for values in frame.to_dicts()}


def test_the_same_bytes_sent_twice_stay_when_the_first_is_taken_out(tmp_path: Path) -> None:
    for number, content in enumerate((row(1) + row(2) + b"broken\n", nameless(1) + nameless(2), span(1) + span(2))):
        (path,) = write(tmp_path, {f"a{number}.jsonl": content})
        with Store.open() as store:
            load(path, store, PLAIN, upload_id="u-1")
            load(path, store, PLAIN, upload_id="u-2")
            forget(store, "u-1")
            assert owners(store) == {"u-2": 2}
            assert receipts(store) == {"u-2": (2, 0)}
            says = "2 duplicates became rows of this upload when u-1, which told them first, was deleted"
            assert store.uploads()["message"].to_list() == [says]
            assert store.rejects("u-2").height == (number == 0)
            assert counts(load(path, store, PLAIN, upload_id="u-3"))[1:3] == (0, 2)
            forget(store, "u-2")
            forget(store, "u-3")
            assert [store.read(table).height for table in ("requests", "spans", "uploads", "rejects", "repeats")] == [
                0
            ] * 5
            assert counts(load(path, store, PLAIN))[1:3] == (2, 0)


def test_rejects_stay_when_a_later_copy_of_the_same_bytes_is_taken_out(tmp_path: Path) -> None:
    bad = span(1).replace(b'"endTimeUnixNano": "', b'"endTimeUnixNano": "1", "x": "')
    for number, content in enumerate((row(1) + b"broken\n", b"start_time,model,input_tokens\n,m,abc\n", span(2) + bad)):
        (path,) = write(tmp_path, {f"c{number}.jsonl": content})
        with Store.open() as store:
            load(path, store, PLAIN, upload_id="u-1")
            before = store.rejects("u-1")
            load(path, store, PLAIN, upload_id="u-2")
            load(path, store, PLAIN, upload_id="u-3")
            for copy in ("u-3", "u-2"):
                forget(store, copy)
                assert_frame_equal(store.rejects("u-1"), before)
            assert (before.height, store.uploads()["n_rejected"].to_list()) == (1, [1])


def test_rows_that_another_file_told_too_pass_to_it(tmp_path: Path) -> None:
    for number, one in enumerate((row, nameless, span)):
        first, second, third = write(
            tmp_path,
            {
                f"{number}b1.jsonl": b"".join(map(one, range(50))),
                f"{number}b2.jsonl": b"".join(map(one, range(25, 55))),
                f"{number}b3.jsonl": b"".join(map(one, range(40, 58))),
            },
        )
        with Store.open() as store:
            assert counts(load(first, store, PLAIN, upload_id="u-1")) == (50, 50, 0, 0)
            assert counts(load(second, store, PLAIN, upload_id="u-2")) == (30, 5, 25, 0)
            assert counts(load(third, store, PLAIN, upload_id="u-3")) == (18, 3, 15, 0)
            forget(store, "u-1")
            assert owners(store) == {"u-2": 30, "u-3": 3}
            assert receipts(store) == {"u-2": (30, 0), "u-3": (3, 15)}
            assert counts(load(second, store, PLAIN, upload_id="u-4")) == (30, 0, 30, 0)
            forget(store, "u-4")
            forget(store, "u-2")
            assert owners(store) == {"u-3": 18}
            assert receipts(store) == {"u-3": (18, 0)}
            assert counts(load(first, store, PLAIN)) == (50, 40, 10, 0)


def test_a_table_and_json_lines_of_one_request_pass_it_on(tmp_path: Path) -> None:
    header = b"request_id,start_time,model,input_tokens,e2e_ms\n"
    table = header + b"".join(b"r-%d,2026-03-02T10:%02d:00Z,m,9,1000.0\n" % (n, n) for n in range(3)) + b"bad\n"
    first, second = write(tmp_path, {"a.jsonl": row(0) + row(1), "b.csv": table})
    with Store.open() as store:
        load(first, store, PLAIN, upload_id="u-1")
        assert counts(load(second, store, PLAIN, upload_id="u-2")) == (4, 1, 2, 1)
        forget(store, "u-1")
        assert owners(store) == {"u-2": 3}


def test_replica_hours_told_twice_pass_on(tmp_path: Path) -> None:
    header = b"replica,hour,up_s,busy_s\n"
    hours = [
        b"a,2026-03-02T10:00:00Z,3600,1800\n",
        b"a,2026-03-02T11:00:00Z,3600,900\n",
        b"b,2026-03-02T11:00:00Z,3600,0\n",
    ]
    first, second = write(tmp_path, {"a.csv": header + hours[0] + hours[1], "b.csv": header + hours[1] + hours[2]})
    with Store.open() as store:
        load(first, store, PLAIN, upload_id="u-1")
        load(second, store, PLAIN, upload_id="u-2")
        forget(store, "u-1")
        assert owners(store, "replica_hours") == {"u-2": 2}


def test_a_span_told_more_fully_stays_with_the_file_that_told_it_first(tmp_path: Path) -> None:
    first, second = write(tmp_path, {"a.jsonl": span(1), "b.jsonl": span(1, region="eu")})
    with Store.open() as store:
        load(first, store, PLAIN, upload_id="u-1")
        load(second, store, PLAIN, upload_id="u-2")
        forget(store, "u-2")
        assert owners(store) == {"u-1": 1}


def test_of_rows_told_differently_the_oldest_of_the_others_stands(tmp_path: Path) -> None:
    contents = {"v": row(1) + row(2), "w": row(1, e2e_ms=2000.0) + row(2), "x": row(1) + b"\n" + row(2)}
    paths = dict(zip(contents, write(tmp_path, {f"{n}.jsonl": c for n, c in contents.items()}), strict=True))
    with Store.open() as store:
        for name, path in paths.items():
            load(path, store, PLAIN, upload_id=name)

        def told() -> list[tuple[str, int]]:
            frame = store.read("requests", order="request_key")
            return [*zip(frame["upload_id"], frame["e2e_ns"], strict=True)]

        assert told() == [("v", 1_000_000_000), ("v", 1_000_000_000)]
        assert store.read("repeats", "told = 'rows'").height == 2  # row 1 of w and of x, which came after a conflict
        forget(store, "v")
        assert told() == [("w", 2_000_000_000), ("w", 1_000_000_000)]
        forget(store, "w")
        assert told() == [("x", 1_000_000_000), ("x", 1_000_000_000)]
        forget(store, "x")
        assert [store.read(table).height for table in ("requests", "repeats", "uploads")] == [0] * 3


def test_of_log_lines_told_differently_the_other_stands(tmp_path: Path) -> None:
    line = {
        "request": {"id": "k-1"},
        "response": {"status": 200},
        "started_at": 1795000000000,
        "ai": {"p": {"usage": {"prompt_tokens": 3, "cost": 0.25}}},
    }
    logs = {"v": line | {"latencies": {"request": 100}}, "w": line | {"latencies": {"request": 200}}}
    paths = write(tmp_path, {f"{name}.jsonl": json.dumps(told).encode() + b"\n" for name, told in logs.items()})
    with Store.open() as store, Store.open() as fresh:
        for name, path in zip(logs, paths, strict=True):
            load(path, store, PLAIN, upload_id=name)
        assert store.read("requests")["e2e_ns"].to_list() == [100_000_000]
        forget(store, "v")
        load(paths[1], fresh, PLAIN, upload_id="w")
        assert_frame_equal(store.read("requests"), fresh.read("requests"))
        assert store.read("repeats").height == 0


HOURS = {
    "one": ['a "{b,2026-03-02T10:00:00Z,3600,1800,7.1', "b,2026-03-02T10:00:00Z,3600,900,"],
    "two": [
        'a "{b,2026-03-02T10:00:00Z,3600,60,0.000000000001',
        "b,2026-03-02T10:00:00Z,3600,900,",
        "c,2026-03-02T10:00:00Z,1,1,",
    ],
    "three": ["b,2026-03-02T10:00:00Z,1200,900,", 'a "{b,2026-03-02T10:00:00Z,3600,60,0.000000000001'],
}


def hours_of(folder: Path, loaded: Sequence[str], gone: Sequence[str] = ()) -> pl.DataFrame:
    with Store.open() as store:
        for name in loaded:
            header = "replica,hour,up_s,busy_s,cost_usd"
            rows = [
                header,
                *(f'"{row.replace(chr(34), chr(34) * 2).replace(",", chr(34) + ",", 1)}' for row in HOURS[name]),
            ]
            (path,) = write(folder, {f"{name}.csv": "\n".join(rows).encode()})
            load(path, store, PLAIN, upload_id=name)
        for name in gone:
            forget(store, name)
        return store.read("replica_hours", order="replica")


@pytest.mark.parametrize("loaded", [*permutations(HOURS)])
def test_replica_hours_told_otherwise_come_back_when_the_upload_that_stands_goes(
    tmp_path: Path, loaded: tuple[str, ...]
) -> None:
    for n_gone in (1, 2, 3):
        for gone in permutations(HOURS, n_gone):
            left = [name for name in loaded if name not in gone]
            assert_frame_equal(hours_of(tmp_path, loaded, gone), hours_of(tmp_path, left))
