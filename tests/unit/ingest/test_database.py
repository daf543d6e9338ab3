"""The store: open, lock, append, read by selection."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ingest import schema
from ingest.errors import SchemaMismatch, StoreHeld, StoreTooNew, UnreadableInput
from ingest.selection import Selection
from ingest.store import request_frame
from ingest.store.database import Store, StoreSettings
from ingest.store.frames import ArrowFrame
from tests.support.builders import frame, request


def rows(*given: dict[str, Any]) -> pl.DataFrame:
    base = {"upload_id": "u", "source": "flat", "status_class": "ok", "sampling_rate": 1.0, "n_call_rows": 0}
    return pl.DataFrame([base | row for row in given])


def keys(store: Store, selection: Selection) -> list[str]:
    return store.requests(selection)["request_key"].to_list()


def test_rows_come_back_in_the_dtypes_of_the_schema_and_unknown_stays_null() -> None:
    with Store.open() as store:
        assert store.append("requests", rows({"request_key": "a", "source_cost_usd": 123_456_789_012_345_678})) == 1
        frame = store.requests(Selection())
    assert dict(frame.schema) == schema.polars_schema(schema.REQUESTS)
    known = {"request_key": "a", "upload_id": "u", "source": "flat", "status_class": "ok", "sampling_rate": 1.0}
    known |= {"n_call_rows": 0, "source_cost_usd": 123_456_789_012_345_678}
    assert {name: value for name, value in frame.row(0, named=True).items() if value is not None} == known


def test_a_range_is_half_open_and_a_request_without_time_is_outside_of_it() -> None:
    with Store.open() as store:
        times = {"a": 99, "b": 100, "c": 199, "d": 200, "e": None}
        store.append("requests", rows(*({"request_key": k, "started_ns": t} for k, t in times.items())))
        assert keys(store, Selection(100, 200)) == ["b", "c"]
        assert keys(store, Selection()) == ["a", "b", "c", "d", "e"]


def test_columns_without_a_value_in_a_selection_are_null_and_as_long_as_the_others() -> None:
    with Store.open() as store:
        late = {"request_key": "b", "started_ns": 200, "region": "eu"}
        store.append("requests", rows(late, {"request_key": "a", "started_ns": 100}))
        found = store.requests(Selection(100, 200), ["region", "e2e_ns"])
        ordered = store.requests(Selection(), ["request_key", "started_ns", "region", "e2e_ns", "flags"])
        nothing = store.requests(Selection(300, 400), ["request_key", "region"])
    nulls = {"region": [None], "e2e_ns": [None]}
    assert_frame_equal(
        found, pl.DataFrame(nulls, schema={"region": pl.String, "e2e_ns": pl.Int64}), check_column_order=False
    )
    assert ordered.select("request_key", "started_ns", "region", "e2e_ns", "flags").rows() == [
        ("a", 100, None, None, None),
        ("b", 200, "eu", None, None),
    ]
    assert (nothing.height, dict(nothing.schema)) == (0, {"request_key": pl.String(), "region": pl.String()})


def test_repeated_text_is_told_as_codes_on_request_and_rows_that_are_read_in_parts_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = {"d": 30, "b": 10, "a": 10, "c": None, "e": 20}
    with Store.open() as store:
        given = rows(*({"request_key": k, "started_ns": t, "region": f"r-{k}"} for k, t in starts.items()))
        store.append("requests", given)
        whole = store.requests(Selection())
        monkeypatch.setattr(request_frame, "ROWS_AT_ONCE", 2)
        parts = store.requests(Selection(), coded=("region", "route"))
    assert whole["request_key"].to_list() == ["a", "b", "e", "d", "c"]
    assert (parts.schema["region"], parts.schema["route"]) == (pl.Categorical(), pl.Categorical())
    assert_frame_equal(parts.cast({pl.Categorical: pl.String}), whole)


def test_values_of_one_dimension_are_alternatives_and_dimensions_add_up() -> None:
    with Store.open() as store:
        store.append(
            "requests",
            rows(
                {"request_key": "a", "model": "m", "streaming": True},
                {"request_key": "b", "model": "n", "streaming": True},
                {"request_key": "c", "model": "m", "streaming": False},
                {"request_key": "d", "dimensions": '{"te\\"am":"x"}'},
            ),
        )
        assert keys(store, Selection(where=(("model", "m"), ("model", "n")))) == ["a", "b", "c"]
        assert keys(store, Selection(where=(("model", "m"), ("streaming", "true")))) == ["a"]
        assert keys(store, Selection(where=(('te"am', "x"),))) == ["d"]
        assert keys(store, Selection(where=(("model", "x' OR 1=1 --"),))) == []


def test_a_frame_with_a_strange_or_a_missing_column_is_refused() -> None:
    with Store.open() as store:
        with pytest.raises(SchemaMismatch, match="unknown columns \\['speed'\\]"):
            store.append("requests", rows({"request_key": "a", "speed": 1}))
        with pytest.raises(SchemaMismatch, match="lack \\['request_key'\\]"):
            store.append("requests", rows({"model": "m"}))


def test_a_failed_transaction_leaves_nothing_behind() -> None:
    with Store.open() as store:
        with pytest.raises(SchemaMismatch), store.writing() as cursor:  # noqa: PT012 - both statements belong to it
            store.append("requests", rows({"request_key": "a"}), cursor)
            store.append("requests", rows({"speed": 1}), cursor)
        assert keys(store, Selection()) == []


def test_an_upload_is_put_once_and_changed_in_place() -> None:
    with Store.open() as store:
        store.put_upload({"upload_id": "u1", "name": "a.jsonl", "state": "reading", "received_ns": 5})
        store.put_upload({"upload_id": "u1", "state": "done", "n_read": 3})
        expected = pl.DataFrame({"upload_id": ["u1"], "name": ["a.jsonl"], "state": ["done"], "n_read": [3]})
        assert_frame_equal(store.uploads().select(expected.columns), expected)


def test_rejects_are_paged_in_source_order() -> None:
    with Store.open() as store:
        lines = [7, 2, 4]
        store.append("rejects", pl.DataFrame({"upload_id": "u", "line": lines, "reason": "invalid_json"}))
        assert store.rejects("u", limit=2)["line"].to_list() == [2, 4]
        assert store.rejects("u", after=1)["line"].to_list() == [7]
        assert store.rejects("other").is_empty()


def test_a_store_survives_closing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        store.append("requests", rows({"request_key": "a"}))
    with Store.open(tmp_path / "s.duckdb") as store:
        assert keys(store, Selection()) == ["a"]


def test_a_second_process_is_told_that_the_store_is_held(tmp_path: Path) -> None:
    code = f"""
        import sys
        from pathlib import Path
        from ingest.store.database import Store
        with Store.open(Path({str(tmp_path / "s.duckdb")!r})):
            print("open", flush=True)
            sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreHeld, match="is held by another process"), Store.open(tmp_path / "s.duckdb"):
            pass
        holder.communicate("")


