"""Raw columns of a flat file as SQL: names that occur in it, and the FROM item that gives them.

Input: a JSON lines, CSV or Parquet file that SQL can reach. Output: Columns; FROM items; TimeForm of each time column.
Every line of JSON gives a row: one that cannot be read gives a row of nulls. CSV rows that cannot be read are told in
a table of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import duckdb
from duckdb import DuckDBPyConnection

from ingest.errors import UnreadableInput
from ingest.store.flat_sql import (
    CLOCK_NS,
    DAY_NS,
    FACTOR,
    FAR_COUNT,
    FIRST_NS,
    NO_NUMBERS,
    ZONED,
    TimeForm,
    moment_sql,
    name,
    text,
    words,
)

MAX_NAMES = 2000  # columns of one table; a source with more has ids for names
RECORD = '"# record"'  # number of a record, under a name that no source column has
LONG_OBJECT_BYTES = 64 << 20  # the longest line that is read
DEFAULT_OBJECT_BYTES = 16 << 20  # of the JSON reader
_OFFSET_KINDS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS WITH TIME ZONE")
_NUMBER_KINDS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class FlatFile:
    """A file of rows: reachable path, kind, packing, CSV delimiter and header, length of the longest line where it is known to be above 16 MB."""

    path: str
    kind: Literal["json", "csv", "parquet"]
    packing: Literal["none", "gzip", "zstd"] = "none"
    delimiter: str = ","
    header: tuple[str, ...] = ()
    longest_line: int = 0


@dataclass(frozen=True)
class Columns:
    """Names of a file's columns with the number of rows that have them, and what else one reading tells.

    `n_rows`: records of the file, unreadable ones included (CSV: without those the parser refused). `types`: of
    Parquet columns. `is_uniform`: all rows have the same names. `has_no_numbers`: NaN or Infinity may occur.
    `has_more_names`: there are more names than are read; the rarest are left out.
    """

    n_rows: int
    counts: dict[str, int]
    types: dict[str, str] = field(default_factory=dict)
    is_uniform: bool = False
    has_no_numbers: bool = True
    has_more_names: bool = False


@contextmanager
def told(file: str) -> Iterator[None]:
    """Errors of the database about a source as errors of the source."""
    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        line = "".join(filter(str.isprintable, (str(error).splitlines() or [""])[0]))
        first = re.sub(r"^([A-Za-z]\w* )*Error: ", "", line).strip(" :") or "damaged"
        raise UnreadableInput(f"{file} cannot be read: {first.rstrip('.')}", code="unreadable_rows") from error


def read_columns(cursor: DuckDBPyConnection, file: FlatFile) -> Columns:
    """Names that occur in the file, exactly: every row is looked at."""
    if file.kind == "json":
        return _json_columns(cursor, file)
    if file.kind == "parquet":
        described = cursor.execute(f"DESCRIBE SELECT * FROM {_parquet(file)}").fetchall()
        types = {str(row[0]): str(row[1]) for row in described}
        n_rows = int(cursor.execute(f"SELECT count(*) FROM {_parquet(file)}").fetchall()[0][0])
        return Columns(n_rows, dict.fromkeys(types, n_rows), types)
    return Columns(0, dict.fromkeys(_unlike(file.header), 0))


def _json_columns(cursor: DuckDBPyConnection, file: FlatFile) -> Columns:
    odd = "contains(json, 'NaN') OR contains(json, 'Infinity')"
    cursor.execute(  # the keys of what is no object are an empty list
        f"CREATE OR REPLACE TEMP TABLE key_lists AS SELECT any_value(ks) AS ks, count(*) AS n, bool_or(odd) AS odd "
        f"FROM (SELECT json_keys(json) AS ks, {odd} AS odd FROM {_objects(file)}) GROUP BY hash(ks)"
    ).fetchall()
    lists, rows, has_odd = cursor.execute("SELECT count(*), sum(n), bool_or(odd) FROM key_lists").fetchall()[0]
    found = cursor.execute(
        "SELECT key, sum(n) FROM (SELECT unnest(list_distinct(ks)) AS key, n FROM key_lists) GROUP BY key "
        f"ORDER BY sum(n) DESC, key LIMIT {MAX_NAMES + 1}"
    ).fetchall()
    cursor.execute("DROP TABLE key_lists").fetchall()
    counts = {str(key): int(count) for key, count in found[:MAX_NAMES]}
    return Columns(
        n_rows=int(rows or 0),
        counts={key: counts[key] for key in _unlike(tuple(counts))},
        is_uniform=lists == 1,
        has_no_numbers=bool(has_odd),
        has_more_names=len(found) > MAX_NAMES,
    )


def inner_names(cursor: DuckDBPyConnection, file: FlatFile, outers: Sequence[str]) -> dict[str, int]:
    """Dotted names inside columns of JSON objects with the number of rows that have them; one reading for all columns."""
    if not outers:
        return {}
    if file.kind == "json":
        item = relation(file, outers, outers)
        columns = [name(key) for key in outers]
    else:
        item, columns = _parquet(file), [f"to_json({name(key)})" for key in outers]
    structures = ", ".join(
        f"CASE json_type({column}) WHEN 'OBJECT' THEN json_structure({column}) END" for column in columns
    )
    found: dict[str, int] = {}
    for *told, n in cursor.execute(f"SELECT {structures}, count(*) FROM {item} GROUP BY ALL").fetchall():
        for key, structure in zip(outers, told, strict=True):
            for path in _paths(json.loads(structure) if structure else None, key):
                found[path] = found.get(path, 0) + int(n)
    return found


def _paths(structure: object, prefix: str) -> Iterator[str]:
    """Dotted names below a place, those that hold further ones included."""
    if isinstance(structure, dict):
        for key, inner in structure.items():
            yield f"{prefix}.{key}"
            yield from _paths(inner, f"{prefix}.{key}")


def _unlike(names: Sequence[str]) -> list[str]:
    """Names without the empty one and those that differ from an earlier one in case alone: SQL knows no difference."""
    kept: dict[str, str] = {}
    for key in filter(None, names):
        kept.setdefault(key.lower(), key)
    return list(kept.values())


def _objects(file: FlatFile) -> str:
    return f"read_ndjson_objects({text(file.path)}, ignore_errors = true{_packing(file)}{_size(file)})"


def _packing(file: FlatFile) -> str:
    return f", compression = {text(file.packing)}"


def _size(file: FlatFile) -> str:
    if file.longest_line <= DEFAULT_OBJECT_BYTES:
        return ""
    return f", maximum_object_size = {min(file.longest_line, LONG_OBJECT_BYTES) + 1024}"  # more costs memory


def _parquet(file: FlatFile) -> str:
    return f"read_parquet({text(file.path)})"


def relation(
    file: FlatFile,
    columns: Sequence[str],
    nested: Sequence[str] = (),
    *,
    rejects_table: str = "",
    numbered: bool = False,
    natives: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """FROM item of the given columns; `nested` are read as JSON, `natives` in their type, all others as text.

    `numbered` adds RECORD, the record's number from 1.
    """
    if file.kind == "json":
        types = dict.fromkeys(columns, "VARCHAR") | dict.fromkeys(nested, "JSON") | dict(natives)
        listed = ", ".join(f"{text(key)}: '{types[key]}'" for key in columns)
        item = (
            f"read_json({text(file.path)}, format = 'newline_delimited', ignore_errors = true{_packing(file)}"
            f"{_size(file)}, columns = {{{listed}}})"
        )
    elif file.kind == "parquet":
        item = _parquet(file)
    else:
        item = _csv(file, rejects_table)
    return f"(SELECT row_number() OVER () AS {RECORD}, * FROM {item})" if numbered else item


def _csv(file: FlatFile, rejects_table: str) -> str:
    listed = ", ".join(f"{text(f'c{number}')}: 'VARCHAR'" for number in range(len(file.header)))
    told_in = (
        f"store_rejects = true, rejects_table = {text(rejects_table)}, rejects_scan = {text(rejects_table + '_scan')}, "
        "rejects_limit = 0"
        if rejects_table
        else "ignore_errors = true"
    )
    return (
        f"read_csv({text(file.path)}, auto_detect = false, header = true, delim = {text(file.delimiter)}, quote = '\"', "
        f"escape = '\"', columns = {{{listed}}}{_packing(file)}, {told_in})"
    )


def column_sql(file: FlatFile, columns: Columns, key: str, nested: Sequence[str] = ()) -> str:
    """SQL of a column, or of a place inside a JSON column (`usage.prompt_tokens`), as text or as a number."""
    if key in columns.counts:
        return _top(file, columns, key, is_json=key in nested)
    outer, _, inner = key.partition(".")
    path = "$" + "".join(f'."{part}"' for part in inner.split("."))
    return f"json_extract_string({_top(file, columns, outer, is_json=False, raw=True)}, {text(path)})"


def _top(file: FlatFile, columns: Columns, key: str, *, is_json: bool, raw: bool = False) -> str:
    if file.kind == "csv":
        return f"c{file.header.index(key)}"
    if file.kind == "json":
        return f"json_extract_string({name(key)}, '$')" if is_json and not raw else name(key)
    kind = columns.types.get(key, "VARCHAR")
    if raw and kind != "JSON":
        return f"to_json({name(key)})"
    if kind in _OFFSET_KINDS:
        return f"CAST(epoch_ns({name(key)}) AS VARCHAR)"
    if kind in _NUMBER_KINDS:
        return name(key)
    if kind.startswith(("STRUCT", "MAP")) or kind.endswith("[]"):
        return f"CAST(to_json({name(key)}) AS VARCHAR)"
    return f"CAST({name(key)} AS VARCHAR)"


def text_sql(sql: str) -> str:
    return f"CAST({sql} AS VARCHAR)"


def attribute_sql(file: FlatFile, key: str) -> str:
    """SQL of a column as a JSON value."""
    if file.kind == "csv":
        return f"c{file.header.index(key)}"
    return f"to_json({name(key)})" if file.kind == "parquet" else name(key)


@dataclass(frozen=True)
class TimeFacts:
    """What all rows of one time column say: how many are texts, zoned, naive, odd; epoch numbers by unit; their range.

    `n_unread`: texts that are no instant. `n_unlike`: numbers above 0 that no clock since 1970 would write. `low`,
    `high`: of numbers that may count time at all.
    """

    n_texts: int
    n_zoned: int
    n_naive: int
    n_odd: int
    n_unread: int
    n_numbers: int
    n_unlike: int
    by_unit: dict[str, int]
    low: float | None
    high: float | None

    def form(self, timezone: str, origin_ns: int | None = None, unit_told: str = "") -> TimeForm:
        """How to read the column: the unit that most numbers fit, null if none does or most values count from elsewhere.

        Args:
            origin_ns: where the numbers of such a column begin; they count in `unit_told`, or seconds.
        """
        n_instants = sum(self.by_unit.values()) + self.n_texts - self.n_unread
        is_from_nowhere = self.n_numbers > 0 and (n_instants == 0 or self.n_unlike > n_instants)
        unit = (
            None
            if is_from_nowhere or not any(self.by_unit.values())
            else max(self.by_unit, key=self.by_unit.__getitem__)
        )
        is_relative = is_from_nowhere and origin_ns is not None
        unit = (unit_told or "s") if is_relative else unit
        zones: Literal["all", "none", "some"] = "all" if not self.n_naive else "none" if not self.n_zoned else "some"
        return TimeForm(
            unit=unit,  # type: ignore[arg-type]
            has_numbers=self.n_numbers > 0,
            has_texts=self.n_texts > 0,
            zones=zones,
            has_odd_texts=self.n_odd > 0,
            timezone=timezone,
            origin_ns=origin_ns if is_relative else None,
            is_clockless=is_from_nowhere and not is_relative,
        )


def time_facts(
    cursor: DuckDBPyConnection,
    from_item: str,
    columns: Sequence[str],
    now_ns: int,
    *,
    every: str = "1",
    counted: Sequence[str] = (),
) -> tuple[int, int, list[TimeFacts], list[int]]:
    """Number of rows, of rows with zero bytes, facts of each time column (SQL of its text), number of known values.

    All from one reading.

    Args:
        every: SQL that makes the reader look at every column that is used.
        counted: columns whose known values are counted.
    """
    zeros = "0" if every == "1" else f"count(*) FILTER (contains({every}, chr(0)))"
    selects = [f"count({every})", zeros]
    for sql in columns:
        selects += _time_counts(sql, now_ns)
    selects += [f"count({column})" for column in counted]
    row = cursor.execute(f"SELECT {', '.join(selects)} FROM {from_item}").fetchall()[0]
    width = len(_time_counts("''", now_ns))
    facts = []
    for start in range(2, 2 + width * len(columns), width):
        part = row[start : start + width]
        by_unit = dict(zip(FACTOR, part[7:-2], strict=True))
        facts.append(
            TimeFacts(part[0], part[1], part[2], part[3], part[4], part[5], part[6], by_unit, part[-2], part[-1])
        )
    return int(row[0]), int(row[1]), facts, [int(count) for count in row[2 + width * len(columns) :]]


def _time_counts(sql: str, now_ns: int) -> list[str]:
    """SQL of the figures of TimeFacts over a column's text, in their order."""
    value, number = f"nullif(trim({text_sql(sql)}), '')", f"try_cast({sql} AS DOUBLE)"
    is_text = f"{value} IS NOT NULL AND {number} IS NULL AND lower({value}) NOT IN {words()}"
    moment = moment_sql(value, TimeForm(zones="some", has_odd_texts=True))
    likes = (f"{number} BETWEEN {CLOCK_NS[0] / FACTOR[unit]!r} AND {CLOCK_NS[1] / FACTOR[unit]!r}" for unit in FACTOR)
    return [
        f"count(*) FILTER ({is_text})",
        f"count(*) FILTER ({is_text} AND regexp_matches({value}, '{ZONED}'))",
        f"count(*) FILTER ({is_text} AND NOT regexp_matches({value}, '{ZONED}') "
        f"AND try_cast({value} AS TIMESTAMP_NS) IS NOT NULL)",
        f"count(*) FILTER ({is_text} AND try_cast({value} AS TIMESTAMPTZ_NS) IS NULL)",
        f"count(CASE WHEN {is_text} AND try_cast({value} AS TIMESTAMPTZ_NS) IS NULL "  # CASE: of those rows alone
        f"THEN CASE WHEN {moment} IS NULL THEN 1 END END)",
        f"count(*) FILTER (isfinite({number}))",
        f"count(*) FILTER ({number} > 0 AND {number} < {FAR_COUNT!r} AND NOT ({' OR '.join(likes)}))",
        *(
            f"count(*) FILTER ({number} BETWEEN {FIRST_NS / FACTOR[unit]!r} AND {(now_ns + DAY_NS) / FACTOR[unit]!r})"
            for unit in FACTOR
        ),
        f"min({number}) FILTER (abs({number}) < {FAR_COUNT!r})",
        f"max({number}) FILTER (abs({number}) < {FAR_COUNT!r})",
    ]


def count_no_numbers(cursor: DuckDBPyConnection, from_item: str, columns: Sequence[str]) -> int:
    """How many values of number columns are NaN or infinite, which is read as "not known"."""
    if not columns:
        return 0
    each = " + ".join(f"count(*) FILTER (lower(trim({text_sql(sql)})) IN {words(NO_NUMBERS)})" for sql in columns)
    return int(cursor.execute(f"SELECT {each} FROM {from_item}").fetchall()[0][0])
