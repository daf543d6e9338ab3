"""Files for finance.

Input: a month or a selection, a version of FOCUS. Output: one zip whose files prove themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.finance import month_range, zipped
from api.routes.asking import Asked, Inside, names_of

router = APIRouter(prefix="/api/v1/exports", tags=["costs"])


@router.get("/focus", summary="FOCUS Cost and Usage of a month or a selection, with its reconciliation, as one zip")
def focus(
    house: Inside,
    question: Asked,
    period: Annotated[str | None, Query(description="calendar month in UTC, such as 2026-11")] = None,
    version: Annotated[Literal["1.2", "1.4"], Query(description="of FOCUS")] = "1.2",
    by: Annotated[str, Query(description="further dimensions of the rows, separated by commas")] = "",
) -> Response:
    if period is not None:
        start, end = month_range(period)
        question = replace(question, week=None, start=start, end=end)
    further = names_of(by)
    data = zipped(house.service.finance(question, further, version))
    headers = {"content-disposition": f'attachment; filename="focus-{period or "selection"}.zip"'}
    return Response(data, headers=headers, media_type="application/zip")
