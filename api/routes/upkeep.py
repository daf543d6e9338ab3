"""The store as one file.

Input: nothing. Output: a copy that holds everything that was committed when it was asked for.
"""

from __future__ import annotations

from uuid import uuid4

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from api.copies import back_up
from api.routes.asking import Inside

router = APIRouter(prefix="/api/v1", tags=["upkeep"])


@router.get("/backup", summary="The store as one file, packed with zstd", response_class=FileResponse)
def backup(house: Inside) -> FileResponse:
    copy = house.settings.spool_folder / f"backup-{uuid4().hex}.duckdb.zst"
    back_up(house.store, copy)
    remove = BackgroundTask(copy.unlink, missing_ok=True)
    return FileResponse(copy, media_type="application/zstd", filename="tailwise.duckdb.zst", background=remove)
