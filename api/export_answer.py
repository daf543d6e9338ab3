"""Answers of the OTLP receiver, the same over HTTP and gRPC.

Input: what a body held, or why it is refused. Output: an ExportTraceServiceResponse, a google.rpc.Status.
Source: OTLP specification, sections on partial success and on failures; google/rpc/status.proto, error_details.proto.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from api.problems import rpc_code
from ingest.receive import Checked, Kind

PATH = "/v1/traces"  # of exports over HTTP
MEDIA: dict[str, Kind] = {"application/x-protobuf": "protobuf", "application/json": "json"}
MEDIA_OF = {kind: media for media, kind in MEDIA.items()}
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
LENGTH_DELIMITED = 2  # wire type of texts and messages
MORE = 0x80  # bit of a varint's byte that is not the last


def success(kind: Kind, checked: Checked) -> bytes:
    """The response of an export whose spans are durable; a partial success where some are refused."""
    refused = sum(checked.refused.values())
    says = ", ".join(f"{count} x {reason}" for reason, count in sorted(checked.refused.items()))
    if kind == "protobuf":
        response = ExportTraceServiceResponse()
        if refused:
            response.partial_success.rejected_spans = refused
            response.partial_success.error_message = says
        return bytes(response.SerializeToString())
    if not refused:
        return b"{}"
    return json.dumps({"partialSuccess": {"rejectedSpans": str(refused), "errorMessage": says}}).encode()


def media_of(content_type: str) -> str:
    """The media type of a header, without its parameters."""
    return content_type.split(";", maxsplit=1)[0].strip().lower()


def failure(content_type: str, problem: Mapping[str, object]) -> tuple[int, str, bytes]:
    """Status, media type and body of an export that fails: a google.rpc.Status in the encoding of the request, in JSON
    if that is none.

    Args:
        content_type: header of the request.
        problem: members of the problem (problems.problem) that any other route answers with.
    """
    status = int(str(problem["status"]))
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:  # a body that is no export request is a bad request here
        status = HTTPStatus.BAD_REQUEST.value
    code = rpc_code(status)
    message = ". ".join(str(problem[name]) for name in ("detail", "hint") if problem.get(name))
    if MEDIA.get(media_of(content_type)) == "protobuf":
        return status, MEDIA_OF["protobuf"], rpc_status(code, message)
    return status, MEDIA_OF["json"], json.dumps({"code": code, "message": message}).encode()


def rpc_status(code: int, message: str, retry_after: int | None = None) -> bytes:
    """google.rpc.Status in protobuf; its messages are in a package that is too much for three fields.

    Args:
        retry_after: seconds after which the same export may go through; None: it never will.
    """
    told = bytes([0x08, code]) + _field(2, message.encode())
    if retry_after is not None:
        delay = _field(1, Duration(seconds=retry_after).SerializeToString())  # RetryInfo.retry_delay
        told += _field(3, Any(type_url=RETRY_INFO, value=delay).SerializeToString())
    return told


def _field(number: int, content: bytes) -> bytes:
    length, size = len(content), b""
    while length >= MORE:
        size += bytes([length % MORE | MORE])
        length //= MORE
    return bytes([number << 3 | LENGTH_DELIMITED]) + size + bytes([length]) + content
