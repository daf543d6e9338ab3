"""What a source format is: how it is recognized and how its rows are read.

Three kinds of reader, one per shape of source; a format has exactly one of them:

    FlatReader    one request per row, read in bulk by SQL (JSON lines, CSV, Parquet)
    SpanReader    OTLP, JSON or protobuf, read in bulk and assembled into requests
    RowReader     everything else: Python yields RawRequest or RawSpan, a batch at a time

and Refusal for what is recognized but holds no requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ingest.formats.unread import Unread

HEAD_BYTES = 65_536  # what a sniffer sees, unpacked

Shape = Literal["json_lines", "json_document", "csv", "parquet", "protobuf", "text", "empty", "binary"]


@dataclass(frozen=True)
class Head:
    """The start of an unpacked source.

    `keys`: names of JSON objects of depth 1 to 3, dotted (`resourceSpans`, `metadata.usage`), found by a tokenizer
    that bears truncation; for an array or for lines they are those of the first element. `columns`: header of a CSV
    or column names of a Parquet file. `name`: file name, never decisive.
    """

    name: str
    shape: Shape
    data: bytes
    keys: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    delimiter: str = ","


@dataclass(frozen=True)
class RawSpan:
    """One span as reported, attribute values as text; `is_made`: by its reader above others, it stands in no source."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int  # 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer
    start_ns: int
    end_ns: int
    status_code: int  # 0 unset, 1 ok, 2 error
    attributes: Mapping[str, str]
    resource: Mapping[str, str] = field(default_factory=dict)
    scope: str | None = None
    events: tuple[tuple[str, int, Mapping[str, str]], ...] = ()  # name, instant, attributes
    dropped_events: int = 0
    trace_state: str | None = None
    line: int | None = None
    is_made: bool = False


@dataclass(frozen=True)
class RawRequest:
    """One request under canonical column names (ingest/schema.REQUESTS); missing names are null.

    `calls` holds the model calls under the names of schema.CALLS where there is more than one.
    """

    values: Mapping[str, object]
    line: int | None = None
    calls: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True)
class RawReject:
    """One row that cannot be: reason of errors.REJECT_REASONS, the head of the row, and what is wrong with it."""

    line: int | None
    offset: int | None
    reason: str
    head: str
    detail: str = ""


@dataclass(frozen=True)
class RawNote:
    """A sentence that the receipt of the source shows; the same one is told once."""

    says: str


@dataclass(frozen=True)
class RawRun:
    """One run of a load generator whose requests the source holds, with the time that the generator says it took.

    `duration_ns`: as its own figures are divided by; None where the source does not say it.
    """

    duration_ns: int | None


RawRow = RawSpan | RawRequest | RawReject | RawNote | RawRun


@dataclass(frozen=True)
class Source:
    """An opened input: the path of the unpacked or packed file, a name, and how to read it again from the start.

    `open()` gives the UNPACKED bytes; `path` is the file as it lies on disk (DuckDB unpacks .gz and .zst itself
    if `packing` says so).
    """

    path: Path
    name: str
    packing: Literal["none", "gzip", "zstd"]
    size_bytes: int
    open: Callable[[], IO[bytes]]
    timezone: str = "UTC"  # IANA zone of times without zone, as the mapping file says
    start_ns: int | None = None  # where times that count from the start of a run begin, as the user says
    unread: Unread | None = field(default=None, compare=False)  # who counts the names that the reader does not read

    @property
    def looked_ahead(self) -> Source:
        """The same, for a reading before the one that gives the rows: its names are not counted."""
        return replace(self, unread=None)


@dataclass(frozen=True)
class SourceColumn:
    """One canonical column of a flat format and the source columns it may come from, best first.

    `column`: a name of schema.REQUESTS, or one that columns are worked out from: `first_output_ns` (an instant),
    `tpot_ns`, `status` (text or HTTP status), `retries`. `names`: a dot leads into a JSON object, unless the source
    has a column of the whole name. `unit`: of a duration; "time" is an instant, ISO text or an epoch number whose unit
    all rows decide; an instant with another unit counts in it where no epoch fits and the user tells the start. `is_zero_absent`: the source writes 0 where it measured nothing. `prefix` goes before a text.
    Several entries of one column are alternatives, best first.
    """

    column: str
    names: tuple[str, ...]
    unit: Literal["", "s", "ms", "us", "ns", "time"] = ""
    is_zero_absent: bool = False
    prefix: str = ""


@dataclass(frozen=True)
class FlatReader:
    """Bulk reading of one request per row; `columns` answers which source column gives which canonical one.

    It is given the head with `columns` set to all names that occur in the source. `table`: where the rows go.
    `key`: "trace" where a trace id is one request in every form of the source, else "row": request id and start, and
    where there is no id the content of the row. `vantage`: where times were measured. `generation_basis`: how a stated
    generation time was measured. `redundant`: columns that say nothing further. `constants`: text columns that are the
    same in every row and no source column gives (a scenario that only the file's name tells). `identity`: columns that
    together tell one request from another, where the source has no id.
    """

    columns: Callable[[Head], tuple[SourceColumn, ...]]
    table: Literal["requests", "replica_hours"] = "requests"
    key: Literal["trace", "row"] = "row"
    vantage: str | None = None
    generation_basis: Literal["engine", "last_token", "response_end"] = "last_token"
    redundant: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    constants: Callable[[Head], Mapping[str, str]] = lambda head: {}  # noqa: ARG005


@dataclass(frozen=True)
class SpanReader:
    """Bulk reading of OTLP: JSON lines, JSON documents, or messages of protobuf."""

    framing: Literal["lines", "document", "messages"]


@dataclass(frozen=True)
class RowReader:
    """Reading in Python; yields rows and rejects in source order.

    `redundant`: patterns of names (dotted) that are known to say nothing further; others that `read` does not look at
    are told by the receipt.
    """

    read: Callable[[Source, Head], Iterator[RawRow]]
    redundant: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Recognized, and of no use: `says` names the file that would work."""

    says: Callable[[Head], str]


@dataclass(frozen=True)
class Format:
    """One source format; `sniff` answers 0 (no) to 1 (certain)."""

    name: str
    title: str
    says: str
    sniff: Callable[[Head], float]
    reader: FlatReader | SpanReader | RowReader | Refusal
