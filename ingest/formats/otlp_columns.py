"""OTLP protobuf messages as columns: one row per span, what many spans share told once beside them.

Input: ExportTraceServiceRequest messages. Output: Piece, three frames that store/span_batch joins to raw spans.
Attribute values are text, told as OTLP JSON tells them: lists and maps are the JSON of arrayValue and kvlistValue, bytes
are base64. Bytes that are not UTF-8 become replacement characters, for an exporter that cuts a prompt in the middle of
a character has told the rest of the message well.
Source: OTLP 1.x, trace.proto and common.proto; protobuf encoding.

A message costs one parse by the protobuf library, in which attributes stay bytes, and one look-up per attribute: an
emitter writes nine of ten attributes again and again, and a tenth of them is read by hand, four times as fast as by
the library.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from struct import Struct
from typing import Any

import polars as pl
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from ingest.errors import UnreadableInput
from ingest.formats.attributes import RESOURCE_PICKS
from ingest.formats.span_events import EVENT_TYPES, Attributes, event_figures

SEPARATOR = "\x1f"  # the control character for it; values of one span are joined by it on their way into the table
KNOWN_LIMIT = 100_000  # attributes kept by their bytes, some 30 MB
KNOWN_LAYOUTS = 10_000
KNOWN_BYTES = 256  # of an attribute that is kept; a longer one is some text that hardly comes twice
CHUNK_SPANS = 8_192  # rows that one thread of the store takes at once

KEY, VALUE = 0x0A, 0x12  # tags of the two fields of an attribute
STRING, BOOL, INT, DOUBLE = 0x0A, 0x10, 0x18, 0x21  # tags of the plain values
TWO_BYTES = 0x80  # the first length that takes two bytes
MAX_INT = 1 << 63  # a varint above it is a negative number
_DOUBLE = Struct("<d").unpack_from

_NO_FIGURES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as Python and as OTLP JSON write them
NO_VALUE = (None, "")  # of an attribute without a value, which is left out
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NAMES = {
    "string_value": "stringValue",
    "bool_value": "boolValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
    "bytes_value": "bytesValue",
}
_FIELDS: dict[str, tuple[str, Any]] = {  # column -> field of a span, type
    "trace_id": ("trace_id", pl.Binary()),
    "span_id": ("span_id", pl.Binary()),
    "parent_id": ("parent_span_id", pl.Binary()),
    "trace_state": ("trace_state", pl.String()),
    "name": ("name", pl.String()),
    "kind": ("kind", pl.Int32()),
    "started": ("start_time_unix_nano", pl.UInt64()),
    "ended": ("end_time_unix_nano", pl.UInt64()),
    "status": ("status.code", pl.Int32()),
    "dropped": ("dropped_events_count", pl.UInt32()),
}
_FIELDS_OF = attrgetter(*(field for field, _ in _FIELDS.values()))
_EVENTS_OF = attrgetter("events")
_ATTRIBUTES_OF = attrgetter("attributes")
_OWN: dict[str, Any] = {  # columns of a span beside its fields
    "place": pl.Int64(),
    "group": pl.Int32(),
    "shape": pl.Int32(),
    "vals": pl.String(),
}
_SCHEMA: dict[str, Any] = _OWN | {name: kind for name, (_, kind) in _FIELDS.items()} | EVENT_TYPES


@dataclass(frozen=True)
class Piece:
    """Some messages as columns.

    `spans`: place (byte offset of the message), group and shape (rows of the other two), vals (values joined by
    SEPARATOR, null without attributes), ids as bytes, times in ns with 0 for unset, figures of events.
    `groups`: group, scope, the picks of the resource, extra (values of the promoted attributes of the resource).
    `shapes`: shape, names (list of attribute names, in the order of vals).
    """

    spans: pl.DataFrame
    groups: pl.DataFrame
    shapes: pl.DataFrame


class Columns:
    """Messages on their way into a piece; a message that cannot be read leaves nothing behind.

    Args:
        promoted: names of resource attributes whose values are told with every span.
    """

    def __init__(self, promoted: Sequence[str] = ()) -> None:
        self._promoted = promoted
        self._known = KnownAttributes()
        self._class = _request_class()
        self._begin()

    def _begin(self) -> None:
        self._chunks: list[pl.DataFrame] = []
        self._groups: dict[tuple[bytes, ...], int] = {}
        self._group_rows: list[tuple[object, ...]] = []
        self._shapes = _Shapes()
        self._clear()

    def _clear(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in (*_OWN, *_FIELDS)}
        self._events: dict[int, dict[str, object]] = {}  # row -> figures of its events

    @property
    def n_spans(self) -> int:
        """Spans since the latest piece."""
        return sum(chunk.height for chunk in self._chunks) + len(self._columns["place"])

    def add(self, body: bytes, place: int) -> None:
        """Takes one message.

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
        for group, told in read:
            self._keep(place, group, told)
        if len(self._columns["place"]) >= CHUNK_SPANS:
            self._close_chunk()

    def piece(self) -> Piece:
        """The messages since the latest piece."""
        self._close_chunk()
        resource = dict.fromkeys(RESOURCE_PICKS, pl.String())
        groups = {"group": pl.Int32(), "scope": pl.String()} | resource | {"extra": pl.List(pl.String())}
        names = [(number, list(names)) for names, number in self._shapes.items()]
        made = Piece(
            pl.concat(self._chunks, rechunk=False) if self._chunks else pl.DataFrame(schema=_SCHEMA),
            pl.DataFrame(self._group_rows, schema=groups, orient="row"),
            pl.DataFrame(names, schema={"shape": pl.Int32(), "names": pl.List(pl.String())}, orient="row"),
        )
        self._begin()
        return made

    def _read(self, body: bytes) -> Iterator[tuple[int, _Told]]:
        for resource_spans in self._class.FromString(body).resource_spans:
            resource = tuple(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                spans = list(scope_spans.spans)
                if spans:
                    yield self._group(resource, scope_spans.scope.name), self._told(spans)

    def _group(self, resource: tuple[bytes, ...], scope: bytes) -> int:
        key = (scope, *resource)
        if key not in self._groups:
            told: dict[str | None, str] = dict(map(self._known.__getitem__, resource))
            picks = [next((told[n] for n in names if told.get(n)), None) for names in RESOURCE_PICKS.values()]
            number = self._groups[key] = len(self._groups)
            extra = [told.get(name, "") for name in self._promoted]
            self._group_rows.append((number, _text(scope) or None, *picks, extra))
        return self._groups[key]

    def _told(self, spans: list[Any]) -> _Told:
        get, shapes = self._known.__getitem__, self._shapes
        numbers: list[int] = []
        values: list[str | None] = []
        for attributes in map(_ATTRIBUTES_OF, spans):
            pairs = tuple(map(get, attributes))
            names, told = zip(*pairs) if pairs else ((), ())  # noqa: B905  # strict costs a fifth of it
            shape = shapes[names]
            if shape < 0:  # an attribute without value among them
                kept = [pair for pair in pairs if pair[0] is not None]
                names, told = zip(*kept, strict=True) if kept else ((), ())
                shape = shapes[names]
            numbers.append(shape)
            values.append(SEPARATOR.join(told) if told else None)
        events = {
            row: event_figures(map(self._event, told)) for row, told in enumerate(map(_EVENTS_OF, spans)) if len(told)
        }
        fields: dict[str, Iterable[Any]] = dict(zip(_FIELDS, zip(*map(_FIELDS_OF, spans), strict=True), strict=True))
        fields |= {name: map(_text, fields[name]) for name in ("name", "trace_state")}
        return _Told(numbers, values, fields, events)

    def _event(self, event: Any) -> tuple[str, int, Attributes]:
        def attributes() -> dict[str, str]:
            told = map(self._known.__getitem__, event.attributes)
            return {name: text for name, text in told if name is not None}

        return _text(event.name), event.time_unix_nano, attributes

    def _keep(self, place: int, group: int, told: _Told) -> None:
        columns, n = self._columns, len(told.shapes)
        before = len(columns["place"])
        columns["place"].extend([place] * n)
        columns["group"].extend([group] * n)
        columns["shape"].extend(told.shapes)
        columns["vals"].extend(told.values)
        for name, values in told.fields.items():
            columns[name].extend(values)
        self._events |= {before + row: figures for row, figures in told.events.items()}

    def _close_chunk(self) -> None:
        n = len(self._columns["place"])
        if n:
            columns: dict[str, Any] = dict(self._columns)
            for name in EVENT_TYPES:
                values: list[object] = [None] * n
                for row, figures in self._events.items():
                    values[row] = figures.get(name)
                columns[name] = values
            self._chunks.append(pl.DataFrame(columns, schema=_SCHEMA))
        self._clear()


@dataclass(frozen=True)
class _Told:
    """Spans of one scope: shape and values of each, their fields, the figures of those with events by row."""

    shapes: list[int]
    values: list[str | None]
    fields: dict[str, Iterable[Any]]
    events: dict[int, dict[str, object]]


class _Shapes(dict[tuple[Any, ...], int]):
    """Number of each list of names; -1 for one with an attribute without value."""

    def __missing__(self, names: tuple[Any, ...]) -> int:
        if None in names:
            return -1
        number = self[names] = len(self)
        return number


class KnownAttributes(dict[bytes, tuple[str | None, str]]):
    """Name and text of attributes by their bytes; measures are read anew, for they hardly come twice."""

    def __init__(self) -> None:
        super().__init__()
        self._layouts: dict[bytes, _Layout] = {}  # bytes up to the tag of the value

    def __missing__(self, data: bytes) -> tuple[str | None, str]:
        try:
            layout = self._layouts.get(data[: data[1] + 5])
        except IndexError:  # cut short: the library tells how
            layout = None
        if layout is not None and layout.size == len(data):
            if layout.kind == DOUBLE:
                figure = repr(_DOUBLE(data, layout.at)[0])
                return layout.name, _NO_FIGURES.get(figure, figure)
            text = _usual(layout.kind, data, layout.at)
            if text is not None:
                return self._kept(data, (layout.name, text))
        told = _by_library(data)
        if told[0] is not None:
            self._learn(data, told[0])
        return self._kept(data, told)

    def _learn(self, data: bytes, name: str) -> None:
        """Notes the layout of an attribute, if it is a short name and a short plain value."""
        at = data[1] + 5 if len(data) > 1 else 0
        if not 5 <= at < len(data) or data[0] != KEY or data[1] >= TWO_BYTES or _text(data[2 : at - 3]) != name:
            return
        width, kind = data[at - 2], data[at - 1]
        if data[at - 3] != VALUE or width != len(data) - at + 1 or width >= TWO_BYTES:
            return
        if kind in (STRING, INT, BOOL) or (kind == DOUBLE and width == 9):
            if len(self._layouts) >= KNOWN_LAYOUTS:
                self._layouts.clear()
            self._layouts[data[:at]] = _Layout(name, kind, at, len(data))

    def _kept(self, data: bytes, told: tuple[str | None, str]) -> tuple[str | None, str]:
        if len(data) <= KNOWN_BYTES:
            if len(self) >= KNOWN_LIMIT:
                self.clear()
            self[data] = told
        return told


@dataclass(frozen=True, slots=True)
class _Layout:
    """What all attributes of some first bytes are: name, tag of the plain value, where its content is, size in all."""

    name: str
    kind: int
    at: int
    size: int


def _usual(kind: int, data: bytes, at: int) -> str | None:
    """Text of a plain value that fills the data from a place on, or None: what else it may be."""
    if kind == STRING:
        if data[at] != len(data) - at - 1:
            return None
        text = data[at + 1 :].decode("utf-8", "replace")
        return text.replace(SEPARATOR, " ") if SEPARATOR in text else text
    if kind == INT:
        value = shift = 0
        for byte in data[at:]:
            value |= (byte & 0x7F) << shift
            if byte < TWO_BYTES:
                break
            shift += 7
        return str(value) if 7 * (len(data) - at - 1) == shift and value < MAX_INT and byte < TWO_BYTES else None
    if kind == BOOL and at + 1 == len(data) and data[at] <= 1:
        return "true" if data[at] else "false"
    return None


def _by_library(data: bytes) -> tuple[str | None, str]:
    """Name and text of any attribute."""
    pair = _attribute_class().FromString(data)
    kind = pair.value.WhichOneof("value")
    if kind not in _NAMES:
        return NO_VALUE
    told = _content(pair.value, kind)
    if kind == "bool_value":
        text = "true" if told else "false"
    elif kind == "int_value":
        text = repr(told)
    elif kind == "double_value":
        text = told if isinstance(told, str) else repr(told)
    else:
        text = told if isinstance(told, str) else _ENCODER.encode(told)
    return _text(pair.key), text.replace(SEPARATOR, " ")


def _content(value: Any, kind: str) -> Any:
    if kind == "array_value":
        return {"values": [_named(item) for item in value.array_value.values]}
    if kind == "kvlist_value":
        pairs = value.kvlist_value.values
        return {"values": [{"key": _text(pair.key), "value": _named(pair.value)} for pair in pairs]}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    if kind == "double_value":
        return _NO_FIGURES.get(repr(value.double_value), value.double_value)
    return _text(value.string_value) if kind == "string_value" else getattr(value, kind)


def _named(value: Any) -> dict[str, Any]:
    """A value under the name of its kind; 64-bit integers are text there."""
    kind = value.WhichOneof("value")
    if kind not in _NAMES:
        return {}
    told = _content(value, kind)
    return {_NAMES[kind]: str(told) if kind == "int_value" else told}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def whole_class() -> Any:
    """ExportTraceServiceRequest whose texts are left as bytes: the library refuses a whole message for one text that
    is not UTF-8."""
    return _classes(are_attributes_bytes=False)[0]


@cache
def _request_class() -> Any:
    """The same, attributes left as bytes too: walking them costs more than parsing."""
    return _classes(are_attributes_bytes=True)[0]


@cache
def _attribute_class() -> Any:
    """KeyValue whose texts are left as bytes."""
    return _classes(are_attributes_bytes=True)[1]


def _classes(*, are_attributes_bytes: bool) -> tuple[Any, Any]:
    pool = DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        is_above = are_attributes_bytes and module is not common_pb2
        for message in file.message_type:
            for field in (*message.field, *(inner for nested in message.nested_type for inner in nested.field)):
                is_attribute = field.type_name == f".{common_pb2.KeyValue.DESCRIPTOR.full_name}"
                if field.type == FieldDescriptorProto.TYPE_STRING or (is_attribute and is_above):
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
        pool.AddSerializedFile(file.SerializeToString())
    messages = (trace_service_pb2.ExportTraceServiceRequest, common_pb2.KeyValue)
    request, attribute = (GetMessageClass(pool.FindMessageTypeByName(kind.DESCRIPTOR.full_name)) for kind in messages)
    return request, attribute
