"""OTLP bodies as they arrive over HTTP: checked span by span before they are acknowledged.

Input: one ExportTraceServiceRequest as protobuf or JSON. Output: number of spans, and the refused ones in the order of
the body.
Which spans cannot be is what the specification says of ids and what the house says of times (errors.REJECT_REASONS).
Source: OTLP 1.x, trace.proto and common.proto; JSON with 64-bit numbers as text or number and ids as hex.
"""

from __future__ import annotations

import base64
import math
import re
from contextlib import suppress
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from ingest.bounds import FAR_TIME_NS, NO_TIME
from ingest.errors import UnreadableInput
from ingest.formats.contract import RawReject
from ingest.formats.heads import MAX_TEXT
from ingest.formats.otlp_library import whole_class
from ingest.formats.visible import visible
from ingest.schema import NS_PER_S

LONGEST_NS = 24 * 3600 * NS_PER_S  # longer is the mark of an unset start
EARLIEST_NS = 1_420_070_400 * NS_PER_S  # 2015-01-01
MAX_DEPTH = 256  # of a JSON body; an attribute of an attribute takes four, and protobuf itself ends at 100
PEELED = 24  # levels; attributes that are no lists end at 11
_TOO_DEEP = f"the body is JSON that nests deeper than {MAX_DEPTH} levels"
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"{}[]")))
_HEX = re.compile("[0-9a-fA-F]+")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
LONG_NUMBER = 30  # characters; a longer one is beyond every time
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


class _Span(msgspec.Struct, rename="camel"):
    """What the check of a JSON span reads."""

    trace_id: str | None = None
    span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None


class _Scope(msgspec.Struct, rename="camel"):
    spans: list[_Span] | None = None


class _Resource(msgspec.Struct, rename="camel"):
    scope_spans: list[_Scope] | None = None
    instrumentation_library_spans: list[_Scope] | None = None


class _Body(msgspec.Struct, rename="camel"):
    resource_spans: list[_Resource] | None = None


_JSON_BODY = msgspec.json.Decoder(_Body, strict=False)


def check_protobuf(body: bytes, latest_ns: int = FAR_TIME_NS) -> tuple[int, list[RawReject]]:
    """Number of spans of a protobuf body, and the refused ones.

    Args:
        latest_ns: a span that begins later is refused.

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
        reason = _reason(span, latest_ns)
        if reason is not None:
            name = span.name.decode("utf-8", "replace")
            refused.append(RawReject(None, None, reason, _head(name, span.trace_id.hex())))
    return len(spans), refused


def _head(name: str | None, trace_id: str | None) -> str:
    return f"{visible(name or '', most=MAX_TEXT)} {visible(trace_id or '', 'id')}"


def _reason(span: Any, latest_ns: int) -> str | None:
    n_bytes = len(span.trace_id)
    trace_id = span.trace_id.hex().zfill(32) if n_bytes in (8, 16) else None if n_bytes else ""
    span_id = span.span_id.hex() if len(span.span_id) == 8 else None
    return reason_against(trace_id, span_id, span.start_time_unix_nano, span.end_time_unix_nano or None, latest_ns)


def check_json(body: bytes, latest_ns: int = FAR_TIME_NS) -> tuple[int, list[RawReject]]:
    """Number of spans of a JSON body, and the refused ones; an unusual spelling (0 spans) is judged when it is stored.

    Args:
        latest_ns: a span that begins later is refused.

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
        for scope in (*(resource.scope_spans or ()), *(resource.instrumentation_library_spans or ()))
        for span in scope.spans or ()
    ]
    return len(spans), [
        RawReject(None, None, reason, _head(span.name, span.trace_id))
        for span in spans
        if (reason := _json_reason(span, latest_ns))
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


def reason_against(
    trace_id: str | None, span_id: str | None, start_ns: int | None, end_ns: int | None, latest_ns: int = FAR_TIME_NS
) -> str | None:
    """Why a span cannot be (errors.REJECT_REASONS), or None: the judgement of store/span_columns, in the same order.

    Args:
        trace_id: hex, "" where there is none, None where it is no id; so `span_id`.
        start_ns: NO_TIME where it was told and is none, 0 or None where not set.
        end_ns: the same; None of an open span. 0 is an end, before every start: only JSON can tell it from none.
        latest_ns: the latest instant at which it may begin.
    """
    if not trace_id:
        return "bad_trace_id" if trace_id is None else "no_trace_id"
    if not trace_id.strip("0"):
        return "zero_trace_id"
    if not span_id or not span_id.strip("0"):
        return "no_span_id"
    if start_ns in (None, 0, NO_TIME):
        return "start_unset"
    if not EARLIEST_NS <= start_ns <= latest_ns:
        return "time_out_of_range"
    if end_ns is None:
        return None
    if end_ns < 0:
        return "bad_value"
    if end_ns < start_ns:
        return "end_before_start"
    return "duration_too_long" if end_ns - start_ns > LONGEST_NS else None


def _json_reason(span: _Span, latest_ns: int) -> str | None:
    start, end = told_time(span.start_time_unix_nano), told_time(span.end_time_unix_nano)
    trace_id = _json_id(span.trace_id, (32, 16), (22, 24)) if span.trace_id else ""
    return reason_against(trace_id, _json_id(span.span_id or "", (16,), (11, 12)), start, end, latest_ns)


def _json_id(text: str, hexes: tuple[int, ...], base64s: tuple[int, int]) -> str | None:
    """An id as hex of the first length of `hexes`; one that is shorter is padded, one of `base64s` characters decoded."""
    n = hexes[0]
    if len(text) in hexes:
        return text.lower().zfill(n) if _HEX.fullmatch(text) else None
    if len(text) in base64s:
        with suppress(ValueError):
            decoded = base64.b64decode(text.ljust(base64s[1], "="), validate=True)
            return decoded.hex() if len(decoded) * 2 == n else None
    return None


def told_time(value: object) -> int | None:
    """A time of OTLP JSON in ns, in every spelling that the bulk reader takes: None where absent or empty, NO_TIME where
    it is something else; what 64 bits do not hold is cut."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, dict):
        halves = [value.get(half) for half in ("high", "low")]
        if not all(isinstance(half, int) for half in halves):
            return NO_TIME
        high, low = (int(str(half)) for half in halves)
        return high * 2**32 + (low + 2**32) % 2**32
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return NO_TIME
        value = int(value) if value.strip().lstrip("+-").isdigit() and len(value) < LONG_NUMBER else float(value)
    if isinstance(value, float):
        return NO_TIME if math.isinf(value) else round(max(-FAR_TIME_NS, min(value, FAR_TIME_NS)))
    return max(-FAR_TIME_NS, min(value, FAR_TIME_NS)) if isinstance(value, int) else NO_TIME


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
