"""Flat formats: one source in bulk into the store, with refused rows told by line.

Input: an opened source and its format. Output: Told. Everything within the transaction of the given cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ingest.errors import Reject, UnusableFormat
from ingest.formats import flat as own_tables
from ingest.formats.contract import FlatReader, Format, Head, Source, SourceColumn
from ingest.formats.flat_names import is_content
from ingest.lines import UNJUDGED, csv_rejects, head_of, json_rejects
from ingest.receipts import LoadOptions
from ingest.store import flat as bulk
from ingest.store.append import add_rejects
from ingest.store.files import reachable
from ingest.store.flat import FlatColumn, FlatCounts, FlatMeaning
from ingest.store.flat_source import Columns, FlatFile, read_columns, told
from ingest.told import Told

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ingest.store.database import Store

KINDS: dict[str, Literal["json", "csv", "parquet"]] = {"json_lines": "json", "csv": "csv", "parquet": "parquet"}


def load_table(
    store: Store,
    cursor: DuckDBPyConnection,
    source: Source,
    head: Head,
    file_format: Format,
    *,
    upload_id: str,
    options: LoadOptions,
    now_ns: int,
    longest_line: int = 0,
    in_source: Callable[[Reject], Reject] = lambda reject: reject,
) -> Told:
    """What became of the rows of a flat source.

    Args:
        longest_line: upper bound of the length of a line, 0 where it is not known.
        in_source: gives a reject its place in the source as the user knows it, where this is a copy.

    Raises:
        UnreadableInput: the bytes cannot be read as rows at all.
        UnusableFormat: the shape is none of a table, or no column means anything.
    """
    reader = file_format.reader
    if not isinstance(reader, FlatReader) or head.shape not in KINDS:
        raise UnusableFormat(f"{source.name} is no table: JSON lines, CSV or Parquet is needed", code="not_a_table")
    file = FlatFile(
        path=reachable(store, cursor, source.path),
        kind=KINDS[head.shape],
        packing=source.packing,
        delimiter=head.delimiter,
        header=head.columns,
        longest_line=longest_line,
    )
    with told(source.name):
        columns = read_columns(cursor, file)
    named = Head(head.name, head.shape, head.data, head.keys, tuple(columns.counts), head.delimiter)
    meaning = _meaning(reader, named, columns, options, file_format.name, upload_id=upload_id, now_ns=now_ns)
    counts = bulk.load_flat(cursor, file, columns, meaning)
    places = _Places(cursor, source, file)
    first = add_rejects(store, cursor, upload_id, (in_source(reject) for reject in places.rejects(counts)))
    return Told(
        read=counts.n_read,
        accepted=counts.n_accepted,
        duplicate=counts.n_duplicate,
        rejected=counts.n_rejected,
        rejects=first,
        not_understood=_not_understood(counts.columns or columns, meaning, reader),
        notes=tuple(_notes(named, counts, meaning, reader)),
    )


def _meaning(
    reader: FlatReader,
    head: Head,
    columns: Columns,
    options: LoadOptions,
    source: str,
    *,
    upload_id: str,
    now_ns: int,
) -> FlatMeaning:
    told_by_user = own_tables.mapped(options.mapping) if reader.table == "requests" else ()
    for column in told_by_user:
        _check_mapped(column, head)
    fields = {column.column for column in told_by_user}
    found = (*told_by_user, *(column for column in reader.columns(head) if column.column not in fields))
    used = {name for column in found for name in column.names}
    used |= {name.partition(".")[0] for name in used if name not in columns.counts}
    used |= set(reader.identity)
    extras = [name for name in columns.counts if name not in used and name not in reader.redundant]
    keeps = options.attributes == "all" and reader.table == "requests"
    return FlatMeaning(
        columns=tuple(FlatColumn(c.column, c.names, c.unit, c.is_zero_absent, c.prefix) for c in found),
        source=source,
        upload_id=upload_id,
        now_ns=now_ns,
        table=reader.table,
        key=reader.key,
        vantage=reader.vantage,
        generation_basis=reader.generation_basis,
        sampling_rate=options.sampling_rate or options.mapping.sampling_rate or 1.0,
        timezone=options.mapping.timezone,
        attributes=tuple(name for name in extras if keeps and not is_content(name)),
        dimensions=options.mapping.dimensions if reader.table == "requests" else {},
        constants=reader.constants(head),
        identity=reader.identity,
    )


def _check_mapped(column: SourceColumn, head: Head) -> None:
    """A duration needs a unit; a source column that is not there is told by the notes instead."""
    if column.column.endswith("_ns") and not column.unit:
        raise UnusableFormat(
            f'{head.name}: the unit of column "{column.names[0]}" is not told. '
            f"Write {{from: {column.names[0]}, unit: ms}} in the mapping file",
            code="unit_missing",
        )


@dataclass(frozen=True)
class _Places:
    """Finds every refused row of a file; the file is walked only where there are any."""

    cursor: DuckDBPyConnection
    source: Source
    file: FlatFile

    def rejects(self, counts: FlatCounts) -> Iterator[Reject]:
        if not counts.n_rejected:
            return
        by_parser = bulk.parser_rejects(self.cursor) if self.file.kind == "csv" else []
        refused: Iterator[tuple[int, str]] = ((number, UNJUDGED) for number in range(1, counts.n_read + 1))
        if counts.plan is not None:
            refused = bulk.refused(self.cursor) if counts.n_rejected > counts.n_parser_rejected else iter(())
        if self.file.kind == "parquet":
            yield from self._by_text(list(refused))
            return
        with self.source.open() as stream:
            if self.file.kind == "json":
                yield from json_rejects(stream, refused)
            else:
                yield from csv_rejects(stream, self.file.delimiter, refused, by_parser)

    def _by_text(self, refused: list[tuple[int, str]]) -> Iterator[Reject]:
        """A Parquet file has no lines; its rows are told by their text."""
        for start in range(0, len(refused), 1000):
            part = refused[start : start + 1000]
            texts = bulk.row_texts(self.cursor, self.file, [number for number, _ in part])
            for number, reason in part:
                head = head_of(texts.get(number, "").encode())
                yield Reject(None, None, "no_time" if reason == UNJUDGED else reason, head)


def _not_understood(columns: Columns, meaning: FlatMeaning, reader: FlatReader) -> dict[str, int]:
    used = {name for column in meaning.columns for name in column.names} | set(meaning.dimensions.values())
    used |= {name.partition(".")[0] for name in used if name not in columns.counts} | set(reader.redundant)
    used |= set(reader.identity)
    left = {name: count for name, count in columns.counts.items() if name not in used}
    return dict(sorted(left.items(), key=lambda item: (-item[1], item[0])))


def _notes(head: Head, counts: FlatCounts, meaning: FlatMeaning, reader: FlatReader) -> Iterator[str]:
    if counts.n_no_numbers:
        are = (
            "value is no number (NaN or Infinity) and is"
            if counts.n_no_numbers == 1
            else ("values are no numbers (NaN or Infinity) and are")
        )
        yield f"{counts.n_no_numbers} {are} read as not known"
    for name in counts.naive_times:
        yield f'times of "{name}" without a zone are read as {meaning.timezone}'
    for name, low, high in counts.clockless:
        yield (
            f'"{name}" counts from no known instant ({low:g} to {high:g}): its requests have no wall clock and belong '
            "to no week"
        )
    dropped = [name for name in head.columns if is_content(name) and name not in _used(meaning)]
    if dropped:
        yield f"not kept, for it may be content or credentials: {', '.join(dropped)}"
    unitless = [name for name in own_tables.without_unit(head.columns) if name not in _used(meaning)]
    if unitless and reader.columns is own_tables.columns:
        yield (
            f"the unit of {', '.join(unitless)} is not in its name, so it is not read; map it, such as "
            f"columns: {{e2e: {{from: {unitless[0]}, unit: ms}}}}"
        )
    missing = [column.names[0] for column in meaning.columns if not _is_there(column.names[0], head)]
    if missing and reader.columns is own_tables.columns:  # built-in names are there, so these are the mapping's
        yield f"the mapping names columns that the file does not have: {', '.join(missing)}"


def _used(meaning: FlatMeaning) -> set[str]:
    names = {name for column in meaning.columns for name in column.names}
    return names | {name.partition(".")[0] for name in names} | set(meaning.dimensions.values())


def _is_there(name: str, head: Head) -> bool:
    return name in head.columns or name.partition(".")[0] in head.columns
