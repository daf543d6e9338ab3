"""Costs by any dimensions, as JSON, CSV or Parquet.

Input: a selection, dimensions. Output: rows that add up to the total, with what could not be priced shown beside it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.routes.asking import Asked, Inside, answer, names_of
from reports.writers.cost_table import write_costs

router = APIRouter(prefix="/api/v1", tags=["costs"])

MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@router.get("/costs", summary="Who spent what: the cost cube by any dimensions")
def costs(
    house: Inside,
    question: Asked,
    by: Annotated[str, Query(description="dimensions, separated by commas")] = "user",
    format: Annotated[Literal["json", "csv", "parquet", "xlsx"], Query()] = "json",  # noqa: A002 - name of the contract
) -> Response:
    found = house.service.costs(question, names_of(by))
    if format == "json":
        return answer(found)
    headers = {"content-disposition": f'attachment; filename="costs.{format}"'}
    return Response(write_costs(found, format), headers=headers, media_type=MEDIA[format])
