"""Pages of the service itself.

Input: the store. Output: HTML drawn by the reports room, with a content policy that lets its own scripts run.
"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from api.judgement import find_objective
from api.pages import page_policy
from api.routes.asking import Asked, Inside
from api.views import home_view, request_view
from reports.pages import render_breach, render_home, render_request

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(house: Inside) -> HTMLResponse:
    return _page(render_home(home_view(house)))


@router.get("/requests/{request_id:path}")
def request(house: Inside, request_id: str) -> HTMLResponse:
    return _page(render_request(request_view(house, request_id)))


@router.get("/objectives/{objective_id}")
def objective(house: Inside, question: Asked, objective_id: str) -> HTMLResponse:
    result = house.service.analyze(question)
    find_objective(result.objectives, objective_id)
    return _page(render_breach(result, objective_id))


def _page(content: bytes) -> HTMLResponse:
    return HTMLResponse(content, headers={"content-security-policy": page_policy(content)})
