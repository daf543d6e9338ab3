"""Table spans: taking spans in, telling rejects and repeats, taking them out again.

Input: relations of raw spans (span_source). Output: rows of spans, rejects with the record they stand in, counts,
and the touched traces in table pending_traces. Everything happens in the transaction of the given cursor.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field
from typing import Any

import duckdb
import polars as pl

from ingest.formats.visible import unmarked
from ingest.mapping import Mapping
from ingest.store import frames, retention, span_columns, span_repeats, span_source, span_width, temporary
from ingest.store.span_columns import DAY_NS, PROMOTED, Learned, Limits

SILENT = ("line.nothing", "line.empty", "line.snake")  # lines that tell no span, and are no fault
RELEASED_NS = 1_798_761_600_000_000_000  # 2027-01-01: a host whose clock stands before it cannot judge the future

REFUSED = "spans_refused"  # temporary table
PAGE_ROWS = 10_000
SAMPLE_SPANS = 8_192  # whose kinds are learned
DAMAGED = (duckdb.IOException, duckdb.InvalidInputException)  # what a torn archive and a line too long raise

Parameters = MappingType[str, Any]
Refusal = tuple[int, str, str | None, str]  # record number or place, reason, first characters, detail


@dataclass(frozen=True)
class RawRelation:
    """SQL of raw spans with what is derived of them (span_source.RAW and DERIVED), and its parameters; `numbered` is the same with the number of each record in `line`.

    `shapes`: shape_key -> names, of all its spans, where they are known beforehand."""

    sql: str
    numbered: str
    parameters: Parameters = field(default_factory=dict)
    shapes: MappingType[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class Intake:
    """Counts of what was taken in; `refused`: reason or line state -> number of rows."""

    told: int = 0
    accepted: int = 0
    duplicate: int = 0
    replaced: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    shapes: dict[int, int] = field(default_factory=dict)  # shape_key -> spans

    def plus(self, other: Intake) -> Intake:
        """The counts of both."""
        return Intake(
            self.told + other.told,
            self.accepted + other.accepted,
            self.duplicate + other.duplicate,
            self.replaced + other.replaced,
            _sum(self.refused, other.refused),
            _sum(self.shapes, other.shapes),
        )

    @property
    def rejected(self) -> int:
        return sum(n for reason, n in self.refused.items() if not reason.startswith("line."))


def _sum(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in (*left, *right)}


def lines_of(path: str, packing: str, spelling: span_source.Spelling, own: Mapping) -> RawRelation:
    """Raw spans of a file of OTLP JSON lines."""
    promoted = list(span_columns.promoted(own))
    numbered, plain = (
        span_source.lines_relation(
            span_source.file_lines(packing, numbered=is_numbered), spelling, promoted=bool(promoted)
        )
        for is_numbered in (True, False)
    )
    names = {"promoted": promoted, "promoted_as": [PROMOTED + name for name in promoted]} if promoted else {}
    return RawRelation(span_columns.identified(plain), span_columns.identified(numbered), {"path": path, **names})


def holds(cursor: duckdb.DuckDBPyConnection, upload_id: str) -> bool:
    """Whether the store has spans of an upload."""
    return bool(cursor.execute("SELECT 1 FROM spans WHERE upload_id = $1 LIMIT 1", [upload_id]).fetchall())


def prepare(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes the macros that the SQL of spans uses; they live as long as the cursor."""
    for macro in (*span_source.MACROS, *span_columns.MACROS):
        cursor.execute(macro)


def learn(cursor: duckdb.DuckDBPyConnection, raw: str, parameters: Parameters, learned: Learned) -> None:
    """Adds the lists of names and the kinds of steps of a raw relation to what is learned, and to the temporary
    tables that the SQL joins."""
    shapes = f"SELECT shape_key, any_value(names) FROM ({span_columns.shapes_relation(raw)}) GROUP BY ALL"
    told = cursor.execute(shapes, dict(parameters)).fetchall()
    _learn(cursor, raw, parameters, learned, {key: tuple(names or ()) for key, names in told})


def learn_new(cursor: duckdb.DuckDBPyConnection, relation: RawRelation, learned: Learned) -> None:
    """The same of a relation that knows its lists of names, if there is a new one: all of them, and the kinds of some
    spans; of the others those that are new are learned when they were read."""
    if not learned.shapes.keys() >= relation.shapes.keys():
        some = f"SELECT * FROM ({relation.sql}) LIMIT {SAMPLE_SPANS}"
        _learn(cursor, some, relation.parameters, learned, relation.shapes)


