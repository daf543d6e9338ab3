"""OTLP bodies as they arrive over HTTP: checked span by span, protobuf turned into spans.

Input: one ExportTraceServiceRequest as protobuf or JSON. Output: spans and refused spans in the order of the body.
Which spans cannot be is what the specification says of ids and what the house says of times (errors.REJECT_REASONS).
Source: OTLP 1.x, trace.proto and common.proto; JSON with 64-bit numbers as text or number and ids as hex.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from ingest.errors import HEAD_CHARACTERS, UnreadableInput
from ingest.formats.contract import RawReject, RawSpan
from ingest.schema import NS_PER_S

KNOWN_LIMIT = 100_000  # attributes kept by their bytes, some 30 MB
NO_VALUE = ("", "")  # of an attribute without a value, which is left out
LONGEST_NS = 24 * 3600 * NS_PER_S  # longer is the mark of an unset start
EARLIEST_NS = 1_420_070_400 * NS_PER_S  # 2015-01-01
MAX_DEPTH = 256  # of a JSON body; an attribute of an attribute takes four, and protobuf itself ends at 100
PEELED = 24  # levels; attributes that are no lists end at 11
_TOO_DEEP = f"the body is JSON that nests deeper than {MAX_DEPTH} levels"
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"{}[]")))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)

_NAMES = {
    "string_value": "stringValue",
    "bool_value": "boolValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
    "array_value": "arrayValue",
    "kvlist_value": "kvlistValue",
    "bytes_value": "bytesValue",
}


class _Span(msgspec.Struct, rename="camel"):
    """What the check of a JSON span reads."""

    trace_id: str | None = None
    span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None


class _Scope(msgspec.Struct, rename="camel"):
    spans: list[_Span] | None = None


class _Resource(msgspec.Struct, rename="camel"):
    scope_spans: list[_Scope] | None = None


class _Body(msgspec.Struct, rename="camel"):
    resource_spans: list[_Resource] | None = None


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_JSON_BODY = msgspec.json.Decoder(_Body, strict=False)


class KnownAttributes(dict[bytes, tuple[str, str]]):
    """Name and text of attributes by their bytes; emitters write most of them again and again (nine in ten)."""

    def __missing__(self, data: bytes) -> tuple[str, str]:
        pair = KeyValue.FromString(data)
        kind = pair.value.WhichOneof("value")
        told = (pair.key, _text(pair.value, kind)) if kind is not None else NO_VALUE
        if len(self) >= KNOWN_LIMIT:
            self.clear()
        self[data] = told
        return told


def read_protobuf(body: bytes, known: KnownAttributes | None = None) -> Iterator[RawSpan | RawReject]:
    """Spans of a protobuf body; attribute values as text, lists and maps as the JSON of OTLP.

    Args:
        known: kept between the bodies of one source; None: of this body alone.

    Raises:
        UnreadableInput: the bytes are no such message.
    """
    known = KnownAttributes() if known is None else known
    try:
        message = _request_class().FromString(body)
        for resource_spans in message.resource_spans:
            resource = _attributes(resource_spans.resource.attributes, known)
            for scope_spans in resource_spans.scope_spans:
                scope = scope_spans.scope.name or None
                for span in scope_spans.spans:
                    yield _span(span, resource, scope, known)
    except DecodeError as error:
        raise UnreadableInput(
            f"the body is no protobuf ExportTraceServiceRequest: {error}", code="malformed_body"
        ) from error


@cache
def _request_class() -> Any:
    """ExportTraceServiceRequest whose attributes are left as bytes, for walking them costs more than parsing."""
    pool = DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type if module is not common_pb2 else ():
            for field in (*message.field, *(inner for nested in message.nested_type for inner in nested.field)):
                if field.type_name == f".{KeyValue.DESCRIPTOR.full_name}":
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(ExportTraceServiceRequest.DESCRIPTOR.full_name))


def check_json(body: bytes) -> tuple[int, list[RawReject]]:
    """Number of spans of a JSON body, and the refused ones; an unusual spelling (0 spans) is judged when it is stored.

    Raises:
        UnreadableInput: the bytes are not one JSON object with resourceSpans.
    """
    try:
        decoded = _JSON_BODY.decode(body)
        _check_depth(body)
    except msgspec.ValidationError:
        _must_be_an_object(body)
        return 0, []
    except RecursionError as error:
        raise UnreadableInput(_TOO_DEEP, code="malformed_body") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"the body is no JSON: {error}", code="malformed_body") from error
    spans = [
        span
        for resource in decoded.resource_spans or ()
        for scope in resource.scope_spans or ()
        for span in scope.spans or ()
    ]
    return len(spans), [
        RawReject(None, None, reason, f"{span.name or ''} {span.trace_id or ''}"[:HEAD_CHARACTERS])
        for span in spans
        if (reason := _json_reason(span))
    ]


def _check_depth(body: bytes) -> None:
    """Refuse valid JSON that nests deeper than MAX_DEPTH.

    Pairs of brackets are taken away level by level, which leaves nothing of an honest body and costs far less than a
    walk. Only where something is left (a text with a lone bracket, or a deep nest) are the texts left out and the rest
    walked.

    Raises:
        UnreadableInput: it does.
    """
    if not _peeled(body):
        return
    depth = PEELED
    for mark in _peeled(_TEXT.sub(b"", body)):
        depth += 1 if mark in b"{[" else -1
        if depth > MAX_DEPTH:
            raise UnreadableInput(_TOO_DEEP, code="malformed_body")


def _peeled(body: bytes) -> bytes:
    """The brackets of the bytes without the innermost levels."""
    brackets = body.translate(None, _NO_BRACKETS)
    for _ in range(PEELED):
        if not brackets:
            break
        brackets = brackets.replace(b"{}", b"\0").replace(b"[]", b"\0").replace(b"\0", b"")
    return brackets


def reason_against(trace_id: str, span_id: str, start_ns: int, end_ns: int) -> str | None:
    """Why a span cannot be (errors.REJECT_REASONS), or None; ids in lower-case hex, times 0 where not set."""
    if not trace_id:
        return "no_trace_id"
    if not trace_id.strip("0"):
        return "zero_trace_id"
    if not span_id.strip("0"):
        return "no_span_id"
    if start_ns <= 0:
        return "start_unset"
    if start_ns < EARLIEST_NS:
        return "time_out_of_range"
    if end_ns and end_ns < start_ns:
        return "end_before_start"
    if end_ns and end_ns - start_ns > LONGEST_NS:
        return "duration_too_long"
    return None


def _detail(reason: str, trace_id: str, span_id: str, start_ns: int, end_ns: int) -> str:
    """Field, value and rule of a refused span, in the words of the bulk reader (store/span_columns)."""
    return {
        "bad_trace_id": f'trace id: "{trace_id[:40]}" is no 16 bytes',
        "no_span_id": f'span id: "{span_id[:40]}" is no 8 bytes',
        "start_unset": f"start: {start_ns}",
        "end_before_start": f"end: {end_ns} lies before start: {start_ns}",
        "duration_too_long": f"from start: {start_ns} to end: {end_ns}",
        "time_out_of_range": f"start: {start_ns} is out of range, in ns since 1970",
    }.get(reason, "")


def _span(span: Any, resource: Mapping[str, str], scope: str | None, known: KnownAttributes) -> RawSpan | RawReject:
    trace_id, span_id = span.trace_id.hex(), span.span_id.hex()
    reason = reason_against(trace_id, span_id, span.start_time_unix_nano, span.end_time_unix_nano)
    if reason is None and len(span.trace_id) != 16:
        reason = "bad_trace_id"
    if reason is not None:
        said = _detail(reason, trace_id, span_id, span.start_time_unix_nano, span.end_time_unix_nano)
        return RawReject(None, None, reason, f"{span.name} {trace_id}"[:HEAD_CHARACTERS], said)
    return RawSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=span.parent_span_id.hex() or None,
        name=span.name,
        kind=span.kind,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status_code=span.status.code,
        attributes=_attributes(span.attributes, known),
        resource=resource,
        scope=scope,
        events=tuple((e.name, e.time_unix_nano, _attributes(e.attributes, known)) for e in span.events),
        dropped_events=span.dropped_events_count,
        trace_state=span.trace_state or None,
    )


def _attributes(pairs: Iterable[bytes], known: KnownAttributes) -> dict[str, str]:
    found = dict(map(known.__getitem__, pairs))
    found.pop(NO_VALUE[0], None)
    return found


def _text(value: AnyValue, kind: str) -> str:
    """A value as text, told as OTLP JSON tells it: lists and maps are its arrayValue and kvlistValue."""
    told = _told(value, kind)
    if isinstance(told, str):
        return told
    if kind == "bool_value":
        return "true" if told else "false"
    return repr(told) if kind in ("int_value", "double_value") else _ENCODER.encode(told)


def _told(value: AnyValue, kind: str) -> Any:
    if kind == "array_value":
        return {"values": [_named(item) for item in value.array_value.values]}
    if kind == "kvlist_value":
        pairs = value.kvlist_value.values
        return {"values": [{"key": pair.key, "value": _named(pair.value)} for pair in pairs]}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, kind)


def _named(value: AnyValue) -> dict[str, Any]:
    """A value under the name of its kind; 64-bit integers are text there."""
    kind = value.WhichOneof("value")
    if kind is None:
        return {}
    told = _told(value, kind)
    return {_NAMES[kind]: str(told) if kind == "int_value" else told}


def _json_reason(span: _Span) -> str | None:
    try:
        start = int(span.start_time_unix_nano or 0)
        end = int(span.end_time_unix_nano or 0)
    except ValueError:
        return "start_unset"
    trace_id, span_id = (span.trace_id or "").strip(), (span.span_id or "").strip()
    if trace_id and len(trace_id) not in (16, 24, 32):  # hex of 8 or 16 bytes, base64 of 16
        return "bad_trace_id"
    return reason_against(trace_id, span_id, start, end)


def _must_be_an_object(body: bytes) -> None:
    try:
        decoded = msgspec.json.decode(body)
        _check_depth(body)
    except RecursionError as error:
        raise UnreadableInput(_TOO_DEEP, code="malformed_body") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"the body is no JSON: {error}", code="malformed_body") from error
    if not isinstance(decoded, dict):
        raise UnreadableInput("the body is JSON and no object with resourceSpans", code="malformed_body")
