"""Flat tables in bulk: the rows of one file into `requests` or `replica_hours`, every row accounted for.

Input: a FlatFile and what its columns mean. Output: FlatCounts; rows in the store; refused rows by record number.
Passes over the file: names, forms of the time columns, the insert; and one more for each refused kind of row, only
where there are any. Nothing is held in Python but the refused rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection

from ingest.bounds import MAX_FIGURE
from ingest.formats.visible import unmarked
from ingest.schema import REPLICA_HOURS
from ingest.store import flat_rows, flat_source, shadows
from ingest.store.flat_details import PREFIX, details
from ingest.store.flat_plan import FlatMeaning, Layout
from ingest.store.flat_source import RECORD, Columns, FlatFile, relation
from ingest.store.flat_sql import FACTOR, NOTHING, Plan, fields_layer, name, text
from ingest.store.repeats import KEYS, remember
from ingest.store.retention import closed, closed_sql


@dataclass(frozen=True)
class FlatCounts:
    """What became of the rows of one file; `plan` and `from_item` find the refused ones again."""

    n_read: int
    n_accepted: int
    n_duplicate: int
    n_rejected: int
    n_no_numbers: int = 0
    naive_times: tuple[str, ...] = ()
    clockless: tuple[tuple[str, float | None, float | None], ...] = ()
    relative: tuple[tuple[str, str], ...] = ()  # time columns that count from the user's start, and their unit
    columns: Columns | None = None
    plan: Plan | None = None


def load_flat(cursor: DuckDBPyConnection, file: FlatFile, columns: Columns, meaning: FlatMeaning) -> FlatCounts:
    """Counts of a file whose rows are now in the store; everything within the transaction of the cursor."""
    return _Load(cursor, file, columns, meaning).run()


class _Load:
    def __init__(self, cursor: DuckDBPyConnection, file: FlatFile, columns: Columns, meaning: FlatMeaning) -> None:
        self.cursor = cursor
        self.file = file
        self.columns = columns
        self.meaning = meaning
        self.layout = Layout(file, columns, meaning)

    def run(self) -> FlatCounts:
        if not self.layout.tops:
            return FlatCounts(self.columns.n_rows, 0, 0, self.columns.n_rows, columns=self.columns)
        rejects_table = f"refused_{self.meaning.upload_id.replace('-', '')[:24]}" if self.file.kind == "csv" else ""
        facts = self.layout.facts(self.cursor, rejects_table)
        n_rows = facts.n_rows
        n_parser = self._parser_rejects(rejects_table)
        if facts.n_zeros:  # such a table is read record by record
            return FlatCounts(n_rows + n_parser, 0, 0, n_rows + n_parser, columns=self._counted(n_rows))
        units = {key: column.unit for column, key in self.layout.found if column.unit in FACTOR}
        zone, origin = self.meaning.timezone, self.meaning.origin_ns
        forms = {key: fact.form(zone, origin, units.get(key, "")) for key, fact in facts.times.items()}
        plan = replace(self.layout.plan(forms, facts.natives), closed=closed_sql(closed(self.cursor), "started"))
        accepted, duplicate, rejected = self._insert(plan, n_rows)
        return FlatCounts(
            n_read=n_rows + n_parser,
            n_accepted=accepted,
            n_duplicate=duplicate,
            n_rejected=rejected + n_parser,
            n_no_numbers=self._no_numbers(plan),
            naive_times=tuple(key for key, form in forms.items() if form.has_texts and form.zones != "all"),
            clockless=tuple((key, fact.low, fact.high) for key, fact in facts.times.items() if forms[key].is_clockless),
            relative=tuple((key, str(form.unit)) for key, form in forms.items() if form.origin_ns is not None),
            columns=self._counted(n_rows),
            plan=plan,
        )

    def _insert(self, plan: Plan, n_rows: int) -> tuple[int, int, int]:
        """Accepted, duplicate and rejected rows."""
        table = self.meaning.table
        select, columns = (
            (flat_rows.rows_select(plan), flat_rows.columns_of(plan))
            if table == "requests"
            else (hours_select(plan), [column.name for column in REPLICA_HOURS])
        )
        identity = "request_key" if table == "requests" else "replica, hour_ns"
        names = ", ".join(name(column) for column in columns)
        standing = bool(_one(self.cursor, f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1)"))
        known = f" AND ({identity}) NOT IN (SELECT ({identity}) FROM {table})" if standing else ""
        if standing and table == "requests":
            known = f" AND (starts_with(request_key, {self._by_content}) OR request_key NOT IN (SELECT request_key FROM requests))"
        before = self._stored(table) if standing else 0
        self._do(f"INSERT INTO {table} ({names}) SELECT {names} FROM ({select}) WHERE reason IS NULL{known}")
        rejected = 0
        if self._stored(table) - before < n_rows:
            rejected = self._find_refused(plan)
        n_remembered = self._mend_repeats(table, identity, standing=standing)
        accepted = self._stored(table) - before
        duplicate = n_rows - rejected - accepted
        if standing and duplicate > n_remembered:
            key, mine = KEYS[table], self.meaning.upload_id
            told = f"SELECT {key} AS k FROM ({select}) WHERE reason IS NULL"
            stands = f"SELECT NULL, k FROM ({told}) WHERE k IN (SELECT {key} FROM {table} WHERE upload_id <> ?)"
            remember(self.cursor, table, mine, stands, [mine])
            kind = shadows.REQUEST_ROWS if table == "requests" else shadows.HOUR_ROWS
            shadows.keep(self.cursor, kind, mine, f"SELECT * FROM ({select}) WHERE reason IS NULL", columns)
        return accepted, duplicate, rejected

    def _do(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement to its end: a result that is not fetched blocks the connection."""
        self.cursor.execute(sql, list(parameters)).fetchall()

    def _find_refused(self, plan: Plan) -> int:
        """Number of refused rows; record number, reason and detail of each are kept until the load ends."""
        numbered = replace(plan, relation=f"(SELECT row_number() OVER () AS {RECORD}, * FROM {plan.relation})")
        is_request = self.meaning.table == "requests"
        told = {PREFIX + reason: sql for reason, sql in details(numbered).items()}
        select = (flat_rows.rows_select if is_request else hours_select)(numbered, [RECORD], told)
        arms = " ".join(f"WHEN {text(column.removeprefix(PREFIX))} THEN {column}" for column in told)
        self._do(
            f"CREATE OR REPLACE TEMP TABLE refused_rows AS SELECT {RECORD} AS rn, reason, CASE reason {arms} END AS detail "
            f"FROM ({select}) WHERE reason IS NOT NULL"
        )
        return _one(self.cursor, "SELECT count(*) FROM refused_rows")

    @property
    def _by_content(self) -> str:
        """How the keys of rows without an id begin."""
        return text(f"{self.meaning.source}#")

    def _stored(self, table: str, what: str = "*") -> int:
        sql = f"SELECT count({what}) FROM {table} WHERE upload_id = ?"
        return _one(self.cursor, sql, [self.meaning.upload_id])

    def _mend_repeats(self, table: str, identity: str, *, standing: bool) -> int:
        """Of rows with one id the first stays; equal rows without an id are as many requests, told apart by number.

        Returns the number of rows that were noted as told before.
        """
        upload = [self.meaning.upload_id]
        n_remembered = 0
        numbered = (
            f"SELECT rowid AS r, row_number() OVER (PARTITION BY {identity} ORDER BY rowid) AS n FROM {table} "
            "WHERE upload_id = ?"
        )
        n_distinct = self._stored(table, f"DISTINCT ({identity})")
        has_repeats = n_distinct < self._stored(table)
        if table == "requests":
            content = f"starts_with(request_key, {self._by_content})"
            if has_repeats:
                self._do(
                    f"UPDATE requests SET request_key = request_key || '*' || k.n FROM ({numbered} AND {content}) k "
                    "WHERE requests.rowid = k.r AND k.n > 1",
                    upload,
                )
            if standing:
                n_remembered = remember(
                    self.cursor,
                    "requests",
                    self.meaning.upload_id,
                    f"SELECT NULL, request_key FROM requests WHERE upload_id = ? AND {content} AND request_key IN "
                    "(SELECT request_key FROM requests WHERE upload_id <> ?)",
                    upload * 2,
                )
                self._do(
                    f"DELETE FROM requests WHERE upload_id = ? AND {content} AND request_key IN "
                    "(SELECT request_key FROM requests WHERE upload_id <> ?)",
                    upload * 2,
                )
        if has_repeats:
            self._do(f"DELETE FROM {table} WHERE rowid IN (SELECT r FROM ({numbered}) WHERE n > 1)", upload)
        return n_remembered

    def _parser_rejects(self, rejects_table: str) -> int:
        """How many rows the CSV parser refused."""
        if not rejects_table:
            return 0
        n_rows = _one(self.cursor, f"SELECT count(DISTINCT line_byte_position) FROM {rejects_table}")
        self._do(f"DROP TABLE {rejects_table}")
        self._do(f"DROP TABLE {rejects_table}_scan")
        return n_rows

    def _no_numbers(self, plan: Plan) -> int:
        """How many NaN and infinite values there are; Parquet can have them in floating-point columns alone."""
        if not self.columns.has_no_numbers:
            return 0
        floating = {key for key, kind in self.columns.types.items() if kind in ("FLOAT", "DOUBLE")}
        columns = []
        for item in plan.inputs:
            if item.kind not in ("int", "float", "money", "duration"):
                continue
            if item.sql.strip('"') in floating:
                columns.append(f"CASE WHEN isfinite({item.sql}) THEN '' ELSE 'nan' END")
            elif self.file.kind != "parquet" or item.sql.startswith("CAST"):
                columns.append(item.sql)
        return flat_source.count_no_numbers(self.cursor, plan.relation, columns)

    def _counted(self, n_rows: int) -> Columns:
        if self.file.kind != "csv":
            return self.columns
        return replace(self.columns, n_rows=n_rows, counts=dict.fromkeys(self.columns.counts, n_rows))


