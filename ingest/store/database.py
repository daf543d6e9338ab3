"""The store: one DuckDB file, opened by one process, read with a cursor per call, written under one lock.

Output: Polars frames in the columns of schema.py. SQL text is made here and in the other modules of this
package, from names in schema.py and parameters; never from text of a user.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from ingest import schema
from ingest.errors import SchemaMismatch, StateError, StoreHeld, StoreTooNew, UnreadableInput
from ingest.schema import Column
from ingest.schema_rolled import ROLLED
from ingest.selection import Selection
from ingest.store import frames, span_width
from ingest.store.request_frame import (
    ORDER,
    PICO,
    dtype_of,
    held_once,
    in_order,
    ordered_rows,
    request_parts,
    selection_sql,
    to_frame,
)

TABLES: dict[str, tuple[Column, ...]] = {
    "uploads": schema.UPLOADS,
    "rejects": schema.REJECTS,
    "requests": schema.REQUESTS,
    "calls": schema.CALLS,
    "replica_hours": schema.REPLICA_HOURS,
    "spans": schema.SPANS,
    "pending_traces": schema.PENDING_TRACES,
    "repeats": schema.REPEATS,
    "reports": schema.REPORTS,
    "jobs": schema.JOBS,
    **ROLLED,
}
DETAIL_END = "\x1f"  # between the detail of a reject and its head, in the column `head`
PICO_DIGITS = 12
ROWS_OF_LISTS = 10_000  # read at once: lists of 1,000 gaps are 80 MB

MAGIC, MAGIC_AT = b"DUCK", 8  # of a database file


@dataclass(frozen=True)
class StoreSettings:
    """How a store is opened; `folders` are the only ones that SQL may read files from."""

    folders: tuple[Path, ...] = ()
    threads: int | None = None
    memory_limit: str = "4GB"


class Store:
    """An open store. Use `Store.open` as a context manager."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path | None, scratch: Path) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self.path = path
        self.scratch = scratch  # spool for unpacked or rewritten sources; removed on close

    @classmethod
    @contextmanager
    def open(cls, path: Path | None = None, settings: StoreSettings | None = None) -> Iterator[Store]:
        """An open store at `path`, made and migrated if need be; without a path a temporary one.

        Raises:
            StoreHeld: another process has it open.
            StoreTooNew: its schema is newer than this version's.
            UnreadableInput: the file is no store.
        """
        settings = settings or StoreSettings()
        scratch = Path(tempfile.mkdtemp(prefix="tailwise-"))
        file = path if path is not None else scratch / "store.duckdb"
        try:
            _refuse_other_files(file)
            connection = _connect(file, settings, scratch)
            store = cls(connection, path, scratch)
            try:
                _migrate(connection, file)
                _lock_down(connection, settings, scratch)
                yield store
            finally:
                connection.close()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of its own for reading; a connection must not be shared between threads."""
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside one transaction under the writer's lock: all or nothing."""
        with self._lock, self.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield cursor
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Nobody else writes meanwhile; for work that reads, then writes what follows from it."""
        with self._lock:
            yield

    @contextmanager
    def settled(self) -> Iterator[Path]:
        """The file with everything in it, while nobody writes.

        Raises:
            StateError: the store is a temporary one.
        """
        if self.path is None:
            raise StateError("the store of this call is temporary; give --store FILE")
        with self._lock, self.cursor() as cursor:
            cursor.execute("CHECKPOINT")
            yield self.path

    def append(
        self, table: str, rows: pl.DataFrame, cursor: duckdb.DuckDBPyConnection | None = None, *, into: str = ""
    ) -> int:
        """Number of rows appended to a table as they are; missing columns become null.

        Shape: (n, columns of the table), any order; money as integer pico-USD.

        Args:
            into: temporary table of the same columns that takes them instead.

        Raises:
            SchemaMismatch: a column is not one of the table's, or a required one is missing.
        """
        if cursor is None:
            with self.writing() as own:
                return self.append(table, rows, own, into=into)
        if rows.is_empty():
            return 0
        columns = {column.name: column for column in TABLES[table]}
        unknown = [name for name in rows.columns if name not in columns]
        missing = [c.name for c in columns.values() if c.required and c.name not in rows.columns]
        if unknown or missing:
            raise SchemaMismatch(f"rows for table {table} have unknown columns {unknown} and lack {missing}")
        typed = rows.select(_told(columns[name]) for name in rows.columns)
        names = ", ".join(f'"{name}"' for name in typed.columns)
        values = ", ".join(_from_frame(columns[name]) for name in typed.columns)
        with frames.lent(cursor, "rows_to_append", typed):
            cursor.execute(f"INSERT INTO {into or table} ({names}) SELECT {values} FROM rows_to_append")
        return rows.height

    def read(
        self,
        table: str,
        where: str = "",
        parameters: Sequence[object] = (),
        order: str = "",
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Rows of a table in the dtypes of schema.py; `where` and `order` are SQL of this package, with `?` for values."""
        wanted = [c for c in TABLES[table] if columns is None or c.name in columns]
        select = ", ".join(to_frame(column) for column in wanted)
        rest = f"{' WHERE ' + where if where else ''}{' ORDER BY ' + order if order else ''}"
        with self.cursor() as cursor:
            sql = f"SELECT {select} FROM {span_width.whole(cursor, table) if table == 'spans' else table}{rest}"
            return pl.DataFrame(cursor.sql(sql, params=list(parameters))).cast({c.name: c.dtype for c in wanted})

    def requests(
        self,
        selection: Selection,
        columns: Sequence[str] | None = None,
        *,
        coded: Collection[str] = (),
        one_in: int = 1,
    ) -> pl.DataFrame:
        """Requests of a selection, ordered by arrival, then key; all of them as they stood at one moment.

        Filters on derived dimensions (buckets, hour, weekday, cache state) are the analysis's to apply.

        Args:
            selection: range and filters.
            columns: those that are read, all if not given.
            coded: text columns that are told as Categorical. The process keeps each of their values once and for good:
                not for keys.
            one_in: of so many requests one is read, by the hash of its key (request_frame.taken).
        """
        wanted = _requested(columns)
        if {*ORDER} <= {column.name for column in wanted}:
            rows = in_order(
                pl.concat(self.request_parts(selection, columns, coded=coded, one_in=one_in), rechunk=False)
            )
        else:
            with self.cursor() as cursor:
                rows = ordered_rows(cursor, wanted, selection, coded=frozenset(coded))
        nothing = {column.name: pl.lit(None, dtype_of(column, coded)).alias(column.name) for column in wanted}
        return rows.select(held_once(rows, name) if name in rows.columns else nothing[name] for name in nothing)

    def request_parts(
        self,
        selection: Selection,
        columns: Sequence[str] | None = None,
        *,
        coded: Collection[str] = (),
        one_in: int = 1,
    ) -> Iterator[pl.DataFrame]:
        """The rows of `requests` in some order, some at a time, without columns that have no value; at least one frame."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield from request_parts(cursor, _requested(columns), selection, coded=frozenset(coded), one_in=one_in)
            finally:
                cursor.execute("COMMIT")

    def n_requests(self, selection: Selection) -> int:
        """How many requests the filters on columns leave of a selection."""
        where, parameters = selection_sql(selection)
        with self.cursor() as cursor:
            row = cursor.execute(f"SELECT count(*) FROM requests{' WHERE ' + where if where else ''}", parameters)
            return int((row.fetchone() or (0,))[0])

    def token_gaps(self, selection: Selection) -> Iterator[pl.DataFrame]:
        """Lists of gaps between tokens: request_key and token_gaps_ns of the requests that have one, some rows at a time."""
        where, parameters = selection_sql(selection)
        told = f"token_gaps_ns IS NOT NULL{' AND ' + where if where else ''}"
        with self.cursor() as cursor:
            sql = f"SELECT min(rowid), max(rowid) FROM requests WHERE {told}"
            first, last = cursor.execute(sql, parameters).fetchone() or (None, None)
        if first is None or last is None:
            return
        columns = ("request_key", "token_gaps_ns")
        for start in range(first, last + 1, ROWS_OF_LISTS):
            part = [*parameters, start, start + ROWS_OF_LISTS]
            yield self.read("requests", f"{told} AND rowid >= ? AND rowid < ?", part, "rowid", columns)

    def calls(self, selection: Selection, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Rows of table calls for requests of a selection, ordered by request and index."""
        where, parameters = selection_sql(selection)
        inner = f"request_key IN (SELECT request_key FROM requests{' WHERE ' + where if where else ''})"
        return self.read("calls", inner, parameters, "request_key, call_index", columns)

    def replica_hours(self, selection: Selection) -> pl.DataFrame:
        """Replica hours that begin in the selection's range, ordered by replica and hour; never sampled."""
        clauses, parameters = [], []
        if selection.start_ns is not None:
            clauses.append("hour_ns + 3600000000000 > ?")
            parameters.append(selection.start_ns)
        if selection.end_ns is not None:
            clauses.append("hour_ns < ?")
            parameters.append(selection.end_ns)
        return self.read("replica_hours", " AND ".join(clauses), parameters, "replica, hour_ns")

    def uploads(self) -> pl.DataFrame:
        """All uploads, in order of arrival."""
        return self.read("uploads", order="received_ns, upload_id")

    def rejects(self, upload_id: str | None = None, after: int = -1, limit: int = 1000) -> pl.DataFrame:
        """Rejected rows in source order, from the row number above `after` on; `detail` stands apart from `head`."""
        where = "upload_id = ?" if upload_id is not None else ""
        parameters: list[object] = [] if upload_id is None else [upload_id]
        frame = self.read(
            "rejects", where, parameters, "upload_id, line NULLS LAST, byte_offset NULLS LAST, reason, head"
        )
        shown = frame.with_row_index("row").filter(pl.col("row").cast(pl.Int64) > after).head(limit)
        parts = pl.col("head").str.splitn(DETAIL_END, 2).struct
        is_detailed = pl.col("head").str.contains(DETAIL_END, literal=True)
        return shown.with_columns(
            head=pl.when(is_detailed).then(parts[1]).otherwise("head"),
            detail=pl.when(is_detailed).then(parts[0]).otherwise(pl.lit("")),
        )

    def put_upload(self, values: dict[str, Any], cursor: duckdb.DuckDBPyConnection | None = None) -> None:
        """Insert or replace one row of uploads, told by `upload_id`; columns not given keep their value."""
        self._put("uploads", "upload_id", values, cursor)

    def put_job(self, values: dict[str, Any]) -> None:
        """Insert or replace one row of jobs, told by `job_id`; columns not given keep their value."""
        self._put("jobs", "job_id", values, None)

    def put_report(self, values: dict[str, Any]) -> None:
        """Insert or replace one row of reports, told by `report_id`."""
        self._put("reports", "report_id", values, None)

    def _put(self, table: str, key: str, values: dict[str, Any], cursor: duckdb.DuckDBPyConnection | None) -> None:
        if cursor is None:
            with self.writing() as own:
                self._put(table, key, values, own)
            return
        names = [c.name for c in TABLES[table] if c.name in values]
        others = [name for name in names if name != key]
        known = cursor.execute(f"SELECT count(*) FROM {table} WHERE {key} = ?", [values[key]]).fetchone()
        if known and known[0] and others:
            sets = ", ".join(f'"{name}" = ?' for name in others)
            cursor.execute(f"UPDATE {table} SET {sets} WHERE {key} = ?", [*(values[n] for n in others), values[key]])
        elif not (known and known[0]):
            quoted = ", ".join(f'"{name}"' for name in names)
            marks = ", ".join("?" for _ in names)
            cursor.execute(f"INSERT INTO {table} ({quoted}) VALUES ({marks})", [values[n] for n in names])


