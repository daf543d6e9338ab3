"""Table spans gets the column of a field with the first span that tells it; readers see all columns all the time."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ingest.forget import forget
from ingest.schema import SPANS
from ingest.store.database import Store, StoreSettings
from ingest.store.span_width import NARROW, WHEN_TOLD, filled, move, whole, widen
from tests.support.otlp import Json, load, request, span, store_for, write_lines

NAMES = [column.name for column in SPANS]
CHAT: Json = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 5}


def columns(store: Store) -> set[str]:
    with store.cursor() as cursor:
        return {name for name, *_ in cursor.execute("DESCRIBE spans").fetchall()}


def test_a_field_has_a_column_once_it_is_told(tmp_path: Path) -> None:
    narrow = {column.name for column in NARROW}
    assert narrow | WHEN_TOLD == set(NAMES)
    first = write_lines(tmp_path / "first.jsonl", [request([span("chat m", attributes=CHAT, kind=3)])])
    more = CHAT | {"user.id": "ann", "gen_ai.usage.input_tokens": 7}
    second = write_lines(tmp_path / "second.jsonl", [request([span("chat m", trace="t2", attributes=more, kind=3)])])
    with store_for(tmp_path) as store:
        assert columns(store) == narrow
        load(store, first, "u1")
        told = {"operation", "request_model", "output_tokens"}
        assert columns(store) == narrow | told
        load(store, second, "u2")
        assert columns(store) == narrow | told | {"user", "input_tokens"}
        rows = store.read("spans", order="trace_id")
        assert rows.columns == NAMES
        assert rows.select("output_tokens", "input_tokens", "user", "tenant").rows() == [
            (5, None, None, None),
            (5, 7, "ann", None),
        ]


def test_a_load_that_is_rolled_back_leaves_no_column(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [request([span("chat m", attributes=CHAT, kind=3)])])
    with store_for(tmp_path) as store:
        before = columns(store)
        try:
            with store.writing() as cursor:
                widen(cursor, "spans", ["user"])
                raise KeyError
        except KeyError:
            pass
        assert columns(store) == before
        load(store, path)
        assert store.read("spans")["output_tokens"].to_list() == [5]


def test_a_telling_that_stands_again_brings_its_fields(tmp_path: Path) -> None:
    """The fuller telling of another upload goes; what stood before it is put back as it was."""
    told = CHAT | {"user.id": "ann"}
    first = write_lines(tmp_path / "first.jsonl", [request([span("chat m", attributes=told, kind=3)])])
    fuller = CHAT | {"gen_ai.usage.input_tokens": 7, "session.id": "s"}
    second = write_lines(tmp_path / "second.jsonl", [request([span("chat m", attributes=fuller, kind=3)])])
    with store_for(tmp_path) as store:
        load(store, first, "u1")
        alone = store.read("spans").to_dicts()
        load(store, second, "u2")
        assert store.read("spans").select("user", "session", "input_tokens").rows() == [(None, "s", 7)]
        forget(store, "u2")
        assert store.read("spans").to_dicts() == alone


def test_a_store_of_the_fourth_schema_keeps_all_its_columns(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "first.jsonl", [request([span("chat m", attributes=CHAT, kind=3)])])
    second = write_lines(tmp_path / "second.jsonl", [request([span("chat m", trace="t2", attributes=CHAT, kind=3)])])
    settings = StoreSettings(folders=(tmp_path,))
    with Store.open(tmp_path / "s.duckdb", settings) as store:
        with store.writing() as cursor:
            widen(cursor, "spans", NAMES)
        load(store, first, "u1")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("UPDATE schema_version SET version = 4")
    with Store.open(tmp_path / "s.duckdb", settings) as store:
        load(store, second, "u2")
        assert columns(store) == set(NAMES)
        assert store.read("requests").height == 2
        assert store.read("spans")["output_tokens"].to_list() == [5, 5]


def test_rows_move_with_the_columns_they_tell() -> None:
    with Store.open() as store, store.writing() as cursor:
        cursor.execute(
            "CREATE TEMP TABLE told AS SELECT 't' AS trace_id, 'u' AS upload_id, 'ann' AS user, NULL AS tenant"
        )
        move(cursor, "told", "spans")
        assert filled(cursor, "spans") == {"trace_id", "upload_id", "user"}
        found = cursor.execute(f'SELECT "user", tenant, cost, row_id FROM {whole(cursor, "spans")}').fetchall()
        assert [row[:3] for row in found] == [("ann", None, None)]
