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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from google.protobuf.message import DecodeError

from ingest.errors import UnreadableInput
from ingest.formats import otlp_alike
from ingest.formats import otlp_wire as wire
from ingest.formats.attributes import RESOURCE_PICKS
from ingest.formats.byte_slices import slices
from ingest.formats.otlp_alike import Alike
from ingest.formats.otlp_library import KNOWN_BYTES, KnownAttributes, class_of, request_class, text_of, texts_of
from ingest.formats.otlp_wire import Data, Ints
from ingest.formats.span_events import EVENT_TYPES, Attributes, event_figures

KNOWN_NAMES = 20_000  # of attributes, at the beginning of a piece
CHUNK_SPANS = 8_192  # that are read at once: their arrays stay in the cache of a core

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
# a double between these is written alike by everyone; beyond, the exponent is not
_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16


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
    """

    def __init__(self, promoted: Sequence[str] = ()) -> None:
        self._promoted = promoted
        self._known = KnownAttributes()
        self._keys = wire.Keys()
        self._begin()

    def _begin(self) -> None:
        if len(self._keys.names) > KNOWN_NAMES:
            self._keys = wire.Keys()
        self._numbered = _Numbered(self._known, self._keys)
        self._chunks: list[pl.DataFrame] = []
        self._broken: set[int] = set()
        self._groups: dict[tuple[bytes, ...], int] = {}
        self._group_rows: list[tuple[object, ...]] = []
        self._shapes: dict[tuple[int, ...], int] = {}
        self._clear()

    def _clear(self) -> None:
        self._spans: list[bytes] = []
        self._runs: list[tuple[int, int, int]] = []  # place, group and number of spans that follow one another

    @property
    def n_spans(self) -> int:
        """Spans since the latest piece."""
        return sum(chunk.height for chunk in self._chunks) + len(self._spans)

    def add(self, body: bytes, place: int) -> None:
        """Takes one message; one of which a span cannot be read is told as broken by the piece.

        Args:
            place: told with every span of it.

        Raises:
            UnreadableInput: the bytes are no such message.
        """
        try:
            read = list(self._read(body))
        except DecodeError as error:
            raise UnreadableInput(
                f"the body is no protobuf ExportTraceServiceRequest: {error}", code="malformed_body"
            ) from error
        for group, spans in read:
            self._spans += spans
            self._runs.append((place, group, len(spans)))
        if len(self._spans) >= CHUNK_SPANS:
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

    def _read(self, body: bytes) -> Iterator[tuple[int, list[bytes]]]:
        for resource_spans in request_class().FromString(body).resource_spans:
            resource = tuple(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                spans = list(scope_spans.spans)
                if spans:
                    yield self._group(resource, scope_spans.scope.name), spans

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
        if self._runs:
            places, groups, counts = np.array(self._runs, np.int64).T
            places, groups = np.repeat(places, counts), np.repeat(groups, counts)
            n_parts = -(-len(self._spans) // wire.MOST_AT_ONCE)
            for i in range(n_parts):
                part = slice(i * len(self._spans) // n_parts, (i + 1) * len(self._spans) // n_parts)
                self._chunks.append(self._frame(self._spans[part], places[part], groups[part]))
        self._clear()

    def _frame(self, spans: list[bytes], places: Ints, groups: Ints) -> pl.DataFrame:
        data = Data(spans)
        alike = otlp_alike.read(data, self._keys)
        if not len(alike.rest):
            return self._of_alike(data, alike, places, groups)
        rest = [spans[row] for row in alike.rest.tolist()]
        others = self._of_others(rest, places[alike.rest], groups[alike.rest])
        if not len(alike.rows):
            return others
        order = np.empty(len(spans), np.int64)
        order[np.concatenate([alike.rows, alike.rest])] = np.arange(len(spans))
        told = self._of_alike(data, alike, places[alike.rows], groups[alike.rows])
        return pl.concat([told, others])[pl.Series(order)]

    def _of_alike(self, data: Data, alike: Alike, places: Ints, groups: Ints) -> pl.DataFrame:
        chunk = _Chunk(data, alike.fields, alike.events, alike.links, places)
        shapes, counts = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        for rows, names in alike.lists:
            shapes[rows], counts[rows] = self._shapes.setdefault(names, len(self._shapes)), len(names)
        first = np.cumsum(counts) - counts
        told = {kind: (first[of.rows] + of.at, of.starts, of.sizes) for kind, of in alike.attributes.items()}
        odd = [alike.attributes[kind] for kind in otlp_alike.LIBRARY if kind in alike.attributes]
        of_kinds = [self._others(chunk, wire.Places(of.rows, of.starts, of.sizes)) for of in odd]
        texts = [text for pairs in of_kinds for _, text in pairs]
        at = np.concatenate([_NOTHING, *(first[of.rows] + of.at for of in odd)])
        vals = _texts(data, told, at, texts)
        return self._made(chunk, groups, shapes, _lists(vals, counts))

    def _of_others(self, spans: list[bytes], places: Ints, groups: Ints) -> pl.DataFrame:
        data = Data(spans)
        walked = wire.walk(data)
        if walked.is_odd.any():
            for row in np.flatnonzero(walked.is_odd).tolist():
                spans[row] = self._anew(spans[row], int(places[row]))
            data = Data(spans)
            walked = wire.walk(data)
        chunk = _Chunk(data, walked.fields, walked.events, walked.links, places)
        shapes, vals = self._attributes(chunk, walked.attributes)
        return self._made(chunk, groups, shapes, vals)

    def _made(self, chunk: _Chunk, groups: Ints, shapes: Ints, vals: pl.Series) -> pl.DataFrame:
        columns = {"place": chunk.places, "group": groups, "shape": shapes, "vals": vals, **_fields(chunk)}
        columns |= {name: slices(chunk.data.bytes, *chunk.fields[tag]) for name, tag in _BYTES.items()}
        columns |= {name: _decoded(columns[name]) for name in ("name", "trace_state")}
        columns |= self._events(chunk)
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

    def _attributes(self, chunk: _Chunk, places: wire.Places) -> tuple[Ints, pl.Series]:
        """Shape of every span and its values."""
        told, rows = wire.values(chunk.data, places), places.rows
        names = self._keys.numbers(chunk.data, told.key_starts, told.key_sizes)
        odd = np.flatnonzero(told.kinds == 0)
        others = self._others(chunk, wire.Places(rows[odd], places.starts[odd], places.sizes[odd]))
        names[odd] = [number for number, _ in others]
        by_kind = {kind: np.flatnonzero(told.kinds == kind) for kind in otlp_alike.KINDS}
        parts = {kind: (at, told.starts[at], told.sizes[at]) for kind, at in by_kind.items()}
        vals = _texts(chunk.data, parts, odd, [text for _, text in others])
        if len(odd) and (names[odd] < 0).any():
            is_told = names >= 0
            rows, names, vals = rows[is_told], names[is_told], vals.filter(pl.Series(is_told))
        counts = np.bincount(rows, minlength=len(chunk.places))
        return self._shapes_of(names, counts), _lists(vals, counts)

    def _others(self, chunk: _Chunk, places: wire.Places) -> list[tuple[int, str]]:
        """Number of the name and text of the attributes that the library reads, -1 for one without value."""
        pairs = chunk.messages(places)
        try:
            return list(map(self._numbered.__getitem__, pairs))
        except DecodeError:
            return [self._other(chunk, pair, row) for pair, row in zip(pairs, places.rows.tolist(), strict=True)]

    def _other(self, chunk: _Chunk, pair: bytes, row: int) -> tuple[int, str]:
        try:
            return self._numbered[pair]
        except DecodeError:
            chunk.broken.add(int(chunk.places[row]))
            return -1, ""

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

    def _events(self, chunk: _Chunk) -> dict[str, list[object]]:
        """Figures of the events of every span."""
        events, links = chunk.events, chunk.links
        told: dict[int, list[Any]] = {}
        for row, event in zip(events.rows.tolist(), chunk.messages(events), strict=True):
            if (read := chunk.read("Event", event, row)) is not None:
                told.setdefault(row, []).append(read)
        for row, link in zip(links.rows.tolist(), chunk.messages(links), strict=True):
            chunk.read("Link", link, row)
        columns: dict[str, list[object]] = {name: [None] * len(chunk.places) for name in EVENT_TYPES}
        for row, read in told.items():
            try:
                figures = event_figures(map(self._event, read))
            except DecodeError:
                chunk.broken.add(int(chunk.places[row]))
                continue
            for name, figure in figures.items():
                columns[name][row] = figure
        return columns

    @staticmethod
    def _event(event: Any) -> tuple[str, int, Attributes]:
        return text_of(event.name), event.time_unix_nano, partial(texts_of, event.attributes)


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


@dataclass(frozen=True)
class _Chunk:
    """Some spans, where their fields are, the places of their messages, and which of these turned out to be broken."""

    data: Data
    fields: dict[int, tuple[Ints, Ints]]
    events: wire.Places
    links: wire.Places
    places: Ints
    broken: set[int] = field(default_factory=set)

    def messages(self, places: wire.Places, which: Ints | slice = slice(None)) -> list[bytes]:
        starts, ends = places.starts[which], (places.starts + places.sizes)[which]
        return [self.data.bytes[a:z] for a, z in zip(starts.tolist(), ends.tolist(), strict=True)]

    def read(self, name: str, message: bytes, row: int) -> Any:
        """The message of a span, or None, and that of the span is broken."""
        try:
            return class_of(name).FromString(message)
        except DecodeError:
            self.broken.add(int(self.places[row]))
            return None

    def whole(self, tag: int) -> Ints:
        starts, sizes = self.fields[tag]
        found = np.zeros_like(starts)
        told = np.flatnonzero(sizes)
        found[told] = self.data.varints(starts[told])[0]
        return found

    def fixed(self, tag: int) -> Any:
        starts, sizes = self.fields[tag]
        return (self.data.word(starts) * (sizes > 0)).view(np.uint64)

    def status(self) -> Ints:
        """Status codes; a status without a message is nearly always the code alone."""
        starts, sizes = self.fields[wire.STATUS]
        word = self.data.word(starts)
        codes = (word >> 8) & 0x7F
        codes *= (sizes == 2) & (word & 0x80FF == wire.STATUS_CODE)
        for row in np.flatnonzero((sizes > 0) & ((sizes != 2) | (word & 0x80FF != wire.STATUS_CODE))).tolist():
            read = self.read("Status", self.data.bytes[starts[row] : starts[row] + sizes[row]], row)
            codes[row] = read.code if read is not None else 0
        return codes


def _fields(chunk: _Chunk) -> dict[str, Any]:
    return {
        "kind": chunk.whole(wire.KIND).astype(np.int32),
        "started": chunk.fixed(wire.STARTED),
        "ended": chunk.fixed(wire.ENDED),
        "status": chunk.status().astype(np.int32),
        "dropped": chunk.whole(wire.DROPPED).astype(np.uint32),
    }


def _decoded(texts: pl.Series) -> pl.Series:
    try:
        return texts.cast(pl.String)
    except pl.exceptions.ComputeError:  # some of them are not UTF-8
        return pl.Series(texts.name, list(map(text_of, texts)), dtype=pl.String)


def _texts(data: Data, told: dict[int, tuple[Ints, Ints, Ints]], odd: Ints, others: list[str]) -> pl.Series:
    """Texts of the values of all attributes.

    Args:
        told: kind -> where among them attributes of it are, and their places and sizes, as of otlp_alike.Attributes.
        odd: where those are of which `others` are the texts.
    """
    nothing = (_NOTHING, _NOTHING, _NOTHING)
    strings, whole, real, flags = (told.get(k, nothing) for k in (wire.STRING, wire.INT, wire.DOUBLE, wire.BOOL))
    strings = _in_order(*strings)
    parts = [
        _decoded(slices(data.bytes, *strings[1:])),
        pl.Series(whole[2]).cast(pl.String),
        _figures(data.doubles(real[1])),
        pl.Series(["false", "true"]).gather(pl.Series(data.word(flags[1]) & 1)),
        pl.Series(others, dtype=pl.String),
    ]
    at = np.concatenate([strings[0], whole[0], real[0], flags[0], odd])
    order = np.empty(len(at), np.int64)
    order[at] = np.arange(len(at))
    return pl.concat([part.alias("vals") for part in parts], rechunk=True).gather(pl.Series(order))


def _in_order(at: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The same in the order in which they lie in memory, which is several times faster to read."""
    n = int(at.max(initial=-1)) + 1
    start, size = np.full(n, -1), np.zeros(n, np.int64)
    start[at], size[at] = starts, sizes
    at = np.flatnonzero(start >= 0)
    return at, start[at], size[at]


def _figures(numbers: Any) -> pl.Series:
    size = np.abs(numbers)
    texts = pl.Series(numbers).cast(pl.String)
    odd = np.flatnonzero(~((size >= _PLAIN_FROM) & (size < _PLAIN_BELOW) | (size == 0)))
    return texts.scatter(pl.Series(odd), list(map(repr, numbers[odd].tolist()))) if len(odd) else texts


def _lists(vals: pl.Series, counts: Ints) -> pl.Series:
    """The values of every span as a list."""
    rows = np.repeat(np.arange(len(counts)), counts)
    frame = pl.DataFrame([pl.Series("row", rows).set_sorted(), vals])
    lists = frame.group_by("row", maintain_order=True).agg("vals").get_column("vals")
    if lists.len() == len(counts):
        return lists
    place = np.where(counts > 0, np.cumsum(counts > 0) - 1, lists.len())
    nothing = pl.Series("vals", [[]], dtype=pl.List(pl.String))
    return pl.concat([lists, nothing]).gather(pl.Series(place))