def hours_select(plan: Plan, columns: Sequence[str] = (), told: Mapping[str, str] = NOTHING) -> str:
    """SELECT of `reason` and the columns of replica_hours of every source row; `columns` and `told`, see fields_layer."""
    values = [
        f"{text(plan.upload_id)} AS upload_id" if column.name == "upload_id" else name(column.name)
        for column in REPLICA_HOURS
    ]
    reason = (
        "CASE WHEN is_empty THEN 'unreadable' WHEN is_bad THEN 'bad_value' "
        "WHEN replica IS NULL OR hour_ns IS NULL THEN 'missing_value' "
        "WHEN least(up_s, busy_s) < 0 THEN 'negative_duration' "
        f"WHEN greatest(up_s, busy_s, mean_batch_size) > {MAX_FIGURE} THEN 'bad_value' END AS reason"
    )
    return f"SELECT {', '.join([*columns, *told, reason, *values])} FROM ({fields_layer(plan, columns, told)})"


def refused(cursor: DuckDBPyConnection) -> Iterator[tuple[int, str, str]]:
    """(record number from 1, reason, detail) of every row that the latest load of this cursor refused, in source order.

    A page at a time, so that the cursor is free between two of them.
    """
    last = 0
    page = "SELECT rn, reason, coalesce(detail, '') FROM refused_rows WHERE rn > ? ORDER BY rn LIMIT 10000"
    while rows := cursor.execute(page, [last]).fetchall():
        yield from ((int(number), str(reason), unmarked(str(detail))) for number, reason, detail in rows)
        last = int(rows[-1][0])


def take_back(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """The rows of an upload out of a table again, and what was noted of its repeats."""
    for name_of_table in (table, "repeats"):
        cursor.execute(f"DELETE FROM {name_of_table} WHERE upload_id = ?", [upload_id]).fetchall()


def row_texts(cursor: DuckDBPyConnection, file: FlatFile, numbers: Sequence[int]) -> dict[int, str]:
    """Rows of a Parquet file by number, as JSON text."""
    if not numbers:
        return {}
    item = relation(file, (), numbered=True)
    marks = ", ".join(str(int(number)) for number in numbers)
    sql = f"SELECT {RECORD}, CAST(to_json(t) AS VARCHAR) FROM {item} t WHERE {RECORD} IN ({marks})"
    rows = cursor.execute(sql).fetchall()
    return {int(number): str(row) for number, row in rows}


def _one(cursor: DuckDBPyConnection, sql: str, parameters: Sequence[object] = ()) -> int:
    rows = cursor.execute(sql, list(parameters)).fetchall()
    return int(rows[0][0]) if rows and rows[0][0] is not None else 0
