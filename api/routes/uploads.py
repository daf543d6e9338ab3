"""Uploads: send a file in, watch it being read, read its receipt, take it out again.

Input: raw streams or forms. Output: uploads as JSON; progress as server-sent events; rejected rows paged by key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request, UploadFile
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from api.house import House
from api.problems import Refused
from api.routes.asking import After, Inside, Limit, answer, page_key, read_key
from api.uploads import READING, upload_view
from ingest.bounds import LEAST_RATE
from ingest.errors import REJECT_REASONS
from ingest.formats.catalog import FORMATS
from ingest.mapping import parse_mapping
from ingest.receive import is_of_an_hour
from ingest.selection import parse_instant
from ingest.sniff import named
from ingest.store import lists

router = APIRouter(prefix="/api/v1/uploads", tags=["uploads"])

EVENT_S = 0.25  # between two looks at the progress
CHUNK = 1 << 20


def load_parameters(
    format: Annotated[str | None, Query(description="name of a format; default recognized by content")] = None,  # noqa: A002
    sampling_rate: Annotated[
        float | None, Query(ge=LEAST_RATE, le=1, description="share of requests that was kept")
    ] = None,
    attributes: Annotated[str, Query(pattern="^(all|mapped)$", description="keep unmapped attributes")] = "all",
    mapping: Annotated[str | None, Query(description="text of a mapping.yaml; default that of the server")] = None,
    start: Annotated[
        str | None, Query(description="where times begin that count from the start of a run, ISO 8601")
    ] = None,
) -> dict[str, Any]:
    """How a file is to be read; an unknown format or a mapping that breaks a rule is refused before the file is taken."""
    if format is not None:
        named(FORMATS, format)
    if mapping is not None:
        parse_mapping(mapping)
    if start is not None:
        parse_instant(start, "UTC")
    return {
        "format": format,
        "sampling_rate": sampling_rate,
        "attributes": attributes,
        "mapping": mapping,
        "start": start,
    }


Parameters = Annotated[dict[str, Any], Depends(load_parameters)]


def existing(house: Inside, upload_id: str) -> dict[str, Any]:
    """The upload's row; raises before a stream of events begins."""
    return house.uploads.get(upload_id)


Existing = Annotated[dict[str, Any], Depends(existing)]


@router.put("/{filename:path}", summary="Send one file as the body", status_code=202)
async def put(house: Inside, request: Request, filename: str, parameters: Parameters) -> Response:
    if not filename.strip("/"):
        raise Refused("an upload needs a name: PUT /api/v1/uploads/traces.jsonl", status=422, code="no_name")
    return _accepted(house, [await house.uploads.take(filename, request.stream(), house.jobs, parameters)])


@router.post("", summary="Send files as a form", status_code=202)
async def post(house: Inside, file: Annotated[list[UploadFile], Form()], parameters: Parameters) -> Response:
    rows = [await house.uploads.take(f.filename or "", _chunks(f), house.jobs, parameters) for f in file]
    return _accepted(house, rows)


@router.get("", summary="All uploads, the newest first")
def uploads(house: Inside, after: After = None, limit: Limit = 50) -> Response:
    rows = list(lists.uploads_page(house.store, read_key(after), limit).iter_rows(named=True))
    last = page_key(rows[-1]["received_ns"], rows[-1]["upload_id"]) if len(rows) == limit else None
    return answer({"uploads": [_view(house, row) for row in rows], "next": last})


@router.get("/{upload_id}", summary="One upload with its receipt")
def upload(house: Inside, row: Existing) -> Response:
    return answer(_view(house, row))


@router.get("/{upload_id}/events", summary="Progress until it is done", response_class=EventSourceResponse)
async def events(house: Inside, row: Existing) -> AsyncIterator[ServerSentEvent]:
    last: dict[str, Any] | None = None
    while True:
        view = await run_in_threadpool(lambda: _view(house, house.uploads.get(row["upload_id"])))
        if view["state"] not in READING.values():
            yield ServerSentEvent(event="receipt", data=view)
            return
        if view != last:
            yield ServerSentEvent(event="progress", data=view)
        last = view
        await asyncio.sleep(EVENT_S)


@router.get(
    "/{upload_id}/rejects", summary="Rejected rows with line, reason, column and value, and head, in source order"
)
def rejects(
    house: Inside,
    row: Existing,
    after: Annotated[int, Query(ge=-1, description="`next` of the page before")] = -1,
    limit: Limit = 100,
) -> Response:
    rows = house.store.rejects(row["upload_id"], after, limit).to_dicts()
    told = [
        {"line": r["line"], "offset": r["byte_offset"], "reason": r["reason"], "head": r["head"], "detail": r["detail"]}
        | {"says": REJECT_REASONS.get(r["reason"], r["reason"])}
        for r in rows
    ]
    return answer({"rejects": told, "next": rows[-1]["row"] if len(rows) == limit else None})


@router.delete("/{upload_id}", summary="Take it and its rows out again", status_code=204)
def delete(house: Inside, upload_id: str) -> Response:
    if is_of_an_hour(upload_id):
        house.receiver.flush()  # what was acknowledged belongs to it, and would come after
    house.uploads.remove(upload_id, house.jobs)
    return Response(status_code=204)


def _accepted(house: House, rows: list[dict[str, Any]]) -> Response:
    views = [_view(house, row) for row in rows]
    location = f"/api/v1/uploads/{views[0]['id']}"
    return answer(views[0] if len(views) == 1 else {"uploads": views}, 202, {"location": location})


def _view(house: House, row: dict[str, Any]) -> dict[str, Any]:
    return upload_view(row, house.jobs.about(row["upload_id"]))


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(CHUNK):
        yield chunk