def test_a_newer_store_and_a_file_that_is_no_store_are_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb"):
        pass
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreTooNew, match="is at schema 99"), Store.open(tmp_path / "s.duckdb"):
        pass
    (tmp_path / "text.duckdb").write_text("hello, I am no store, and long enough to be looked at")
    with pytest.raises(UnreadableInput, match="cannot be opened as a store"), Store.open(tmp_path / "text.duckdb"):
        pass


def test_a_store_of_the_first_schema_gets_the_table_of_repeats(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb"):
        pass
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("DROP TABLE repeats")
        connection.execute("UPDATE schema_version SET version = 1")
    with Store.open(tmp_path / "s.duckdb") as store:
        assert store.read("repeats").is_empty()


def test_a_store_of_the_second_schema_gets_the_lists_of_gaps_and_keeps_its_rows(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        store.append("requests", frame([request(1)]).drop("token_gaps_ns"))
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("ALTER TABLE requests DROP COLUMN token_gaps_ns")
        connection.execute("UPDATE schema_version SET version = 2")
    with Store.open(tmp_path / "s.duckdb") as store:
        store.append("requests", frame([request(2, token_gaps_ns=[2**40, 0])]))
        told = store.read("requests", order="request_key").get_column("token_gaps_ns")
        assert told.to_list() == [None, [2**40, 0]]


def test_sql_reads_files_of_the_given_folders_alone(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.csv").write_text("x\n1\n")
    with Store.open(None, StoreSettings(folders=(inside,))) as store, store.cursor() as cursor:
        assert cursor.execute(f"SELECT x FROM read_csv('{inside}/a.csv')").fetchall() == [(1,)]
        with pytest.raises(duckdb.PermissionException):
            cursor.execute(f"SELECT x FROM read_csv('{outside}/a.csv')")
        with pytest.raises(duckdb.InvalidInputException):
            cursor.execute("SET enable_external_access = true")


def test_rows_of_a_frame_are_handed_over_once_per_statement_that_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[int] = []
    stream = ArrowFrame.__arrow_c_stream__

    def counted(frame: ArrowFrame, requested_schema: object = None) -> object:
        handed.append(1)
        return stream(frame, requested_schema)

    monkeypatch.setattr(ArrowFrame, "__arrow_c_stream__", counted)
    with Store.open() as store, store.cursor() as cursor:
        cursor.register("told", ArrowFrame(pl.DataFrame({"n": [1, 2], "list": [["a"], []]})))
        assert cursor.execute("SELECT n, list FROM told WHERE n < $most", {"most": 2}).fetchall() == [(1, ["a"])]
    assert handed == [1]


@pytest.mark.parametrize("name", ["requests.jsonl", "requests.json", "requests.csv", "requests.parquet"])
def test_a_file_of_data_is_no_store(name: str, tmp_path: Path) -> None:
    pl.DataFrame({"started": ["2026-03-02T10:00:00Z"], "model": ["m"]}).write_parquet(tmp_path / "requests.parquet")
    (tmp_path / "requests.csv").write_text("started,model\n2026-03-02T10:00:00Z,m\n")
    for form in ("json", "jsonl"):
        (tmp_path / f"requests.{form}").write_text('{"started": "2026-03-02T10:00:00Z", "model": "m"}\n')
    with pytest.raises(UnreadableInput, match="cannot be opened as a store"), Store.open(tmp_path / name):
        pass
