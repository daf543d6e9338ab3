"""OTLP bodies as they arrive over HTTP: checked span by span before they are acknowledged.

Input: one ExportTraceServiceRequest as protobuf or JSON. Output: number of spans, and the refused ones in the order of
the body.
Which spans cannot be is what the specification says of ids and what the house says of times (errors.REJECT_REASONS).
Source: OTLP 1.x, trace.proto and common.proto; JSON with 64-bit numbers as text or number and ids as hex.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from ingest.errors import HEAD_CHARACTERS, UnreadableInput
from ingest.formats.contract import RawReject
from ingest.formats.otlp_columns import whole_class
from ingest.schema import NS_PER_S

LONGEST_NS = 24 * 3600 * NS_PER_S  # longer is the mark of an unset start
EARLIEST_NS = 1_420_070_400 * NS_PER_S  # 2015-01-01
MAX_DEPTH = 256  # of a JSON body; an attribute of an attribute takes four, and protobuf itself ends at 100
PEELED = 24  # levels; attributes that are no lists end at 11
_TOO_DEEP = f"the body is JSON that nests deeper than {MAX_DEPTH} levels"
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"{}[]")))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


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


_JSON_BODY = msgspec.json.Decoder(_Body, strict=False)


def check_protobuf(body: bytes) -> tuple[int, list[RawReject]]:
    """Number of spans of a protobuf body, and the refused ones.

    Raises:
        UnreadableInput: the bytes are no such message.
    """
    try:
        message = whole_class().FromString(body)
    except DecodeError as error:
        raise UnreadableInput(
            f"the body is no protobuf ExportTraceServiceRequest: {error}", code="malformed_body"
        ) from error
    spans = [span for resource in message.resource_spans for scope in resource.scope_spans for span in scope.spans]
    refused: list[RawReject] = []
    for span in spans:
        reason = _reason(span)
        if reason is not None:
            name = span.name.decode("utf-8", "replace")
            refused.append(RawReject(None, None, reason, f"{name} {span.trace_id.hex()}"[:HEAD_CHARACTERS]))
    return len(spans), refused


def _reason(span: Any) -> str | None:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    reason = reason_against(span.trace_id.hex(), span.span_id.hex(), start, end)
    return "bad_trace_id" if reason is None and len(span.trace_id) != 16 else reason


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
