"""Flat formats: one source in bulk into the store, with refused rows told by line.

Input: an opened source and its format. Output: Told. Everything within the transaction of the given cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ingest.errors import Reject, UnusableFormat
from ingest.formats import flat as own_tables
from ingest.formats.contract import FlatReader, Format, Head, Source, SourceColumn
from ingest.formats.flat_names import is_content
from ingest.formats.heads import head_of
from ingest.formats.visible import shown_name
from ingest.lines import UNJUDGED, Refused, json_rejects
from ingest.receipts import LoadOptions
from ingest.selection import to_iso
from ingest.store import flat as bulk
from ingest.store.append import add_rejects
from ingest.store.files import reachable
from ingest.store.flat import FlatCounts
from ingest.store.flat_plan import FlatColumn, FlatMeaning
from ingest.store.flat_source import MAX_NAMES, Columns, FlatFile, inner_names, read_columns, told
from ingest.store.flat_sql import RATE
from ingest.table_lines import Mender, Places, Table, rewrite, rewrite_array
from ingest.told import Told
from ingest.unpack import MAX_LINE_BYTES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ingest.store.database import Store

KINDS: dict[str, Literal["json", "csv", "parquet"]] = {"json_lines": "json", "csv": "csv", "parquet": "parquet"}


@dataclass(frozen=True)
class TableLoad:
    """One flat source into the store, within the transaction of the cursor; call `run` once.

    `longest_line`: upper bound of the length of a line, 0 where it is not known. `rewrites`: the rows go record by
    record into JSON lines first.
    """

    store: Store
    cursor: DuckDBPyConnection
    file_format: Format
    upload_id: str
    options: LoadOptions
    now_ns: int
    longest_line: int = 0
    rewrites: bool = False

    def run(self, source: Source, head: Head, in_source: Callable[[Reject], Reject]) -> Told:
        """What became of the rows.

        Args:
            in_source: gives a reject its place in the source as the user knows it, where this is a copy.

        Raises:
            UnreadableInput: the bytes cannot be read as rows at all.
            UnusableFormat: the shape is none of a table.
        """
        if head.shape == "json_document" or (head.shape == "csv" and self.rewrites):
            return self._rewritten(source, head, in_source)
        if head.shape not in KINDS:
            raise UnusableFormat(
                f"{source.name} is no table: JSON lines, an array of objects, CSV or Parquet is needed",
                code="not_a_table",
            )
        file = FlatFile(
            path=reachable(self.store, self.cursor, source.path),
            kind=KINDS[head.shape],
            packing=source.packing,
            delimiter=head.delimiter,
            header=head.columns,
            longest_line=self.longest_line,
        )
        bulk_load = self._bulk(source, head, file)
        if file.kind == "csv" and bulk_load.counts.n_rejected:
            bulk.take_back(self.cursor, self.reader.table, self.upload_id)
            return self._rewritten(source, head, in_source)
        mender = Mender(self.store.scratch / f"mended-{self.upload_id}.jsonl")
        try:
            rejects = self._rejects(source, file, bulk_load.counts, mender)
            first = add_rejects(self.store, self.cursor, self.upload_id, (in_source(reject) for reject in rejects))
            found = bulk_load.told(first)
            return self._mended(source, head, in_source, mender, found) if mender.places.lines else found
        finally:
            mender.path.unlink(missing_ok=True)

    def _mended(
        self, source: Source, head: Head, in_source: Callable[[Reject], Reject], mender: Mender, found: Told
    ) -> Told:
        """The counts with those lines that were mended, read once more."""
        file = FlatFile(str(mender.path.resolve()), "json", longest_line=MAX_LINE_BYTES)
        again = self._bulk(source, head, file)
        rejects = self._placed(source, head, again.counts, mender.places)
        first = add_rejects(self.store, self.cursor, self.upload_id, (in_source(reject) for reject in rejects))
        return replace(
            found,
            accepted=found.accepted + again.counts.n_accepted,
            duplicate=found.duplicate + again.counts.n_duplicate,
            rejected=found.rejected - again.counts.n_read + again.counts.n_rejected,
            rejects=(*found.rejects, *first),
            notes=(*found.notes, f"half characters in {again.counts.n_read} rows became question marks"),
        )

    def _placed(self, source: Source, head: Head, counts: FlatCounts, places: Places) -> Iterator[Reject]:
        """Refused rows of a rewritten source at their place in the source."""
        if counts.n_rejected:
            refused = bulk.refused(self.cursor) if counts.plan is not None else _all(counts)
            table = Table(head.columns, head.delimiter) if head.shape == "csv" else None
            with source.open() as stream:
                yield from places.rejects(stream, _judged(refused), table)

    @property
    def reader(self) -> FlatReader:
        assert isinstance(self.file_format.reader, FlatReader)  # noqa: S101  # the dispatch of load_source
        return self.file_format.reader

    def _bulk(self, source: Source, head: Head, file: FlatFile) -> BulkLoad:
        with told(source.name):
            columns = read_columns(self.cursor, file)
        named = Head(head.name, head.shape, head.data, head.keys, tuple(columns.counts), head.delimiter)
        meaning = self._meaning(named, columns)
        with told(source.name):
            counts = bulk.load_flat(self.cursor, file, columns, meaning)
            inner = inner_names(self.cursor, file, _outers(file, columns, meaning))
        return BulkLoad(named, counts, counts.columns or columns, meaning, self.reader, inner)

    def _rewritten(self, source: Source, head: Head, in_source: Callable[[Reject], Reject]) -> Told:
        """The same, record by record into JSON lines first: an array, or a delimited table with bad rows."""
        path = self.store.scratch / f"table-{self.upload_id}.jsonl"
        places = Places()
        try:
            with source.open() as stream, path.open("wb") as out:
                records = (
                    rewrite_array(source, out, places)
                    if head.shape == "json_document"
                    else rewrite(stream, head.columns, head.delimiter, out, places)
                )
                refused = [in_source(reject) for reject in records]
            file = FlatFile(str(path.resolve()), "json", delimiter=head.delimiter, longest_line=MAX_LINE_BYTES)
            bulk_load = self._bulk(source, head, file)
            rejects = [
                *refused,
                *(in_source(reject) for reject in self._placed(source, head, bulk_load.counts, places)),
            ]
            first = add_rejects(self.store, self.cursor, self.upload_id, sorted(rejects, key=lambda r: r.line or 0))
        finally:
            path.unlink(missing_ok=True)
        return bulk_load.told(first, n_refused=len(refused))

    def _rejects(self, source: Source, file: FlatFile, counts: FlatCounts, mender: Mender) -> Iterator[Reject]:
        """Every refused row with its place; the file is walked only where there are any."""
        if not counts.n_rejected:
            return
        refused = bulk.refused(self.cursor) if counts.plan is not None else _all(counts)
        if file.kind == "parquet":
            yield from self._by_text(file, list(_judged(refused)))
            return
        with source.open() as stream:
            yield from json_rejects(stream, refused, mender.take)

    def _by_text(self, file: FlatFile, refused: list[Refused]) -> Iterator[Reject]:
        """A Parquet file has no lines; its rows are told by their text."""
        for start in range(0, len(refused), 1000):
            part = refused[start : start + 1000]
            texts = bulk.row_texts(self.cursor, file, [row[0] for row in part])
            for number, reason, detail in part:
                yield Reject(
                    None, None, reason, head_of(texts.get(number, "")), f"row {number}{', ' * bool(detail)}{detail}"
                )

    def _meaning(self, head: Head, columns: Columns) -> FlatMeaning:
        reader, options = self.reader, self.options
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
            source=self.file_format.name,
            upload_id=self.upload_id,
            now_ns=self.now_ns,
            table=reader.table,
            key=reader.key,
            vantage=reader.vantage,
            generation_basis=reader.generation_basis,
            sampling_rate=options.sampling_rate or options.mapping.sampling_rate or 1.0,
            timezone=options.mapping.timezone,
            origin_ns=options.origin_ns,
            attributes=tuple(sorted(name for name in extras if keeps and not is_content(name))),
            dimensions=options.mapping.dimensions if reader.table == "requests" else {},
            constants=reader.constants(head),
            identity=reader.identity,
        )


def _check_mapped(column: SourceColumn, head: Head) -> None:
    """A duration needs a unit; a source column that is not there is told by the notes instead."""
    if column.column.endswith("_ns") and not column.unit:
        raise UnusableFormat(
            f'{head.name}: the unit of column "{column.names[0]}" is not told. '
            f"Write {own_tables.told_with_unit({column.names[0]: own_tables.SHORT_NAMES[column.column]})} "
            "in the mapping file",
            code="unit_missing",
        )


def _all(counts: FlatCounts) -> Iterator[Refused]:
    return ((number, UNJUDGED, "") for number in range(1, counts.n_read + 1))


def _judged(refused: Iterator[Refused]) -> Iterator[Refused]:
    """Rows of a table in which no known column has a value have nothing that makes a request."""
    return ((number, "no_time" if reason == UNJUDGED else reason, detail) for number, reason, detail in refused)


@dataclass(frozen=True)
class BulkLoad:
    """One bulk reading: names as the source has them, what became of the rows, and what the columns meant."""

    head: Head
    counts: FlatCounts
    columns: Columns
    meaning: FlatMeaning
    reader: FlatReader
    inner: Mapping[str, int]  # dotted names within columns that are read in part, with the number of rows

    def told(self, first: tuple[Reject, ...], n_refused: int = 0) -> Told:
        """The counts as every kind of reader gives them.

        Args:
            n_refused: rows that were refused before the bulk reading.
        """
        return Told(
            read=self.counts.n_read + n_refused,
            accepted=self.counts.n_accepted,
            duplicate=self.counts.n_duplicate,
            rejected=self.counts.n_rejected + n_refused,
            rejects=first,
            not_understood=_not_understood(self.columns, self.meaning, self.reader, self.inner),
            notes=tuple(_notes(self.head, self.counts, self.meaning, self.reader)),
        )


def _outers(file: FlatFile, columns: Columns, meaning: FlatMeaning) -> list[str]:
    """Columns of objects of which only places are read."""
    names = {name for column in meaning.columns for name in column.names if name not in columns.counts}
    outers = {name.partition(".")[0] for name in names if "." in name}
    kinds = {name: columns.types.get(name, "") for name in sorted(outers) if name in columns.counts}
    is_typed = file.kind == "parquet"
    return [name for name, kind in kinds.items() if file.kind == "json" or (is_typed and kind.startswith("STRUCT"))]


def _not_understood(
    columns: Columns, meaning: FlatMeaning, reader: FlatReader, inner: Mapping[str, int]
) -> dict[str, int]:
    used = {name for column in meaning.columns for name in column.names} | set(meaning.dimensions.values())
    used |= {name.partition(".")[0] for name in used if name not in columns.counts} | set(reader.redundant)
    used |= set(reader.identity)
    above = {name[:end] for name in used for end, mark in enumerate(name) if mark == "."}
    below = {name: n for name, n in inner.items() if name not in above and name.rpartition(".")[0] in above}
    left = {name: n for name, n in (columns.counts | below).items() if name not in used and not is_content(name)}
    shown: dict[str, int] = {}
    for name, n in left.items():
        shown[shown_name(name)] = max(n, shown.get(shown_name(name), 0))
    return dict(sorted(shown.items(), key=lambda item: (-item[1], item[0])))


def _notes(head: Head, counts: FlatCounts, meaning: FlatMeaning, reader: FlatReader) -> Iterator[str]:
    if counts.n_no_numbers:
        are = (
            "value is no number (NaN or Infinity) and is"
            if counts.n_no_numbers == 1
            else ("values are no numbers (NaN or Infinity) and are")
        )
        yield f"{counts.n_no_numbers} {are} read as not known"
    if counts.columns is not None and counts.columns.has_more_names:
        yield f"the file has more than {MAX_NAMES} names; the rarest are not read"
    for name in counts.naive_times:
        yield f'times of "{name}" without a zone are read as {meaning.timezone}'
    for name, low, high in counts.clockless:
        yield (
            f'"{name}" counts from no known instant ({low:g} to {high:g}): its requests have no wall clock and belong '
            "to no week. start places them, such as --start 2026-03-02T10:00:00Z"
        )
    for name, unit in counts.relative:
        yield f'"{name}" counts from the start, in {unit}: 0 is read as {to_iso(meaning.origin_ns or 0)}'
    rates = [column.names[0] for column in meaning.columns if column.field == RATE and _is_there(column.names[0], head)]
    if rates:
        yield (
            f'sampling rates are those that rows state in "{shown_name(rates[0])}"; a row without one counts as kept at '
            f"{meaning.sampling_rate:g}, the rate of the whole file"
        )
    dropped = [shown_name(name) for name in head.columns if is_content(name) and name not in _used(meaning)]
    if dropped:
        yield f"not kept, for it may be content or credentials: {', '.join(dropped)}"
    used = _used(meaning)
    unitless = {name: short for name, short in own_tables.without_unit(head.columns).items() if name not in used}
    if unitless and reader.columns is own_tables.columns:
        yield (
            f"the unit of {', '.join(unitless)} is not in its name, so it is not read; map it, such as "
            f"{own_tables.told_with_unit(unitless)}"
        )
    missing = [column.names[0] for column in meaning.columns if not _is_there(column.names[0], head)]
    if missing and reader.columns is own_tables.columns:  # built-in names are there, so these are the mapping's
        yield f"the mapping names columns that the file does not have: {', '.join(missing)}"


def _used(meaning: FlatMeaning) -> set[str]:
    names = {name for column in meaning.columns for name in column.names}
    return names | {name.partition(".")[0] for name in names} | set(meaning.dimensions.values())


def _is_there(name: str, head: Head) -> bool:
    return name in head.columns or name.partition(".")[0] in head.columns
