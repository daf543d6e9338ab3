"""OTLP protobuf messages into table spans: columns of a piece of them after the other, while the store takes the one before.

Input: messages with their places, in order. Output: SpanCounts; every reject has the byte offset of its message.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from queue import Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ingest.assemble import Cancelling, Progress, SpanCounts, SpanOptions, stage_pieces
from ingest.errors import Cancelled, Reject, UnreadableInput
from ingest.formats.contract import Head, Source
from ingest.formats.otlp_columns import Columns, Piece
from ingest.formats.otlp_protobuf import Message, messages
from ingest.store.span_columns import promoted
from ingest.store.watch import watched

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

PIECE_SPANS = 65_536  # held in Python at once; the store takes a piece at a fixed cost of some 50 ms
PIECE_BYTES = 64 << 20  # the same of messages with long texts
FEW_BYTES = 32 << 20  # smaller sources go through a stage, so several may make up one upload
WAIT_S = 0.2


def load_messages(
    cursor: DuckDBPyConnection,
    source: Source,
    head: Head,
    upload_id: str,
    options: SpanOptions,
    *,
    progress: Progress | None = None,
    cancelled: Cancelling | None = None,
) -> SpanCounts:
    """Counts of one source whose spans are now in the store; requests follow with `assemble`.

    Args:
        progress: told (bytes done, bytes in all) now and then, from this thread.
        cancelled: asked now and then; True ends the load.

    Raises:
        Cancelled: the load was ended by `cancelled`; the caller rolls back.
        UnreadableInput: the archive is damaged; the caller rolls back and loads an unpacked copy.
    """
    size = source.size_bytes

    def work() -> SpanCounts:
        def found() -> Iterator[Message]:
            with source.open() as stream:
                yield from messages(stream, head.data)

        return _taken(cursor, found, upload_id, options, is_large=size >= FEW_BYTES, cancelled=cancelled)

    tick = None if progress is None else lambda done: progress(min(done, size), size)
    counts = watched(cursor, work, tick=tick, cancelled=cancelled)
    if progress is not None:
        progress(size, size)
    return counts


def stage_messages(
    cursor: DuckDBPyConnection, bodies: Iterable[bytes], upload_id: str, options: SpanOptions
) -> SpanCounts:
    """Counts of some bodies whose spans are now in the store; requests follow with `assemble`."""
    found = [Message(body, number) for number, body in enumerate(bodies)]
    return _taken(cursor, lambda: found, upload_id, options, is_large=False, cancelled=None)


def _taken(
    cursor: DuckDBPyConnection,
    found: Callable[[], Iterable[Message]],
    upload_id: str,
    options: SpanOptions,
    *,
    is_large: bool,
    cancelled: Cancelling | None,
) -> SpanCounts:
    rejects: list[Reject] = []
    names = promoted(options.mapping)
    pieces = _pieces(found(), names, rejects, cancelled)

    def again() -> Iterator[Piece]:
        return _pieces(found(), names, [], cancelled)

    with closing(one_ahead(pieces) if is_large else pieces) as told:
        counts = stage_pieces(cursor, told, again, upload_id, options, is_large=is_large)
    return replace(
        counts,
        read=counts.read + len(rejects),
        rejected=counts.rejected + len(rejects),
        rejects=tuple(sorted((*counts.rejects, *rejects), key=lambda reject: reject.offset or 0)),
    )


def _pieces(
    found: Iterable[Message], names: Sequence[str], rejects: list[Reject], cancelled: Cancelling | None
) -> Generator[Piece, None, None]:
    """The messages in pieces; those that cannot be read are added to the rejects."""
    columns = Columns(names)
    size = 0
    taken: dict[int, Reject] = {}  # messages of the piece by their place, told as they are if they turn out broken

    def piece() -> Piece:
        made = columns.piece()
        rejects.extend(taken[place] for place in made.broken)
        taken.clear()
        return made

    for message in found:
        if cancelled is not None and cancelled():
            raise Cancelled("the load was cancelled; nothing of it is stored")
        if message.fault is not None:
            rejects.append(message.reject(message.fault))
            continue
        try:
            columns.add(message.body, message.offset)
        except UnreadableInput:
            rejects.append(message.reject("bad_value"))
            continue
        taken[message.offset] = message.reject("bad_value")
        size += len(message.body)
        if columns.n_spans >= PIECE_SPANS or size >= PIECE_BYTES:
            yield piece()
            size = 0
    if columns.n_spans:
        yield piece()


def one_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The items in order, the next of which is made in a thread of its own while one is in use.

    An error of the items is raised where its item would have come.
    """
    made: Queue[tuple[Literal["item", "error", "end"], Any]] = Queue(1)
    is_over = Event()

    def put(kind: Literal["item", "error", "end"], value: Any) -> None:
        while not is_over.is_set():
            try:
                made.put((kind, value), timeout=WAIT_S)
            except Full:
                continue
            return

    def run() -> None:
        try:
            for item in items:
                put("item", item)
                if is_over.is_set():
                    return
            put("end", None)
        except BaseException as error:  # raised in the thread that asks for the item
            put("error", error)

    thread = Thread(target=run, name="ahead")
    thread.start()
    try:
        while True:
            kind, value = made.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        is_over.set()
        thread.join()
