"""Spans of one trace -> one request with its stages.

Input: OTLP JSON files, read by SQL, and RawSpan batches of the Python readers; both end in table `spans`.
Output: rows of `requests` and `calls` for every trace that got or lost a span.

Steps, all inside the transaction of the given cursor (Store.writing):
    load_spans or stage_spans   new spans into the store, rejects, duplicates; their traces are noted as pending
    assemble                    every pending trace -> its request row, anew, from all its spans in the store
    forget_spans                takes the spans of an upload out again; their traces are noted as pending
Pending traces stand in the store, so spans may be durable before their requests are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ingest.errors import Reject
from ingest.formats.contract import RawSpan, Source
from ingest.mapping import Mapping

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ingest.store.database import Store

Progress = Callable[[int, int], None]  # bytes done, bytes in all
Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class SpanOptions:
    """How spans are read.

    `mapping`: a house's own names, before the built-in ones. `attributes`: "all" keeps unmapped attributes as JSON.
    `sampling_rate`: share of traces that the source kept; None: that of the mapping, else of the trace state.
    `source`: name of the format, for column `source` of requests.
    """

    mapping: Mapping = field(default_factory=Mapping)
    attributes: Literal["all", "mapped"] = "all"
    sampling_rate: float | None = None
    source: str = "otlp_json"


@dataclass(frozen=True)
class SpanCounts:
    """What became of the spans of one source: read = accepted + duplicate + rejected.

    A line that cannot be read counts as one rejected span. `duplicate`: spans that stood already, or were told twice.
    `replaced`: spans among them whose later telling was better and took the place of the first.
    `rejects`: every rejected span, in source order. `not_understood`: attribute names that no field holds, with the
    number of spans that carry them, most frequent first. `notes`: sentences a reader should know.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    replaced: int = 0
    rejects: tuple[Reject, ...] = ()
    not_understood: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssemblyCounts:
    """What an assembly made: traces looked at, request rows and call rows written, traces that hold no request."""

    traces: int = 0
    requests: int = 0
    calls: int = 0
    without_request: int = 0


def load_spans(
    store: Store,
    cursor: DuckDBPyConnection,
    source: Source,
    framing: Literal["lines", "document"],
    upload_id: str,
    options: SpanOptions,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> SpanCounts:
    """Counts of one OTLP JSON source whose spans are now in the store; requests follow with `assemble`.

    Args:
        store: gives the folder for spooled sources.
        cursor: of `store.writing()`; everything happens in its transaction.
        framing: "lines" is one export request a line; "document" is one or several JSON values, however laid out.
        progress: told (bytes done, bytes in all) now and then, from this thread or another.
        cancelled: asked now and then; True ends the load.

    Raises:
        Cancelled: the load was ended by `cancelled`; the caller rolls back.
        UnreadableInput: the source cannot be read at all.
    """
    raise NotImplementedError


def stage_spans(
    cursor: DuckDBPyConnection, batch: Sequence[RawSpan], upload_id: str, options: SpanOptions
) -> SpanCounts:
    """Counts of one batch of spans from a Python reader, now in the store; requests follow with `assemble`.

    The same rules as for OTLP JSON: rejects, duplicates, names. A batch of some thousands is cheap per span; one span
    at a time is not.
    """
    raise NotImplementedError


def assemble(cursor: DuckDBPyConnection, *, cancelled: Cancelled | None = None) -> AssemblyCounts:
    """Makes the request and call rows of all pending traces anew, from all their spans in the store."""
    raise NotImplementedError


def forget_spans(cursor: DuckDBPyConnection, upload_id: str) -> int:
    """Number of spans of an upload taken out of the store; `assemble` then mends the requests they belonged to."""
    raise NotImplementedError