def _requested(columns: Sequence[str] | None) -> list[Column]:
    return [column for column in TABLES["requests"] if columns is None or column.name in columns]


def _refuse_other_files(file: Path) -> None:
    """A file of data would be opened as a view of it: what is loaded then would be kept in memory alone."""
    try:
        with file.open("rb") as stream:
            start = stream.read(MAGIC_AT + len(MAGIC))
    except OSError:  # not there yet, or the library says why it cannot be read
        return
    if start and start[MAGIC_AT:] != MAGIC:
        raise UnreadableInput(
            f"{file} cannot be opened as a store: it holds something else, and is left as it is. Name another file"
        )


def _connect(file: Path, settings: StoreSettings, scratch: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "threads": settings.threads or os.cpu_count() or 1,
        "memory_limit": settings.memory_limit,
        "temp_directory": str(scratch / "spill"),
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
        "produce_arrow_string_view": True,  # text as Polars holds it: no copy between two forms
        "write_buffer_row_group_count": 1,  # five of table spans, as by default, are half a gigabyte
    }
    try:
        return duckdb.connect(str(file), config=config)
    except duckdb.IOException as error:
        text = str(error)
        if "lock" in text.lower():
            raise StoreHeld(
                f"{file} is held by another process, and no second process can open it meanwhile. "
                "Stop that one, or ask it over HTTP (--server URL)"
            ) from error
        raise UnreadableInput(f"{file} cannot be opened as a store: {text.splitlines()[0]}") from error