def _learn(
    cursor: duckdb.DuckDBPyConnection,
    raw: str,
    parameters: Parameters,
    learned: Learned,
    shapes: MappingType[int, tuple[str, ...]],
) -> None:
    learned.shapes.update(shapes)
    _replace(cursor, "span_shapes", span_columns.shape_frame(learned))
    kinds = f"SELECT DISTINCT * FROM ({span_columns.kinds_relation(raw, learned)})"
    learned.learn_kinds(cursor.execute(kinds, dict(parameters)).fetchall())
    _replace(cursor, "span_kinds", span_columns.kind_frame(learned))


def _replace(cursor: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    with frames.lent(cursor, "learned_frame", frame):
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM learned_frame")


def take_in(
    cursor: duckdb.DuckDBPyConnection,
    relations: Iterable[RawRelation],
    learned: Learned,
    *,
    upload_id: str,
    source: str,
    sampling_rate: float | None,
    staged: bool,
) -> Intake:
    """Counts of a source whose good spans are now in the store.

    Args:
        relations: its raw spans in one or more pieces; each is read before the next one is asked for.
        staged: the spans go through a temporary table first, so that further spans of the same upload may follow;
            else they go straight into the store, and nothing else of that upload may be there.
    """
    if staged:
        columns = ", ".join(column.sql for column in span_width.NARROW)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE span_stage ({columns})")
    known = _count(cursor, "SELECT count(*) FROM spans")
    table = "span_stage" if staged else "spans"
    fresh = Fresh(cursor, table, upload_id, {"upload_id": upload_id, "source": source}, sampling_rate, known)
    for relation in relations:
        fresh.insert(relation.sql, relation.parameters, learned)
        fresh.read_unlearned(learned)
    return fresh.settled(learned)


@dataclass(frozen=True)
class Fresh:
    """New spans on their way into `table`, told apart by their upload."""

    cursor: duckdb.DuckDBPyConnection
    table: str
    upload_id: str
    parameters: Parameters
    sampling_rate: float | None
    known: int

    def insert(self, raw: str, parameters: Parameters, learned: Learned) -> None:
        columns = span_columns.columns_relation(
            raw, learned, sampling_rate=self.sampling_rate, limits=limits(self.cursor)
        )
        span_width.widen(self.cursor, self.table, span_columns.fields(learned))
        self.cursor.execute(f"INSERT INTO {self.table} BY NAME {columns}", {**self.parameters, **parameters})

    def read_unlearned(self, learned: Learned) -> None:
        """Reads the spans again whose list of names or kind was not known before they came."""
        raw = ", ".join(f"{_AGAIN.get(column, column)} AS {column}" for column in span_source.RAW)
        condition = (
            "raw_names IS NOT NULL AND upload_id = $1 AND (refused IS NULL OR NOT starts_with(refused, 'line.'))"
        )
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE span_again AS SELECT {raw} FROM {self.table} WHERE {condition}",
            [self.upload_id],
        )
        if _count(self.cursor, "SELECT count(*) FROM span_again"):
            self.cursor.execute(f"DELETE FROM {self.table} WHERE {condition}", [self.upload_id])
            again = span_columns.identified("SELECT * FROM span_again")
            learn(self.cursor, again, {}, learned)
            self.insert(again, {}, learned)
        self.cursor.execute("DROP TABLE span_again")

    def settled(self, learned: Learned) -> Intake:
        """Counts of the spans that are now in the store: the refused are gone, and of repeats one telling stands."""
        cursor, table, upload_id = self.cursor, self.table, self.upload_id
        if retention.closed(cursor):
            retention.tear_traces(cursor, table, upload_id)
        intake = Intake()
        self.take_out_refused(intake)
        intake.told = _count(cursor, f"SELECT count(*) FROM {table} WHERE upload_id = $1", [upload_id])
        rows = cursor.execute(f"SELECT shape_key, count(*) FROM {table} WHERE upload_id = $1 GROUP BY 1", [upload_id])
        by_key = dict(rows.fetchall())
        intake.shapes = {key: by_key[key >> 1] for key in learned.shapes if key >> 1 in by_key}
        repeats = span_repeats.settle(cursor, table, upload_id, others=self.known > 0, n_spans=intake.told)
        intake.duplicate, intake.replaced = repeats.duplicate, repeats.replaced
        intake.accepted = intake.told - intake.duplicate
        if table == "span_stage":
            span_width.move(cursor, "span_stage", "spans")
        pend(cursor, table, upload_id)
        return intake

    def take_out_refused(self, intake: Intake) -> None:
        found = self.cursor.execute(
            f"SELECT refused, count(*) FROM {self.table} WHERE refused IS NOT NULL AND upload_id = $1 GROUP BY 1",
            [self.upload_id],
        ).fetchall()
        intake.refused = dict(found)
        if found:
            self.cursor.execute(
                f"DELETE FROM {self.table} WHERE refused IS NOT NULL AND upload_id = $1", [self.upload_id]
            )


