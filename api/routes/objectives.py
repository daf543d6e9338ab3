"""Objectives, their verdicts, and the diagnosis of a broken one.

Input: a selection, the id of an objective. Output: verdicts with counts; findings with evidence and recommendations.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.house import ADOPTED
from api.routes.asking import Asked, Inside, answer, parts

router = APIRouter(prefix="/api/v1", tags=["objectives"])
BROKEN = ("breached", "endangered")


@router.get("/objectives", summary="Every objective with its verdict, budget and burn rates")
def objectives(house: Inside, question: Asked) -> Response:
    return parts(house.service.analyze(question), "objectives")


@router.put("/objectives", summary="Judge by these objectives from now on (body: objectives.yaml)", status_code=200)
async def put_objectives(house: Inside, request: Request) -> Response:
    said = await request.body()
    read = house.service.adopt_objectives(said, house.settings.spool_folder.resolve() / ADOPTED)
    return answer({"objectives": [item.id for item in read.items], "timezone": read.settings.timezone})


@router.get("/objectives/{objective_id}", summary="One objective with its windows")
def objective(house: Inside, question: Asked, objective_id: str) -> Response:
    found = house.service.diagnosis(question, objective_id)
    return answer({"selection": found.selection, "objective": found.objective})


@router.get("/objectives/{objective_id}/diagnosis", summary="Why it broke, since when, where, and what to do first")
def diagnosis(house: Inside, question: Asked, objective_id: str) -> Response:
    return answer(house.service.diagnosis(question, objective_id))


@router.get("/breaches", summary="Broken and endangered objectives with their findings")
def breaches(house: Inside, question: Asked) -> Response:
    result = house.service.analyze(question)
    rows = [
        {"objective": found, "findings": [f for f in result.findings if f.objective == found.id]}
        for found in result.objectives
        if found.verdict in BROKEN
    ]
    return answer({"selection": result.selection, "breaches": rows})
