"""What the protobuf library reads of OTLP: classes of its messages, and the text of any attribute.

Input: bytes of messages. Output: messages whose texts are bytes; name and text of an attribute, told as OTLP JSON tells
them: lists and maps are the JSON of arrayValue and kvlistValue, bytes are base64.
Source: OTLP 1.x, trace.proto and common.proto.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
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
_ESCAPES = re.compile(r"\\\\|\\u[0-9a-f]{4}")  # of JSON: a backslash, a control character
_DIGITS = re.compile(r"(-?)(\d)(?:\.(\d+))?e([+-]\d+)")  # of a real number as Python writes it with an exponent
_PLAIN_EXPONENTS = range(-6, 21)  # of the numbers that JSON writes without one
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
    if kind == "string_value":
        return text_of(pair.key), text_of(pair.value.string_value)
    if kind == "double_value":
        return text_of(pair.key), repr(pair.value.double_value)
    return text_of(pair.key), _json(pair.value, kind).strip('"')


def _json(value: Any, kind: str) -> str:
    """JSON of a value, as the store writes that of OTLP JSON; 64-bit integers are text there."""
    if kind == "array_value":
        return f'{{"values":[{",".join(_named(item) for item in value.array_value.values)}]}}'
    if kind == "kvlist_value":
        pairs = (f'{{"key":{_quoted(pair.key)},"value":{_named(pair.value)}}}' for pair in value.kvlist_value.values)
        return f'{{"values":[{",".join(pairs)}]}}'
    if kind == "string_value":
        return _quoted(value.string_value)
    if kind == "bytes_value":
        return f'"{base64.b64encode(value.bytes_value).decode()}"'
    if kind == "int_value":
        return f'"{value.int_value}"'
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    return _real(value.double_value)


def _named(value: Any) -> str:
    """A value under the name of its kind."""
    kind = value.WhichOneof("value")
    return f'{{"{_NAMES[kind]}":{_json(value, kind)}}}' if kind in _NAMES else "{}"


def _quoted(data: bytes) -> str:
    told = json.dumps(text_of(data), ensure_ascii=False)
    return _ESCAPES.sub(lambda found: found[0] if found[0] == r"\\" else rf"\u{found[0][2:].upper()}", told)


def _real(number: float) -> str:
    told = repr(number)
    if told in NO_FIGURES:
        return f'"{NO_FIGURES[told]}"'
    found = _DIGITS.fullmatch(told)
    if found is None:
        return told
    sign, first, more, exponent = found[1], found[2], found[3] or "", int(found[4])
    if exponent not in _PLAIN_EXPONENTS:
        return f"{sign}{first}{'.' if more else ''}{more}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{first}{more}"
    return f"{sign}{first}{more[:exponent].ljust(exponent, '0')}.{more[exponent:] or '0'}"


def texts_of(attributes: Iterable[bytes]) -> dict[str, str]:
    """The attributes that are text, by name; of a name told twice the first stands."""
    found: dict[str, str] = {}
    for data in attributes:
        pair = class_of("KeyValue").FromString(data)
        if pair.value.WhichOneof("value") == "string_value":
            found.setdefault(text_of(pair.key), text_of(pair.value.string_value))
    return found


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
    """Class of a resource, a scope and the parts of a span, their attributes left as bytes, or of an attribute."""
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
        *(resource_pb2.Resource.DESCRIPTOR, common_pb2.InstrumentationScope.DESCRIPTOR),
    )
    return {kind.name: GetMessageClass(pool.FindMessageTypeByName(kind.full_name)) for kind in kinds}
