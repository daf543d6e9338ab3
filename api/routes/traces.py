"""OTLP over HTTP: the receiver of a collector or an SDK.

Input: an ExportTraceServiceRequest, protobuf or JSON, packed or not. Output: as the specification says: 200 once the
spans are durable, with a partial success where some are refused; 400 and 413 for what will never go through; 429 and
503 with Retry-After for what may. Errors are a google.rpc Status in the encoding of the request (export_answer), those
of the guards before this route too.
Source: OTLP specification, section on OTLP/HTTP.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from api.bodies import read_body, unpack
from api.export_answer import MEDIA, MEDIA_OF, PATH, media_of, success
from api.problems import Refused
from api.routes.asking import Inside

router = APIRouter(tags=["receiver"])


@router.post(PATH, summary="OTLP over HTTP, protobuf or JSON; 200 means durable")
async def traces(house: Inside, request: Request) -> Response:
    media = media_of(request.headers.get("content-type", ""))
    kind = MEDIA.get(media)
    if kind is None:
        raise Refused(
            f'content type "{media}" is not one of OTLP; send {" or ".join(MEDIA)}',
            status=415,
            code="unknown_media_type",
        )
    settings = house.settings
    with house.held.share() as share:
        body = await read_body(request, settings.max_body_bytes, share)
        encoding = request.headers.get("content-encoding", "")
        body = await run_in_threadpool(unpack, body, encoding, settings.max_unpacked_bytes, share)
        checked = await house.receiver.take(kind, body)
    return Response(success(kind, checked), media_type=MEDIA_OF[kind])
