"""OTLP protobuf messages as columns: one row per span, what many spans share told once beside them.

Input: ExportTraceServiceRequest messages. Output: Piece, three frames that store/span_batch joins to raw spans.
Attribute values are text, told as OTLP JSON tells them: lists and maps are the JSON of arrayValue and kvlistValue, bytes
are base64. Bytes that are not UTF-8 become replacement characters, for an exporter that cuts a prompt in the middle of
a character has told the rest of the message well.
Source: OTLP 1.x, trace.proto and common.proto; protobuf encoding.

The protobuf library reads a message down to its spans, which stay bytes; those are read by otlp_wire, thousands at once.
What few spans have, or write otherwise than usual, is read by the library: events, lists, a span that is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from google.protobuf.message import DecodeError

from ingest.errors import UnreadableInput
from ingest.formats import otlp_alike
from ingest.formats import otlp_wire as wire
from ingest.formats.attributes import RESOURCE_PICKS
from ingest.formats.byte_slices import lists, slices
from ingest.formats.otlp_alike import Alike
from ingest.formats.otlp_chunk import Chunk
from ingest.formats.otlp_events import Events
from ingest.formats.otlp_kernel import Cut, Kernel, plain
from ingest.formats.otlp_library import KNOWN_BYTES, KnownAttributes, class_of, request_class, text_of
from ingest.formats.otlp_texts import decoded, texts_of_values
from ingest.formats.otlp_wire import Data, Ints
from ingest.formats.span_events import EVENT_TYPES

KNOWN_NAMES = 20_000  # of attributes, at the beginning of a piece
CHUNK_SPANS = 8_192  # that are read at once: their arrays stay in the cache of a core
CHUNK_BYTES = 16 << 20  # the same of spans with long texts

_SCHEMA: dict[str, Any] = {
    "place": pl.Int64(),
    "group": pl.Int32(),
    "shape": pl.Int32(),
    "vals": pl.List(pl.String()),
    "trace_id": pl.Binary(),
    "span_id": pl.Binary(),
    "parent_id": pl.Binary(),
    "trace_state": pl.String(),
    "name": pl.String(),
    "kind": pl.Int32(),
    "started": pl.UInt64(),
    "ended": pl.UInt64(),
    "status": pl.Int32(),
    "dropped": pl.UInt32(),
    **EVENT_TYPES,
}
_BYTES = {  # column -> tag
    "trace_id": wire.TRACE_ID,
    "span_id": wire.SPAN_ID,
    "parent_id": wire.PARENT_ID,
    "trace_state": wire.TRACE_STATE,
    "name": wire.NAME,
}
_NOTHING: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Piece:
    """Some messages as columns.

    `spans`: place (byte offset of the message), group and shape (rows of the other two), vals (texts of the values),
    ids as bytes, times in ns with 0 for unset, figures of events.
    `groups`: group, scope, the picks of the resource, extra (values of the promoted attributes of the resource).
    `shapes`: shape, names (list of attribute names, in the order of vals).
    `broken`: places of messages that cannot be read, of which nothing is told.
    """

    spans: pl.DataFrame
    groups: pl.DataFrame
    shapes: pl.DataFrame
    broken: tuple[int, ...] = ()


class Columns:
    """Messages on their way into a piece; a message that cannot be read leaves nothing behind.

    Args:
        promoted: names of resource attributes whose values are told with every span.
        kernel: reads what is written as usual.
    """

    def __init__(self, promoted: Sequence[str] = (), kernel: Kernel | None = None) -> None:
        self._kernel = kernel or plain()
        self._promoted = promoted
        self._known = KnownAttributes()
        self._events = Events()
        self._keys = wire.Keys()
        self._begin()

    def _begin(self) -> None:
        if len(self._keys.names) > KNOWN_NAMES:
            self._keys = wire.Keys()
        self._numbered = _Numbered(self._known, self._keys)
        self._chunks: list[pl.DataFrame] = []
        self._broken: set[int] = set()
        self._groups: dict[tuple[bytes, ...], int] = {}
        self._cut_groups: dict[tuple[bytes, bytes], int] = {}
        self._group_rows: list[tuple[object, ...]] = []
        self._shapes: dict[tuple[int, ...], int] = {}
        self._clear()

    def _clear(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0  # of the parts
        self._starts: list[Ints] = []  # of spans, within the parts
        self._ends: list[Ints] = []
        self._runs: list[tuple[int, int, int]] = []  # place, group and number of spans that follow one another
        self._n_open = 0

    @property
    def n_spans(self) -> int:
        """Spans since the latest piece."""
        return sum(chunk.height for chunk in self._chunks) + self._n_open

    def add(self, body: bytes, place: int) -> None:
        """Takes one message; one of which a span cannot be read is told as broken by the piece.

        Args:
            place: told with every span of it.

        Raises:
            UnreadableInput: the bytes are no such message.
        """
        try:
            cuts = self._kernel.cut(body)
            if cuts is None:
                parts, runs = self._by_library(body)
            else:
                parts, runs = [body], [(self._group_of(cut), cut.starts, cut.ends) for cut in cuts]
        except DecodeError as error:
            raise UnreadableInput(
                f"the body is no protobuf ExportTraceServiceRequest: {error}", code="malformed_body"
            ) from error
        for group, starts, ends in runs:
            self._starts.append(starts + self._size)
            self._ends.append(ends + self._size)
            self._runs.append((place, group, len(starts)))
            self._n_open += len(starts)
        self._parts += parts
        self._size += sum(map(len, parts))
        if self._n_open >= CHUNK_SPANS or self._size >= CHUNK_BYTES:
            self._close_chunk()

    def piece(self) -> Piece:
        """The messages since the latest piece."""
        self._close_chunk()
        spans = pl.concat(self._chunks, rechunk=False) if self._chunks else pl.DataFrame(schema=_SCHEMA)
        if self._broken:
            spans = spans.filter(~pl.col("place").is_in(list(self._broken)))
        resource = dict.fromkeys(RESOURCE_PICKS, pl.String())
        groups = {"group": pl.Int32(), "scope": pl.String()} | resource | {"extra": pl.List(pl.String())}
        names = [(number, [self._keys.names[i] for i in shape]) for shape, number in self._shapes.items()]
        made = Piece(
            spans,
            pl.DataFrame(self._group_rows, schema=groups, orient="row"),
            pl.DataFrame(names, schema={"shape": pl.Int32(), "names": pl.List(pl.String())}, orient="row"),
            tuple(sorted(self._broken)),
        )
        self._begin()
        return made

    def _by_library(self, body: bytes) -> tuple[list[bytes], list[tuple[int, Ints, Ints]]]:
        """The spans of a message; group, starts and ends of those of each scope."""
        parts: list[bytes] = []
        runs: list[tuple[int, Ints, Ints]] = []
        size = 0
        for resource_spans in request_class().FromString(body).resource_spans:
            resource = tuple(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                spans = list(scope_spans.spans)
                if spans:
                    sizes = np.fromiter(map(len, spans), np.int64, len(spans))
                    ends = np.cumsum(sizes) + size
                    runs.append((self._group(resource, scope_spans.scope.name), ends - sizes, ends))
                    parts += spans
                    size = int(ends[-1])
        return parts, runs

    def _group_of(self, cut: Cut) -> int:
        key = cut.resource, cut.scope
        if key not in self._cut_groups:
            resource = tuple(class_of("Resource").FromString(cut.resource).attributes)
            self._cut_groups[key] = self._group(resource, class_of("InstrumentationScope").FromString(cut.scope).name)
        return self._cut_groups[key]

    def _group(self, resource: tuple[bytes, ...], scope: bytes) -> int:
        key = (scope, *resource)
        if key not in self._groups:
            # of a name told twice the first stands
            told: dict[str | None, str] = dict(map(self._known.__getitem__, reversed(resource)))
            picks = [next((told[n] for n in names if told.get(n)), None) for names in RESOURCE_PICKS.values()]
            number = self._groups[key] = len(self._groups)
            extra = [told.get(name, "") for name in self._promoted]
            self._group_rows.append((number, text_of(scope) or None, *picks, extra))
        return self._groups[key]

    def _close_chunk(self) -> None:
        if self._n_open:
            places, groups, counts = np.array(self._runs, np.int64).T
            spots = np.concatenate(self._starts), np.concatenate(self._ends)
            self._chunks += self._frames(*spots, np.repeat(places, counts), np.repeat(groups, counts))
        self._clear()

    def _frames(self, starts: Ints, ends: Ints, places: Ints, groups: Ints) -> list[pl.DataFrame]:
        whole = b"".join((*self._parts, bytes(wire.MARGIN)))
        n_frames = -(-len(starts) // wire.MOST_AT_ONCE)
        some = [slice(i * len(starts) // n_frames, (i + 1) * len(starts) // n_frames) for i in range(n_frames)]
        return [self._frame(Data(whole, starts[part], ends[part]), places[part], groups[part]) for part in some]

    def _frame(self, data: Data, places: Ints, groups: Ints) -> pl.DataFrame:
        alike = self._kernel.read(data, self._keys)
        if not len(alike.rest):
            return self._of_alike(data, alike, places, groups)
        spots = zip(data.starts[alike.rest].tolist(), data.ends[alike.rest].tolist(), strict=True)
        others = self._of_others([data.bytes[a:z] for a, z in spots], places[alike.rest], groups[alike.rest])
        if not len(alike.rows):
            return others
        order = np.empty(len(places), np.int64)
        order[np.concatenate([alike.rows, alike.rest])] = np.arange(len(places))
        told = self._of_alike(data, alike, places[alike.rows], groups[alike.rows])
        return pl.concat([told, others])[pl.Series(order)]

    def _of_alike(self, data: Data, alike: Alike, places: Ints, groups: Ints) -> pl.DataFrame:
        chunk = Chunk(data, alike.fields, alike.events, alike.links, places)
        shapes, counts = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        for rows, names in alike.lists:
            shapes[rows], counts[rows] = self._shapes.setdefault(names, len(self._shapes)), len(names)
        first = np.cumsum(counts) - counts
        told = {kind: (first[of.rows] + of.at, of.starts, of.sizes) for kind, of in alike.attributes.items()}
        odd = [alike.attributes[kind] for kind in otlp_alike.LIBRARY if kind in alike.attributes]
        of_kinds = [self._others(chunk, wire.Places(of.rows, of.starts, of.sizes)) for of in odd]
        texts = [text for pairs in of_kinds for _, text in pairs]
        at = np.concatenate([_NOTHING, *(first[of.rows] + of.at for of in odd)])
        vals = texts_of_values(self._kernel, data, told, at, texts)
        return self._made(chunk, groups, shapes, lists(vals, counts))

    def _of_others(self, spans: list[bytes], places: Ints, groups: Ints) -> pl.DataFrame:
        data = Data.of(spans)
        walked = wire.walk(data)
        if walked.is_odd.any():
            for row in np.flatnonzero(walked.is_odd).tolist():
                spans[row] = self._anew(spans[row], int(places[row]))
            data = Data.of(spans)
            walked = wire.walk(data)
        chunk = Chunk(data, walked.fields, walked.events, walked.links, places)
        shapes, vals = self._attributes(chunk, walked.attributes)
        return self._made(chunk, groups, shapes, vals)

    def _made(self, chunk: Chunk, groups: Ints, shapes: Ints, vals: pl.Series) -> pl.DataFrame:
        columns = {"place": chunk.places, "group": groups, "shape": shapes, "vals": vals, **chunk.columns()}
        columns |= {name: self._slices(chunk, tag) for name, tag in _BYTES.items()}
        columns |= {name: decoded(columns[name]) for name in ("name", "trace_state")}
        columns |= self._events.columns(chunk)
        self._broken |= chunk.broken
        return pl.DataFrame(columns, schema=_SCHEMA)

    def _anew(self, span: bytes, place: int) -> bytes:
        """The span as the library writes it, without what it does not know; nothing of one that cannot be read."""
        try:
            read = class_of("Span").FromString(span)
        except DecodeError:
            self._broken.add(place)
            return b""
        read.DiscardUnknownFields()
        told: bytes = read.SerializeToString()
        return told

    def _attributes(self, chunk: Chunk, places: wire.Places) -> tuple[Ints, pl.Series]:
        """Shape of every span and its values."""
        told, rows = wire.values(chunk.data, places), places.rows
        names = self._keys.numbers(chunk.data, told.key_starts, told.key_sizes)
        odd = np.flatnonzero(told.kinds == 0)
        others = self._others(chunk, wire.Places(rows[odd], places.starts[odd], places.sizes[odd]))
        names[odd] = [number for number, _ in others]
        by_kind = {kind: np.flatnonzero(told.kinds == kind) for kind in otlp_alike.KINDS}
        parts = {kind: (at, told.starts[at], told.sizes[at]) for kind, at in by_kind.items()}
        vals = texts_of_values(self._kernel, chunk.data, parts, odd, [text for _, text in others])
        if len(odd) and (names[odd] < 0).any():
            is_told = names >= 0
            rows, names, vals = rows[is_told], names[is_told], vals.filter(pl.Series(is_told))
        counts = np.bincount(rows, minlength=len(chunk.places))
        return self._shapes_of(names, counts), lists(vals, counts)

    def _others(self, chunk: Chunk, places: wire.Places) -> list[tuple[int, str]]:
        """Number of the name and text of the attributes that the library reads, -1 for one without value."""
        pairs = chunk.messages(places)
        try:
            return list(map(self._numbered.__getitem__, pairs))
        except DecodeError:
            return [self._other(chunk, pair, row) for pair, row in zip(pairs, places.rows.tolist(), strict=True)]

    def _other(self, chunk: Chunk, pair: bytes, row: int) -> tuple[int, str]:
        try:
            return self._numbered[pair]
        except DecodeError:
            chunk.broken.add(int(chunk.places[row]))
            return -1, ""

    def _slices(self, chunk: Chunk, tag: int) -> pl.Series:
        return slices(chunk.data.bytes, self._kernel.views(chunk.data.bytes, *chunk.fields[tag]))

    def _shapes_of(self, names: Ints, counts: Ints) -> Ints:
        """Number of the list of names of every span."""
        ends = np.cumsum(counts)
        starts = ends - counts
        place = np.arange(len(names)) - np.repeat(starts, counts)
        sums = np.concatenate([[0], np.cumsum((names + 1) * ((2 * place + 1) * wire.SPREAD))])
        _, first, inverse = np.unique(sums[ends] - sums[starts], return_index=True, return_inverse=True)
        # spans of one sum have the list of the first of them, but for those that only happen to have its sum
        alike = first[inverse]
        is_same = counts[alike] == counts
        same = names[np.minimum(np.repeat(starts[alike], counts) + place, max(len(names) - 1, 0))] == names
        is_same &= np.bincount(np.repeat(np.arange(len(counts)), counts), same, len(counts)) == counts
        numbers = np.array([self._shape(names, starts[i], ends[i]) for i in first.tolist()], np.int64)[inverse]
        for row in np.flatnonzero(~is_same).tolist():
            numbers[row] = self._shape(names, starts[row], ends[row])
        return numbers

    def _shape(self, names: Ints, start: int, end: int) -> int:
        return self._shapes.setdefault(tuple(names[start:end].tolist()), len(self._shapes))


class _Numbered(dict[bytes, tuple[int, str]]):
    """Number of the name and text of attributes by their bytes; -1 for one without value."""

    def __init__(self, known: KnownAttributes, keys: wire.Keys) -> None:
        super().__init__()
        self._known, self._keys = known, keys

    def __missing__(self, data: bytes) -> tuple[int, str]:
        name, text = self._known[data]
        told = -1 if name is None else self._keys.number(name), text
        if len(data) <= KNOWN_BYTES:
            self[data] = told
        return told
