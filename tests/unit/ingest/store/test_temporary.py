"""Large loads go piece by piece: the same rows as at once, and what a piece held is free before the next."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
import pytest

from ingest import messages
from ingest.assemble import SpanOptions
from ingest.formats.otlp_columns import Piece
from ingest.mapping import Mapping
from ingest.sniff import read_head
from ingest.store import assembly, assembly_tree, frames, span_batch, span_repeats, temporary
from ingest.store.database import Store
from ingest.store.spans import RawRelation
from ingest.unpack import open_source
from tests.support.otlp import Json, load, request, span, store_for, write_lines
from tests.support.otlp_rows import as_protobuf, delimited

CHAT: Json = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 5}
TEMPORARY = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'temp'"


def trace(number: int, *, fuller: bool = False) -> list[Json]:
    """An agent with two calls; a fuller telling has an attribute more on one of them."""
    name = f"t{number}"
    more = {"gen_ai.usage.input_tokens": number} if fuller else {}
    return [
        span("agent", 0, 9, span_id="a", trace=name, attributes={"gen_ai.operation.name": "invoke_agent"}),
        span("chat m", 1, 3, span_id="b", parent="a", trace=name, kind=3, attributes=CHAT),
        span("chat m", 4, 7, span_id="c", parent="a", trace=name, kind=3, attributes=CHAT | more),
    ]


def all_rows(store: Store) -> list[object]:
    order = {"requests": "request_key", "calls": "request_key, call_index", "spans": "trace_id, span_id"}
    order["repeats"] = "row_key"
    return [store.read(table, order=keys).to_dicts() for table, keys in order.items()]


def test_pieces_give_the_rows_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_lines(tmp_path / "first.jsonl", [request(trace(i)) for i in range(12)])
    told = [request(trace(i, fuller=i % 2 == 0)) for i in (*range(6, 20), 15, 16)]  # of the store and of itself again
    second = write_lines(tmp_path / "second.jsonl", [*told, request(trace(17)[:1])])
    found = []
    for n_spans in (1_000_000, 7):
        monkeypatch.setattr(assembly, "BUCKET_SPANS", n_spans)
        monkeypatch.setattr(span_repeats, "RANGE_SPANS", n_spans)
        with store_for(tmp_path) as store:
            counts = [load(store, first, "u1"), load(store, second, "u2")]
            found.append((counts, all_rows(store)))
    assert found[0] == found[1]
    # 6 traces stood, 3 of them with a fuller call; of 2 that came twice one is equal; one span of a trace came twice
    (_, again), _ = found[0]
    assert (again.read, again.accepted, again.duplicate, again.replaced) == (49, 24, 25, 3)


def test_no_bucket_of_the_assembly_holds_the_tables_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "traces.jsonl", [request(trace(i)) for i in range(20)])
    held: list[list[str]] = []
    build = assembly_tree.build

    def looked_at(cursor: duckdb.DuckDBPyConnection) -> None:
        held.append(
            [name for (name,) in cursor.execute(f"{TEMPORARY} ORDER BY 1").fetchall() if name.startswith("as_")]
        )
        build(cursor)

    monkeypatch.setattr(assembly, "BUCKET_SPANS", 20)
    monkeypatch.setattr(assembly_tree, "build", looked_at)
    with store_for(tmp_path) as store:
        load(store, path)
    assert held == [["as_pending", "as_wanted"]] * 3


def test_no_piece_of_protobuf_is_held_when_the_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "spans.pb"
    path.write_bytes(delimited(*(as_protobuf(request(trace(i)[:1])) for i in range(9))))
    source = open_source(path)
    held: list[list[str]] = []
    relation = span_batch.piece_relation

    @contextmanager
    def looked_at(cursor: duckdb.DuckDBPyConnection, piece: Piece, own: Mapping) -> Iterator[RawRelation]:
        found = cursor.execute(f"{TEMPORARY.replace('table', 'view')} UNION ALL {TEMPORARY} ORDER BY 1").fetchall()
        held.append([name for (name,) in found if name.startswith("span_")])
        with relation(cursor, piece, own) as told:
            yield told

    monkeypatch.setattr(messages, "PIECE_SPANS", 3)
    monkeypatch.setattr(span_batch, "piece_relation", looked_at)
    with Store.open() as store, store.writing() as cursor:
        assert messages.load_messages(cursor, source, read_head(source), "u", SpanOptions()).accepted == 9
    learned = ["span_kinds", "span_shapes"]
    assert held == [["span_stage"], *[[*learned, "span_stage"]] * 3]  # pieces of one, three, three and two spans


def test_what_is_released_is_free_before_the_transaction_ends() -> None:
    with Store.open() as store, store.cursor() as onlooker, store.writing() as cursor:
        for _ in range(4):
            cursor.execute("""CREATE OR REPLACE TEMP TABLE "as_it was" AS
                SELECT i AS "a b", md5(i::VARCHAR) AS text, [i, i] AS list, i::DECIMAL(38, 12) AS cost FROM range(200000) AS t(i)""")
            cursor.execute("CREATE OR REPLACE TEMP TABLE other AS SELECT 1 AS one")
            cursor.execute("CREATE OR REPLACE TEMP VIEW as_seen AS SELECT 1 AS one")
            temporary.release(cursor, lambda name: name.startswith("as_"))
        held = "SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
        assert onlooker.execute(held).fetchall()[0][0] < 4e6  # one of the four takes 16 MB
        assert cursor.execute(TEMPORARY).fetchall() == [("other",)]


def test_rows_lent_to_a_transaction_are_not_held_until_it_ends() -> None:
    with Store.open() as store, store.writing() as cursor:
        frame = pl.DataFrame({"n": [1, 2]})
        rows = weakref.ref(frame)
        with frames.lent(cursor, "told", frame):
            cursor.execute("CREATE TEMP TABLE kept AS SELECT * FROM told")
        del frame
        assert rows() is None
        assert cursor.execute("SELECT sum(n) FROM kept").fetchall() == [(3,)]
