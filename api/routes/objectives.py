"""Objectives, their verdicts, and the diagnosis of a broken one.

Input: a selection, the id of an objective. Output: verdicts with counts; findings with evidence and recommendations.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from analysis.openslo_export import write_openslo
from api.house import ADOPTED
from api.routes.asking import Asked, Inside, answer, parts

router = APIRouter(prefix="/api/v1", tags=["objectives"])
BROKEN = ("breached", "endangered")


@router.get("/objectives", summary="Every objective with its verdict, budget and burn rates; or as OpenSLO, to keep")
def objectives(
    house: Inside,
    question: Asked,
    format: Annotated[Literal["json", "openslo"], Query()] = "json",  # noqa: A002 - name of the contract
) -> Response:
    if format == "openslo":
        return Response(write_openslo(house.service.objectives()), media_type="application/yaml")
    return parts(house.service.analyze(question), "objectives", "notes")


@router.put(
    "/objectives",
    summary="Judge by these objectives from now on (body: objectives.yaml, or OpenSLO v1)",
    status_code=200,
)
async def put_objectives(house: Inside, request: Request) -> Response:
    said = await request.body()
    read = house.service.adopt_objectives(said, house.settings.spool_folder.resolve() / ADOPTED)
    ids = [item.id for item in read.items]
    return answer({"objectives": ids, "timezone": read.settings.timezone, "notes": read.notes})


@router.get("/objectives/{objective_id}", summary="One objective with its windows")
def objective(house: Inside, question: Asked, objective_id: str) -> Response:
    found = house.service.diagnosis(question, objective_id)
    return answer({"selection": found.selection, "objective": found.objective, "notes": found.notes})


@router.get("/objectives/{objective_id}/diagnosis", summary="Why it broke, since when, where, and what to do first")
def diagnosis(house: Inside, question: Asked, objective_id: str) -> Response:
    return answer(house.service.diagnosis(question, objective_id))


@router.get("/breaches", summary="Broken and endangered objectives with their findings")
def breaches(house: Inside, question: Asked) -> Response:
    judged = house.service.judgement(question)
    rows = [
        {"objective": found, "findings": [f for f in judged.findings if f.objective == found.id]}
        for found in judged.objectives
        if found.verdict in BROKEN
    ]
    return answer({"selection": judged.selection, "breaches": rows, "notes": judged.notes})