_AGAIN = {  # column of the raw relation -> where a span that was not learned keeps it
    "line": "NULL::BIGINT",
    "line_state": "NULL::VARCHAR",
    "text": "NULL::VARCHAR",
    "encoding": "marks",
    "kept": "sampling_rate",
    "kind": "kind::VARCHAR",
    "started": "started_ns",
    "ended": "ended_ns",
    "status": "status_code::VARCHAR",
    "dropped": "NULL::INTEGER",
    "names": "CASE WHEN len(raw_names) > 0 THEN raw_names END",
    "vals": "raw_values",
}


def refusals(cursor: duckdb.DuckDBPyConnection, relation: RawRelation, learned: Learned) -> Iterator[Refusal]:
    """Record number, reason, first characters and detail of every line or span that cannot be, in order.

    They are found at once, and read by pages, so that the cursor is free between two; until the next are asked for.
    """
    sql = span_columns.refusals_relation(relation.numbered, learned, limits(cursor))
    silent = ", ".join(f"'{state}'" for state in SILENT)
    temporary.release(cursor, REFUSED.__eq__)
    cursor.execute(
        f"""CREATE TEMP TABLE {REFUSED} AS SELECT row_number() OVER () AS n, * FROM (
            SELECT line, refused, head, coalesce(detail, '') AS detail FROM ({sql}) WHERE refused NOT IN ({silent})
            ORDER BY line, refused, head)""",
        dict(relation.parameters),
    ).fetchall()
    return _pages(cursor)


def _pages(cursor: duckdb.DuckDBPyConnection) -> Iterator[Refusal]:
    page = f"SELECT line, refused, head, detail FROM {REFUSED} WHERE n > $1 AND n <= $1 + {PAGE_ROWS} ORDER BY n"
    start = 0
    while rows := cursor.execute(page, [start]).fetchall():
        yield from ((line, reason, head, unmarked(detail, "id")) for line, reason, head, detail in rows)
        start += PAGE_ROWS
    temporary.release(cursor, REFUSED.__eq__)


def forget(cursor: duckdb.DuckDBPyConnection, upload_id: str) -> int:
    """Number of spans of an upload that were taken out; their traces are pending."""
    pend(cursor, "spans", upload_id)
    n = _count(cursor, "SELECT count(*) FROM spans WHERE upload_id = $1", [upload_id])
    cursor.execute("DELETE FROM spans WHERE upload_id = $1", [upload_id])
    return n


def forget_pending(cursor: duckdb.DuckDBPyConnection) -> None:
    """Empties the list of pending traces."""
    cursor.execute("DELETE FROM pending_traces")


def pend(cursor: duckdb.DuckDBPyConnection, table: str, upload_id: str) -> int:
    """Number of traces of an upload's spans, now noted as pending."""
    row = cursor.execute(
        f"INSERT INTO pending_traces SELECT trace_id, min(started_ns), max(started_ns) FROM {table} "
        "WHERE upload_id = $1 GROUP BY trace_id",
        [upload_id],
    ).fetchone()
    return int(row[0]) if row else 0


def limits(cursor: duckdb.DuckDBPyConnection) -> Limits:
    """What spans may come now."""
    closed = retention.closed_sql(retention.closed(cursor), "started")
    return Limits(latest_instant_ns(), closed, retention.torn_traces(cursor))


def latest_instant_ns() -> int:
    """Latest instant that a span may have: a day from now, by a clock that does not stand before this release."""
    return max(time.time_ns(), RELEASED_NS) + DAY_NS


def _count(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: list[object] | None = None) -> int:
    rows = cursor.execute(sql, parameters or []).fetchall()  # to the end: frames are registered on a cursor at rest
    return int(rows[0][0]) if rows else 0
