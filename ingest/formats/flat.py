"""Own flat tables: one request per row, as JSON lines, CSV in any delimiter, or Parquet, under a house's own names.

Columns are recognized by name (flat_names), or told by the mapping file. Source: format page, sections 2 and 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as Mapping_

from ingest.formats import flat_names as known
from ingest.formats.contract import FlatReader, Format, Head, SourceColumn
from ingest.mapping import COLUMN_FIELDS, FIELDS, Mapping

_BY_NAME: dict[str, tuple[str, int]] = {  # plain name -> (canonical column, rank)
    name: (column, rank)
    for table in (known.TEXTS, known.FLAGS, known.COUNTS, known.FIGURES)
    for column, names in table.items()
    for rank, name in enumerate(names)
}
_TIMES: dict[str, tuple[str, int]] = {
    name: (column, rank) for column, names in known.TIMES.items() for rank, name in enumerate(names)
}
_DURATIONS: dict[str, tuple[str, int]] = {
    name: (column, rank) for column, names in known.DURATIONS.items() for rank, name in enumerate(names)
}
_MEASURES = {"input_tokens", "output_tokens", *known.DURATIONS}
_ANCHORS = {"started_ns", "ended_ns", "request_id", "trace_id", "model", "http_status"}
SHORT_NAMES = {column: short for short, column in FIELDS.items()} | {"tpot_ns": "tpot"}
_NESTED = tuple(name for name in _BY_NAME if "." in name)


def columns(head: Head) -> tuple[SourceColumn, ...]:
    """Canonical columns of a table by the names of its columns, best first within one canonical column."""
    found: list[tuple[str, int, SourceColumn]] = []
    by_plain: dict[str, str] = {}
    for name in head.columns:
        by_plain.setdefault(known.plain(name), name)
    for plain, name in by_plain.items():
        column = _recognized(plain, name)
        if column is not None:
            found.append(column)
    for nested in _NESTED:
        outer, _, inner = nested.partition(".")
        if outer in by_plain and nested not in by_plain:
            column_name, rank = _BY_NAME[nested]
            found.append((column_name, rank, SourceColumn(column_name, (f"{by_plain[outer]}.{inner}",))))
    found.sort(key=lambda item: (item[0], item[1], item[2].names))
    return tuple(column for _, _, column in found)


def _recognized(plain: str, name: str) -> tuple[str, int, SourceColumn] | None:
    if plain in _BY_NAME:
        column, rank = _BY_NAME[plain]
        return column, rank, SourceColumn(column, (name,))
    bare, unit = known.split_unit(plain)
    if plain in _TIMES or (unit and bare in _TIMES):
        column, rank = _TIMES[plain if plain in _TIMES else bare]
        return column, rank, SourceColumn(column, (name,), unit or "time")
    if unit:
        for base in (bare, known.without_filler(bare)):
            if base in _DURATIONS:
                column, rank = _DURATIONS[base]
                return column, rank, SourceColumn(column, (name,), unit)
    return None


def mapped(mapping: Mapping) -> tuple[SourceColumn, ...]:
    """Columns told by the mapping file; an instant is read as time, a duration takes the unit told or in its name."""
    found = []
    for short, source in mapping.columns.items():
        column = COLUMN_FIELDS[short]
        if column in ("started_ns", "ended_ns", "first_output_ns"):
            counts_in = source.unit or known.split_unit(known.plain(source.name))[1]  # where it is no epoch time
            found.append(SourceColumn(column, (source.name,), counts_in or "time"))
        elif column.endswith("_ns"):
            unit = source.unit or known.split_unit(known.plain(source.name))[1] or ""
            found.append(SourceColumn(column, (source.name,), unit))
        elif short == "tpot":
            unit = source.unit or known.split_unit(known.plain(source.name))[1] or ""
            found.append(SourceColumn("tpot_ns", (source.name,), unit))
        elif short == "first_output":
            found.append(SourceColumn("first_output_ns", (source.name,), "time"))
        else:
            found.append(SourceColumn(column, (source.name,)))
    return tuple(found)


def without_unit(names: tuple[str, ...]) -> dict[str, str]:
    """Names of durations that tell no unit, for which a mapping is needed: name -> what a mapping calls its column."""
    found = ((name, known.plain(name)) for name in names)
    return {
        name: SHORT_NAMES[_DURATIONS[plain][0]]
        for name, plain in found
        if plain in _DURATIONS and plain not in (*_BY_NAME, *_TIMES)
    }


def told_with_unit(sources: Mapping_[str, str]) -> str:
    """How a mapping file tells the unit of durations, as one line of YAML.

    Args:
        sources: name of a source column -> what a mapping calls its column; of two for one column the first is told.
    """
    first: dict[str, str] = {}
    for name, short in sources.items():
        first.setdefault(short, name if re.fullmatch(r"[A-Za-z_][\w. -]*", name) else json.dumps(name))
    return f"columns: {{{', '.join(f'{short}: {{from: {name}, unit: ms}}' for short, name in first.items())}}}"


def sniff(head: Head) -> float:
    """A table is one of requests if it has tokens or durations, and a time, an id or a model."""
    if head.shape not in ("json_lines", "json_document", "csv", "parquet"):
        return 0.0
    names = head.columns or tuple(sorted({key.split(".")[0] for key in head.keys}))
    found = {column.column for column in columns(Head(head.name, head.shape, b"", columns=names))}
    return 0.3 if _MEASURES & found and _ANCHORS & found else 0.0


FORMAT = Format(
    name="flat",
    title="Request table",
    says="one request per row as JSON lines, a JSON array, CSV or Parquet; columns by name or by a mapping file",
    sniff=sniff,
    reader=FlatReader(columns),
)
