"""What the protobuf library reads of OTLP: classes of its messages, and the text of any attribute.

Input: bytes of messages. Output: messages whose texts are bytes; name and text of an attribute, told as OTLP JSON tells
them: lists and maps are the JSON of arrayValue and kvlistValue, bytes are base64.
Source: OTLP 1.x, trace.proto and common.proto.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

KNOWN_LIMIT = 100_000  # attributes kept by their bytes, some 30 MB
KNOWN_BYTES = 256  # of an attribute that is kept; a longer one is some text that hardly comes twice

NO_FIGURES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as Python and as OTLP JSON write them
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


class KnownAttributes(dict[bytes, tuple[str | None, str]]):
    """Name and text of attributes by their bytes."""

    def __missing__(self, data: bytes) -> tuple[str | None, str]:
        told = _by_library(data)
        if len(data) <= KNOWN_BYTES:
            if len(self) >= KNOWN_LIMIT:
                self.clear()
            self[data] = told
        return told


def _by_library(data: bytes) -> tuple[str | None, str]:
    """Name and text of any attribute."""
    pair = class_of("KeyValue").FromString(data)
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
    return text_of(pair.key), text


def _content(value: Any, kind: str) -> Any:
    if kind == "array_value":
        return {"values": [_named(item) for item in value.array_value.values]}
    if kind == "kvlist_value":
        pairs = value.kvlist_value.values
        return {"values": [{"key": text_of(pair.key), "value": _named(pair.value)} for pair in pairs]}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    if kind == "double_value":
        return NO_FIGURES.get(repr(value.double_value), value.double_value)
    return text_of(value.string_value) if kind == "string_value" else getattr(value, kind)


def _named(value: Any) -> dict[str, Any]:
    """A value under the name of its kind; 64-bit integers are text there."""
    kind = value.WhichOneof("value")
    if kind not in _NAMES:
        return {}
    told = _content(value, kind)
    return {_NAMES[kind]: str(told) if kind == "int_value" else told}


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def whole_class() -> Any:
    """ExportTraceServiceRequest whose texts are left as bytes: the library refuses a whole message for one text that
    is not UTF-8."""
    return _classes()["ExportTraceServiceRequest"]


@cache
def request_class() -> Any:
    """The same, its spans left as bytes, and the attributes of its resources."""
    return _classes("Span", "KeyValue")["ExportTraceServiceRequest"]


def class_of(name: str) -> Any:
    """Class of the parts of a span, their attributes left as bytes, or of an attribute."""
    return _part_classes()[name]


@cache
def _part_classes() -> dict[str, Any]:
    return _classes("KeyValue")


def _classes(*opaque: str) -> dict[str, Any]:
    """Classes by name; fields of the opaque messages are bytes, but for those within an attribute's value."""
    pool = DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        is_opaque = opaque if module is not common_pb2 else ()
        for message in file.message_type:
            for told in (*message.field, *(inner for nested in message.nested_type for inner in nested.field)):
                if told.type == FieldDescriptorProto.TYPE_STRING or told.type_name.rpartition(".")[2] in is_opaque:
                    told.type = FieldDescriptorProto.TYPE_BYTES
                    told.ClearField("type_name")
        pool.AddSerializedFile(file.SerializeToString())
    span = trace_pb2.Span.DESCRIPTOR
    kinds = (
        *(trace_service_pb2.ExportTraceServiceRequest.DESCRIPTOR, common_pb2.KeyValue.DESCRIPTOR, span),
        *(*span.nested_types, trace_pb2.Status.DESCRIPTOR),
    )
    return {kind.name: GetMessageClass(pool.FindMessageTypeByName(kind.full_name)) for kind in kinds}
