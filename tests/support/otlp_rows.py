"""Slow plain reading of OTLP protobuf, span by span: the reference for the columns of the product.

Input: one ExportTraceServiceRequest. Output: RawSpan and RawReject in the order of the body.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from google.protobuf.json_format import MessageToJson, ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.errors import UnreadableInput
from ingest.formats.contract import RawSpan

_NAMES = {
    "string_value": "stringValue",
    "bool_value": "boolValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
    "bytes_value": "bytesValue",
}

MOST_NS = (1 << 63) - 1  # what the store holds
START = 1_772_000_000_000_000_000
TRACE, SPAN = "0102030405060708090a0b0c0d0e0f10", "1112131415161718"


def attribute(key: str, **value: Any) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(**value))


def body(*spans: Span) -> bytes:
    """One export request with the spans of one scope."""
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    resource_spans.resource.attributes.append(attribute("service.name", string_value="gateway"))
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "vllm"
    scope_spans.spans.extend(spans)
    return bytes(message.SerializeToString())


def as_protobuf(request: Any) -> bytes:
    """A JSON export request as protobuf: ids are hex in the one and bytes in the other."""

    def with_bytes(value: Any) -> Any:
        if isinstance(value, list):
            return [with_bytes(item) for item in value]
        if isinstance(value, dict):
            ids = ("traceId", "spanId", "parentSpanId")
            return {
                k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids and isinstance(v, str) else with_bytes(v)
                for k, v in value.items()
            }
        return value

    return bytes(
        ParseDict(with_bytes(request), ExportTraceServiceRequest(), ignore_unknown_fields=True).SerializeToString()
    )


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value])


def delimited(*bodies: bytes) -> bytes:
    """Messages behind a varint length each."""
    return b"".join(varint(len(body)) + body for body in bodies)


def read_rows(body: bytes) -> Iterator[RawSpan]:
    """Spans of a body, those that cannot be among them.

    Raises:
        UnreadableInput: the library refuses the bytes.
    """
    try:
        message = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise UnreadableInput(str(error)) from error
    for resource_spans in message.resource_spans:
        resource = attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield RawSpan(
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_span_id=span.parent_span_id.hex() or None,
                    name=span.name,
                    kind=span.kind,
                    start_ns=min(span.start_time_unix_nano, MOST_NS),
                    end_ns=min(span.end_time_unix_nano, MOST_NS),
                    status_code=span.status.code,
                    attributes=attributes(span.attributes),
                    resource=resource,
                    scope=scope_spans.scope.name or None,
                    events=tuple((e.name, e.time_unix_nano, attributes(e.attributes)) for e in span.events),
                    dropped_events=span.dropped_events_count,
                    trace_state=span.trace_state or None,
                )


def attributes(pairs: Any) -> dict[str, str]:
    """Attributes as text; those without value are left out."""
    return {pair.key: text(pair.value) for pair in pairs if pair.value.WhichOneof("value") in _NAMES}


def text(value: Any) -> str:
    """A value as text, told as OTLP JSON tells it."""
    kind = value.WhichOneof("value")
    if kind == "double_value":
        return repr(value.double_value)
    told = _told(value, kind)
    if isinstance(told, str):
        return told
    if isinstance(told, bool):
        return "true" if told else "false"
    return repr(told) if isinstance(told, int | float) else json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _told(value: Any, kind: str) -> Any:
    if kind == "array_value":
        return {"values": [_named(item) for item in value.array_value.values]}
    if kind == "kvlist_value":
        return {"values": [{"key": pair.key, "value": _named(pair.value)} for pair in value.kvlist_value.values]}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    told = getattr(value, kind)
    return json.loads(MessageToJson(value))["doubleValue"] if kind == "double_value" and not isfinite(told) else told


def _named(value: Any) -> dict[str, Any]:
    kind = value.WhichOneof("value")
    if kind not in _NAMES:
        return {}
    told = _told(value, kind)
    return {_NAMES[kind]: str(told) if kind == "int_value" else told}
