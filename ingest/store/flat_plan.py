"""What the columns of a flat file mean, and how they are read: as text, as JSON, or straight as numbers.

Input: a FlatFile, its names, and a FlatMeaning. Output: facts from one reading; the Plan that the SQL is made from.
JSON numbers are read as numbers only where one reading has shown that no value of the column would be lost by it: as
many numbers as rows that have the name. Else the column is read as text, so that a wrong value is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from duckdb import DuckDBPyConnection

from ingest.store.flat_source import (
    Columns,
    FlatFile,
    TimeFacts,
    attribute_sql,
    column_sql,
    relation,
    text_sql,
    time_facts,
)
from ingest.store.flat_sql import FACTOR, FIELDS, SQL_OF, Input, Plan, TimeForm, name, text

NATIVE_KINDS = {"int": "BIGINT", "float": "DOUBLE", "duration": "DOUBLE", "bool": "BOOLEAN"}


@dataclass(frozen=True)
class FlatColumn:
    """One source column as told by a format or mapping: the field it gives, names, unit (see formats.contract)."""

    field: str
    names: tuple[str, ...]
    unit: str = ""
    is_zero_absent: bool = False
    prefix: str = ""


@dataclass(frozen=True)
class FlatMeaning:
    """What the columns of a file mean.

    `columns`: best first within a field. `attributes`: names kept as JSON. `dimensions`: dimension -> column name.
    `origin_ns`: where times begin that count from no known instant. `constants`: field -> text that is the same in every row. `identity`: columns that tell requests apart.
    """

    columns: tuple[FlatColumn, ...]
    source: str
    upload_id: str
    now_ns: int
    table: Literal["requests", "replica_hours"] = "requests"
    key: Literal["trace", "row"] = "row"
    vantage: str | None = None
    generation_basis: str = "last_token"
    sampling_rate: float = 1.0
    timezone: str = "UTC"
    origin_ns: int | None = None
    attributes: tuple[str, ...] = ()
    dimensions: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    identity: tuple[str, ...] = ()


def decimal_comma(sql: str) -> str:
    """SQL of a number as spreadsheets write it where the semicolon parts the columns: 0,5."""
    return f"CASE WHEN contains({sql}, ',') AND NOT contains({sql}, '.') THEN replace({sql}, ',', '.') ELSE {sql} END"


@dataclass(frozen=True)
class Facts:
    """What one reading of a file says: rows, forms of its times, columns that may be read as numbers."""

    n_rows: int
    times: dict[str, TimeFacts]
    natives: dict[str, str]
    n_zeros: int = 0  # rows of a delimited table that hold zero bytes


class Layout:
    """Which columns of a file are used, and how.

    `found`: (column, source name) of what is there; `tops`: top-level names to read; `nested`: those read as JSON.
    """

    def __init__(self, file: FlatFile, columns: Columns, meaning: FlatMeaning) -> None:
        self.file = file
        self.columns = columns
        self.meaning = meaning
        self.found = [(column, key) for column in meaning.columns for key in column.names if self._has(key)]
        tops = [self._top(key) for _, key in self.found]
        others = (*meaning.attributes, *meaning.dimensions.values(), *meaning.identity)
        tops += [key for key in others if key in columns.counts]
        self.tops = list(dict.fromkeys(tops))
        directs = {key for _, key in self.found if key in columns.counts} | set(meaning.identity)
        self.nested = [
            key
            for key in self.tops
            if key in meaning.attributes or (key not in directs and key not in meaning.dimensions.values())
        ]

    def _has(self, key: str) -> bool:
        return key in self.columns.counts or key.partition(".")[0] in self.columns.counts

    def _top(self, key: str) -> str:
        return key if key in self.columns.counts else key.partition(".")[0]

    def facts(self, cursor: DuckDBPyConnection, rejects_table: str) -> Facts:
        """The facts of the file, from one reading; rows that the CSV parser refuses go to a table of that name."""
        times = [key for column, key in self.found if FIELDS[column.field] == "time"]
        natives = self._candidates(times)
        from_item = relation(self.file, self.tops, self.nested, rejects_table=rejects_table, natives=natives)
        every = self._all_columns() if self.file.kind == "csv" else "1"  # the CSV reader checks only what is read
        n_rows, n_zeros, facts, counts = time_facts(
            cursor,
            from_item,
            [self._sql(key) for key in times],
            self.meaning.now_ns,
            every=every,
            counted=[name(key) for key in natives],
        )
        kept = {
            key: kind for (key, kind), n in zip(natives.items(), counts, strict=True) if n == self.columns.counts[key]
        }
        return Facts(n_rows, dict(zip(times, facts, strict=True)), kept, n_zeros)

    def _candidates(self, times: list[str]) -> dict[str, str]:
        """Columns of JSON that give one number or flag each, with the type to read them as."""
        if self.file.kind != "json" or self.file.delimiter == ";" or self.columns.has_no_numbers:
            return {}  # semicolons: a rewritten table, whose numbers may have decimal commas
        users: dict[str, list[str]] = {}
        for column, key in self.found:
            users.setdefault(self._top(key), []).append(FIELDS[column.field])
        others = {*times, *self.nested, *self.meaning.dimensions.values(), *self.meaning.identity}
        return {
            key: NATIVE_KINDS[kinds[0]]
            for key, kinds in users.items()
            if len(kinds) == 1 and kinds[0] in NATIVE_KINDS and key not in others
        }

    def _sql(self, key: str) -> str:
        return column_sql(self.file, self.columns, key, self.nested)

    def _all_columns(self) -> str:
        return f"concat({', '.join(text_sql(self._sql(key)) for key in self.tops)}, '')"

    def plan(self, forms: Mapping[str, TimeForm], natives: Mapping[str, str]) -> Plan:
        """The plan of the insert."""
        inputs = []
        for column, key in self.found:
            kind = FIELDS[column.field]
            is_text = kind in ("text", "bool", "time") and key not in natives
            sql = text_sql(self._sql(key)) if is_text else self._sql(key)
            if self.file.delimiter == ";" and kind in ("float", "duration", "money"):
                sql = decimal_comma(sql)
            if column.prefix:
                sql = f"{text(column.prefix)} || {sql}"
            unit = column.unit if column.unit in FACTOR else "s"
            is_native = natives.get(key) == SQL_OF[kind]
            inputs.append(Input(sql, column.field, unit, column.is_zero_absent, forms.get(key), is_native, key))
        if self.meaning.identity and set(self.meaning.identity) <= set(self.columns.counts):
            parts = ", ".join(f"coalesce({text_sql(self._sql(key))}, '')" for key in self.meaning.identity)
            inputs.append(Input(f"concat_ws('/', {parts})", "identity"))
        attributes = {
            key: attribute_sql(self.file, key) for key in self.meaning.attributes if key in self.columns.counts
        }
        dimensions = {
            dimension: text_sql(self._sql(key)) for dimension, key in self.meaning.dimensions.items() if self._has(key)
        }
        return Plan(
            relation=relation(self.file, self.tops, self.nested, natives=natives),
            inputs=tuple(inputs),
            source=self.meaning.source,
            upload_id=self.meaning.upload_id,
            key=self.meaning.key,
            now_ns=self.meaning.now_ns,
            sampling_rate=self.meaning.sampling_rate,
            vantage=self.meaning.vantage,
            generation_basis=self.meaning.generation_basis,
            attributes=attributes,
            dimensions=dimensions,
            constants=self.meaning.constants,
            has_gaps=not self.columns.is_uniform,
        )