def _migrate(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    version = row[0] if row and row[0] is not None else 0
    if version > schema.SCHEMA_VERSION:
        raise StoreTooNew(
            f"{file} is at schema {version}, this version reads up to {schema.SCHEMA_VERSION}. "
            "Update the service, or load the traces anew"
        )
    if version == schema.SCHEMA_VERSION:
        return
    connection.execute("BEGIN")
    for table, columns in {**TABLES, "spans": span_width.NARROW}.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(c.sql for c in columns)})")
    for table, names in schema.ADDED.items():
        for column in (c for c in TABLES[table] if c.name in names):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column.sql}")
    connection.execute("INSERT INTO schema_version VALUES (?)", [schema.SCHEMA_VERSION])
    connection.execute("COMMIT")


def _lock_down(connection: duckdb.DuckDBPyConnection, settings: StoreSettings, scratch: Path) -> None:
    """Files outside the given folders cannot be read by SQL, nothing is installed, and none of it can be undone."""
    folders = [str(folder.resolve()) for folder in (*settings.folders, scratch)]
    folders = [folder for folder in folders if os.fsencode(folder).decode("utf-8", "replace") == folder]  # SQL is UTF-8
    quoted = ", ".join("'" + folder.replace("'", "''") + "'" for folder in folders)
    connection.execute(f"SET allowed_directories = [{quoted}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _from_frame(column: Column) -> str:
    """SQL that turns a frame's column into the table's: pico-USD to DECIMAL."""
    if column.kind == "money":
        return f'("{column.name}"::DECIMAL(25,0) * 0.000000000001::DECIMAL(13,12))::DECIMAL(38,12)'
    if column.kind == "sum":
        return f'CAST("{column.name}" AS DECIMAL(38,12))'
    return f'"{column.name}"'


def _told(column: Column) -> pl.Expr:
    """A frame's column as it is handed over: sums as decimal text, for they may be longer than 63 bits."""
    value = pl.col(column.name).cast(column.dtype)
    if column.kind != "sum":
        return value
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    digits = value.abs()
    rest = (digits % PICO).cast(pl.String).str.zfill(PICO_DIGITS)
    return pl.format("{}{}.{}", sign, (digits // PICO).cast(pl.String), rest).alias(column.name)
