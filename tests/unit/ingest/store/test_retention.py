"""Which days go, in what pieces, and what happens to rows that come afterwards."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ingest.errors import StateError
from ingest.forget import forget
from ingest.load import load
from ingest.store import retention
from ingest.store.database import TABLES, Store
from ingest.store.retention import Piece, cutoff, due, is_closed
from tests.support.builders import frame, request
from tests.support.loads import PLAIN, counts, places, write
from tests.support.retention import at, drop, row, span


def pieces(store: Store) -> list[tuple[int, int]]:
    return [tuple(found) for found in store.read("rolled_days", order="start_ns").select("start_ns", "end_ns").rows()]


def test_whole_local_days_go_that_are_over_for_long_enough() -> None:
    now = at("2026-03-30T09:00:00")
    assert cutoff(now, 86_400, "UTC") == at("2026-03-29T00:00:00")
    assert cutoff(now, 86_400, "Europe/Berlin") == at("2026-03-28T23:00:00")  # 29 March has 23 hours there
    assert cutoff(now, 35 * 86_400, "Asia/Kolkata") == at("2026-02-22T18:30:00")


def test_a_day_is_cut_at_midnight_of_utc_and_of_the_zone() -> None:
    with Store.open() as store:
        store.append("requests", frame([request(1, at_s=22.5 * 3600), request(2, at_s=23.5 * 3600)]))
        before = at("2026-03-04T23:00:00")
        first = due(store, before, "Europe/Berlin")
        assert first == Piece(at("2026-03-02T00:00:00"), at("2026-03-02T23:00:00"))
        second = due(store, before, "Europe/Berlin", after_ns=first.end_ns)
        assert second == Piece(at("2026-03-02T23:00:00"), at("2026-03-03T00:00:00"))
        assert due(store, before, "Europe/Berlin", after_ns=second.end_ns) is None
        assert due(store, at("2026-03-02T22:59:00"), "Europe/Berlin") is None


def test_a_day_closed_in_another_zone_is_not_closed_twice() -> None:
    with Store.open() as store:
        store.append("requests", frame([request(1, at_s=3600)]))
        drop(store, at("2026-03-02T23:00:00"))
        store.append("requests", frame([request(2, at_s=23.5 * 3600)]))
        drop(store, at("2026-03-05T00:00:00"), timezone="America/New_York")
        assert pieces(store) == [
            (at("2026-03-02T00:00:00"), at("2026-03-02T23:00:00")),
            (at("2026-03-02T23:00:00"), at("2026-03-03T00:00:00")),
        ]


def test_an_instant_is_closed_from_the_first_to_before_the_last() -> None:
    ranges = ((10, 20), (30, 40))
    assert [is_closed(ranges, ns) for ns in (9, 10, 19, 20, 30, 39, 40, None)] == [
        *(False, True, True, False),
        *(True, True, False, False),
    ]


def test_late_rows_of_a_dropped_day_are_refused_with_their_line_in_every_kind_of_file(tmp_path: Path) -> None:
    old, new = row("a", "2026-03-02T10:00:00"), row("b", "2026-03-09T10:00:00")
    table = b"request_id,start_time,model,input_tokens,e2e_ms\nc,2026-03-09T10:00:00Z,large,9,1000\nd,2026-03-02T11:00:00Z,large,9,1000\n"
    nginx = (
        b'192.0.2.1 - - [02/Mar/2026:10:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 200 804 "-" "curl/8.6.0" '
        b'rt=2.500 uct="0.001" uht="0.400" urt="2.480"\n'
    )
    first, late, csv, otlp, rows = write(
        tmp_path,
        {
            "first.jsonl": old + new,
            "late.jsonl": row("e", "2026-03-09T12:00:00") + row("f", "2026-03-02T12:00:00") + b"\n" + old,
            "late.csv": table,
            "late.otlp.jsonl": span(1, 1, "2026-03-09T10:00:00") + span(2, 2, "2026-03-02T10:00:00"),
            "access.log": nginx,
        },
    )
    with Store.open() as store:
        load(first, store, PLAIN)
        drop(store, at("2026-03-05T23:00:00"))
        told = load(late, store, PLAIN)
        assert counts(told) == (3, 1, 0, 2)
        assert [(line, reason) for line, _, reason in places(told)] == [(2, "day_rolled_up"), (4, "day_rolled_up")]
        told = load(csv, store, PLAIN)
        assert (counts(told), [(p[0], p[2]) for p in places(told)]) == ((2, 1, 0, 1), [(3, "day_rolled_up")])
        told = load(otlp, store, PLAIN)
        assert (counts(told), [(p[0], p[2]) for p in places(told)]) == ((2, 1, 0, 1), [(2, "day_rolled_up")])
        told = load(rows, store, PLAIN)
        assert (counts(told), told.reasons) == ((1, 0, 0, 1), {"day_rolled_up": 1})
        assert store.read("rolled_days")["n_requests"].sum() == 1
        assert store.read("requests").height == 4


def test_a_trace_that_runs_past_midnight_goes_as_a_whole_and_its_rest_does_not_come_back(tmp_path: Path) -> None:
    parts = [span(7, 1, "2026-03-04T22:59:59", 5.0), span(7, 2, "2026-03-04T23:00:01", 1.0, parent=1)]
    whole, rest, fresh = write(
        tmp_path,
        {
            "whole.jsonl": b"".join(parts),
            "rest.jsonl": parts[1] + span(8, 3, "2026-03-04T23:00:02"),
            "fresh.jsonl": span(9, 4, "2026-03-04T22:59:59", 5.0) + span(9, 5, "2026-03-04T23:00:01", 1.0, parent=4),
        },
    )
    with Store.open() as store:
        load(whole, store, PLAIN, upload_id="u-1")
        assert drop(store, at("2026-03-04T23:00:00")).spans == 2
        assert store.read("rolled_traces")["trace_id"].to_list() == [f"{7:032x}"]
        told = load(rest, store, PLAIN)
        assert (counts(told), places(told)[0][0], told.reasons) == ((2, 1, 0, 1), 1, {"day_rolled_up": 1})
        told = load(fresh, store, PLAIN)
        assert (counts(told), told.reasons) == ((2, 0, 0, 2), {"day_rolled_up": 2})
        assert store.read("requests")["trace_id"].to_list() == [f"{8:032x}"]
        drop(store, at("2026-03-05T23:00:00"))  # the day after is closed too: nothing is left to be told apart
        assert store.read("rolled_traces").is_empty()


def test_an_upload_with_rolled_up_rows_is_not_taken_out_and_its_bytes_come_no_second_time(tmp_path: Path) -> None:
    (path,) = write(tmp_path, {"a.jsonl": row("a", "2026-03-02T10:00:00") + row("b", "2026-03-09T10:00:00")})
    with Store.open() as store:
        load(path, store, PLAIN, upload_id="u-1")
        drop(store, at("2026-03-05T23:00:00"))
        assert retention.rolled_rows(store, "u-1") == 1
        with pytest.raises(StateError, match="1 rows of upload u-1 were rolled up") as refused:
            forget(store, "u-1")
        assert refused.value.code == "rolled_up"
        assert store.read("requests")["request_id"].to_list() == ["b"]
        assert counts(load(path, store, PLAIN)) == (2, 0, 2, 0)
        assert store.read("requests").height == 1


def test_what_others_told_too_is_forgotten_with_the_rows(tmp_path: Path) -> None:
    first, second = write(
        tmp_path,
        {
            "a.jsonl": row("a", "2026-03-02T10:00:00"),
            "b.jsonl": row("a", "2026-03-02T10:00:00") + row("b", "2026-03-09T10:00:00"),
        },
    )
    with Store.open() as store:
        load(first, store, PLAIN, upload_id="u-1")
        load(second, store, PLAIN, upload_id="u-2")
        assert store.read("repeats").height == 1
        drop(store, at("2026-03-05T23:00:00"))
        assert store.read("repeats").is_empty()
        forget(store, "u-2")
        assert (store.read("requests").height, store.read("rolled_days")["n_requests"].to_list()) == (0, [1])


def test_requests_without_a_clock_stay() -> None:
    with Store.open() as store:
        store.append("requests", frame([request(1) | {"started_ns": None}, request(2)]))
        assert drop(store, at("2026-03-05T23:00:00")).requests == 1
        assert store.read("requests")["request_key"].to_list() == ["r-000001"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_store_of_an_earlier_schema_is_migrated_with_its_rows(tmp_path: Path, version: int) -> None:
    path = tmp_path / "s.duckdb"
    with Store.open(path) as store:
        store.append("requests", frame([request(1)]))
        store.put_upload({"upload_id": "u-1", "name": "a", "state": "done", "received_ns": 5, "n_accepted": 1})
    with duckdb.connect(str(path)) as connection:
        for table in TABLES:
            if (version < 3 and table.startswith("rolled_")) or (version == 1 and table == "repeats"):
                connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE uploads DROP COLUMN run_ns")
        if version < 3:
            connection.execute("ALTER TABLE uploads DROP COLUMN n_rolled")
        connection.execute(f"UPDATE schema_version SET version = {version}")
    with Store.open(path) as store:
        assert store.uploads().select("upload_id", "n_accepted", "n_rolled", "run_ns").rows() == [
            ("u-1", 1, None, None)
        ]
        assert store.read("repeats").is_empty()
        assert drop(store, at("2026-03-05T23:00:00")).requests == 1
    with Store.open(path) as store:
        assert store.read("rolled_days")["n_requests"].to_list() == [1]


def test_sums_beyond_63_bits_come_back_to_the_last_pico_usd() -> None:
    with Store.open() as store:
        store.append("requests", frame([request(1, model="large")]))
        drop(store, at("2026-03-05T23:00:00"))
        rows = store.read("rolled_charges")
        for amount in (10**25 + 1, -(10**25) - 1, 0, -1):
            store.append("rolled_charges", rows.head(1).with_columns(cost_pico=amount, start_ns=amount % 1000))
            assert amount in store.read("rolled_charges")["cost_pico"].to_list()
