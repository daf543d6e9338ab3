"""Probes and figures of the service itself.

Input: nothing. Output: whether it lives, whether it is ready to answer, Prometheus text.
"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from api.routes.asking import Inside, answer
from ingest.store import lists

router = APIRouter(tags=["probes"])


@router.get("/healthz", summary="200 while the process answers")
async def healthz() -> Response:
    return answer({"status": "ok"})


@router.get("/readyz", summary="200 while the store answers")
def readyz(house: Inside) -> Response:
    return answer({"status": "ready", "rows": lists.counts(house.store), "unfinished_jobs": house.jobs.unfinished()})


@router.get("/metrics", summary="Prometheus figures of the service")
def metrics(house: Inside) -> Response:
    return Response(house.telemetry.text(), media_type=CONTENT_TYPE_LATEST)
