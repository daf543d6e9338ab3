"""Rows made in Python into the store, each request once."""

from __future__ import annotations

import polars as pl

from ingest.errors import Reject
from ingest.store.append import add_rejects, add_requests, filled, loaded_before, reject_counts
from ingest.store.database import Store


def requests(*keys: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "request_key": list(keys),
            "upload_id": "u-1",
            "source": "kong",
            "status_class": "ok",
            "sampling_rate": 1.0,
            "n_call_rows": 1,
            "model": [f"m-{number}" for number in range(len(keys))],
        }
    )


def calls(*keys: str) -> pl.DataFrame:
    return pl.DataFrame({"request_key": list(keys), "call_index": 0, "upload_id": "u-1", "model": "m"})


def test_the_first_telling_of_a_request_stays_with_its_calls() -> None:
    with Store.open() as store, store.writing() as cursor:
        assert add_requests(store, cursor, requests("a", "b", "a"), calls("a", "b", "a")) == 2
        assert add_requests(store, cursor, requests("b", "c"), calls("b", "c")) == 1
        rows = cursor.execute("SELECT request_key, model FROM requests ORDER BY ALL").fetchall()
        assert rows == [("a", "m-0"), ("b", "m-1"), ("c", "m-1")]
        assert cursor.execute("SELECT request_key FROM calls ORDER BY ALL").fetchall() == [("a",), ("b",), ("c",)]


def test_rejects_are_stored_and_counted_by_reason() -> None:
    told = [Reject(2, 10, "torn_line", "x"), Reject(3, 20, "invalid_json", "y"), Reject(4, 30, "invalid_json", "z")]
    with Store.open() as store, store.writing() as cursor:
        assert add_rejects(store, cursor, "u-1", told) == tuple(told)
        assert reject_counts(cursor, "u-1") == {"invalid_json": 2, "torn_line": 1}


def test_bytes_are_known_by_uploads_that_are_done() -> None:
    with Store.open() as store:
        for upload_id, state in (("u-1", "failed"), ("u-2", "done")):
            row = {"upload_id": upload_id, "name": "a", "state": state, "sha256": "ab", "received_ns": 1}
            store.put_upload(row)
        assert [row["upload_id"] for row in loaded_before(store, "ab")] == ["u-2"]
        assert loaded_before(store, "cd") == []


def test_columns_with_values_are_counted() -> None:
    with Store.open() as store:
        store.append("requests", requests("a", "b"))
        assert filled(store) == dict.fromkeys(
            ("request_key", "upload_id", "source", "model", "status_class", "sampling_rate", "n_call_rows"), 2
        )
