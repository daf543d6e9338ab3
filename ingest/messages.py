"""OTLP protobuf messages into table spans: columns of a piece of them after the other, while the store takes the one before.

Input: messages with their places, in order. Output: SpanCounts; every reject has the byte offset of its message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ingest.assemble import Cancelling, Progress, SpanCounts, SpanOptions, stage_pieces
from ingest.errors import Cancelled, Reject, UnreadableInput
from ingest.formats.contract import Head, Source
from ingest.formats.otlp_columns import Columns, Piece
from ingest.formats.otlp_kernel import Kernel, plain
from ingest.formats.otlp_protobuf import Message, messages
from ingest.rejects import Rejects, in_order
from ingest.store.span_columns import promoted
from ingest.store.watch import watched

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

PIECE_SPANS = 245_760  # held in Python at once: two row groups, for the store gives a core no less than one
PIECE_BYTES = 192 << 20  # the same of messages with long texts
LARGE_BYTES = 256 << 20  # from here on it pays to load compiled code, which takes about a second
PACKED = 8  # bytes of spans for one of an archive, about
FEW_BYTES = 32 << 20  # smaller sources go through a stage, so several may make up one upload


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

        is_large = size >= FEW_BYTES
        kernel = kernel_for(size if source.packing == "none" else PACKED * size)
        return _taken(cursor, found, upload_id, options, is_large=is_large, kernel=kernel, cancelled=cancelled)

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
    return _taken(cursor, lambda: found, upload_id, options, is_large=False, kernel=plain(), cancelled=None)


def kernel_for(size: int) -> Kernel:
    """Compiled code for a large source, if the extra `protobuf` is installed.

    Args:
        size: bytes of the source.
    """
    if size >= LARGE_BYTES or "ingest.formats.otlp_compiled" in sys.modules:
        try:
            from ingest.formats.otlp_compiled import kernel
        except ImportError:
            return plain()
        return kernel()
    return plain()


def _taken(
    cursor: DuckDBPyConnection,
    found: Callable[[], Iterable[Message]],
    upload_id: str,
    options: SpanOptions,
    *,
    is_large: bool,
    kernel: Kernel,
    cancelled: Cancelling | None,
) -> SpanCounts:
    rejects = Rejects()
    names = promoted(options.mapping)

    def pieces(rejects: Rejects) -> Generator[Piece, None, None]:
        return _pieces(found(), names, rejects, cancelled, kernel)

    def again() -> Iterator[Piece]:
        return pieces(Rejects())

    with closing(one_ahead(pieces(rejects)) if is_large else pieces(rejects)) as told:
        counts = stage_pieces(cursor, told, again, upload_id, options, is_large=is_large)
    return replace(
        counts,
        read=counts.read + len(rejects),
        rejected=counts.rejected + len(rejects),
        rejects=in_order(counts.rejects, rejects),
    )


def _pieces(
    found: Iterable[Message],
    names: Sequence[str],
    rejects: Rejects,
    cancelled: Cancelling | None,
    kernel: Kernel,
) -> Generator[Piece, None, None]:
    """The messages in pieces; those that cannot be read are added to the rejects, in order."""
    columns = Columns(names, kernel)
    size, most = 0, PIECE_SPANS // 2  # the first piece is smaller, so that the store begins sooner
    taken: dict[int, Reject] = {}  # messages of the piece by their place, told as they are if they turn out broken
    faulty: list[Reject] = []  # messages between those of the piece

    def told(*broken: int) -> None:
        rejects.extend(sorted((*faulty, *(taken[place] for place in broken)), key=lambda reject: reject.offset or 0))
        taken.clear()
        faulty.clear()

    def piece() -> Piece:
        made = columns.piece()
        told(*made.broken)
        return made

    for message in found:
        if cancelled is not None and cancelled():
            raise Cancelled("the load was cancelled; nothing of it is stored")
        if message.fault is not None:
            faulty.append(message.reject(message.fault))
        else:
            try:
                columns.add(message.body, message.offset)
            except UnreadableInput:
                faulty.append(message.reject("bad_value"))
            else:
                taken[message.offset] = message.reject("bad_value")
                size += len(message.body)
        if size >= PIECE_BYTES or (columns.n_spans and max(columns.n_spans, len(faulty)) >= most):
            yield piece()
            size, most = 0, PIECE_SPANS
        elif len(faulty) >= most:
            told()
    if columns.n_spans:
        yield piece()
    told()


def one_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The items in order, the next of which is made in a thread of its own while one is in use.

    An error of the items is raised where its item would have come.
    """
    made: SimpleQueue[tuple[Literal["item", "error", "end"], Any]] = SimpleQueue()
    is_wanted = Semaphore()  # the next one is begun when the one before it was taken: no more than two are held
    is_over = Event()

    def run() -> None:
        try:
            while is_wanted.acquire() and not is_over.is_set():
                made.put(("item", next(items)))
        except StopIteration:
            made.put(("end", None))
        except BaseException as error:  # raised in the thread that asks for the item
            made.put(("error", error))

    thread = Thread(target=run, name="ahead")
    thread.start()
    try:
        while True:
            kind, value = made.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            is_wanted.release()
            yield value
            del value
    finally:
        is_over.set()
        is_wanted.release()
        thread.join()
