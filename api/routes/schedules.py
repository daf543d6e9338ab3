"""Schedules: weekly and daily reports by themselves.

Input: a list of schedules. Output: the list, with the last and the next time of each.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.house import House
from api.routes.asking import Inside, answer

router = APIRouter(prefix="/api/v1/schedules", tags=["reports"])


@router.get("", summary="Reports that are made by themselves: when, of what, to whom")
def schedules(house: Inside) -> Response:
    return _listed(house)


@router.put("", summary="Replace the list of schedules")
async def put_schedules(house: Inside, request: Request) -> Response:
    house.schedules.put(await request.body())
    return _listed(house)


def _listed(house: House) -> Response:
    rows = [
        one.model_dump() | {"last": last.isoformat() if last else None, "next": upcoming.isoformat()}
        for one, last, upcoming in house.schedules.listed()
    ]
    return answer({"schedules": rows})
