"""OTLP over HTTP: the receiver of a collector or an SDK.

Input: an ExportTraceServiceRequest, protobuf or JSON, packed or not. Output: as the specification says: 200 once the
spans are durable, with a partial success where some are refused; 400 and 413 for what will never go through; 429 and
503 with Retry-After for what may. Errors are a google.rpc Status in the encoding of the request.
Source: OTLP specification, section on OTLP/HTTP.
"""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from api.bodies import read_body, unpack
from api.export_answer import rpc_status, success
from api.problems import Refused, rpc_code_of, status_of
from api.routes.asking import Inside
from ingest.errors import ServiceError
from ingest.receive import Kind

router = APIRouter(tags=["receiver"])

MEDIA: dict[str, Kind] = {"application/x-protobuf": "protobuf", "application/json": "json"}
MEDIA_OF = {kind: media for media, kind in MEDIA.items()}


@router.post("/v1/traces", summary="OTLP over HTTP, protobuf or JSON; 200 means durable")
async def traces(house: Inside, request: Request) -> Response:
    media = request.headers.get("content-type", "").split(";")[0].strip().lower()
    kind = MEDIA.get(media)
    if kind is None:
        raise Refused(
            f'content type "{media}" is not one of OTLP; send {" or ".join(MEDIA)}',
            status=415,
            code="unknown_media_type",
        )
    settings = house.settings
    try:
        body = await read_body(request, settings.max_body_bytes)
        encoding = request.headers.get("content-encoding", "")
        body = await run_in_threadpool(unpack, body, encoding, settings.max_unpacked_bytes)
        checked = await house.receiver.take(kind, body)
    except ServiceError as error:
        return _failure(kind, error)
    return Response(success(kind, checked), media_type=MEDIA_OF[kind])


def _failure(kind: Kind, error: ServiceError) -> Response:
    status = status_of(error)
    if status == 422:  # a body that is no export request is a bad request in the words of the specification
        status = 400
    code, headers = rpc_code_of(error), {}
    if isinstance(error, Refused) and error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    if kind == "json":
        body = json.dumps({"code": code, "message": error.message}).encode()
    else:
        body = rpc_status(code, error.message)
    return Response(body, status, headers, MEDIA_OF[kind])
