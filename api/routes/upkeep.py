"""The care of the store: its copy as one file, and what is kept of it for how long.

Input: nothing. Output: a copy that holds everything that was committed when it was asked for; the days rolled up.
"""

from __future__ import annotations

from uuid import uuid4

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from api.copies import back_up
from api.routes.asking import Inside, answer

router = APIRouter(prefix="/api/v1", tags=["upkeep"])


@router.get("/retention", summary="How long raw rows are kept, and which days are rolled up")
def retention(house: Inside) -> Response:
    return answer(house.retention.view())


@router.get("/backup", summary="The store as one file, packed with zstd", response_class=FileResponse)
def backup(house: Inside) -> FileResponse:
    copy = house.settings.spool_folder / f"backup-{uuid4().hex}.duckdb.zst"
    back_up(house.store, copy)
    remove = BackgroundTask(copy.unlink, missing_ok=True)
    return FileResponse(copy, media_type="application/zstd", filename="tailwise.duckdb.zst", background=remove)
