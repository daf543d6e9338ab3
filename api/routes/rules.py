"""The rules that advise: what there is, and rules of a house.

Input: a text of rules.yaml, an id. Output: the rules with their evidence in words; what the id means.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from analysis.rules.catalog import Catalog
from analysis.rules.explain import says
from api import entries
from api.house import ADOPTED_RULES
from api.routes.asking import Inside, answer

router = APIRouter(prefix="/api/v1", tags=["rules"])


@router.get("/rules", summary="The rules that advise, with their evidence in words")
def rules(house: Inside) -> Response:
    return answer(_listed(house.service.catalog()))


@router.put("/rules", summary="Advise by these rules over the built-in ones from now on (body: rules.yaml)")
async def put_rules(house: Inside, request: Request) -> Response:
    said = await request.body()
    return answer(_listed(house.service.adopt_rules(said, house.settings.spool_folder.resolve() / ADOPTED_RULES)))


@router.get("/explain/{entry_id}", summary="What an id means: of a metric, a format, a rule or an objective")
def explain(house: Inside, entry_id: str) -> Response:
    lines = entries.explain(entry_id, house.service.objectives(), house.service.catalog())
    return answer({"id": entry_id, "text": "\n".join(lines)})


def _listed(catalog: Catalog) -> dict[str, Any]:
    rows = [
        {
            "id": rule.id,
            "title": rule.title,
            "finds": rule.finds,
            "recommends": rule.recommends,
            "stages": rule.stages,
            "evidence": says(rule.when, outer=True),
            "min_bad": rule.min_bad,
        }
        for rule in catalog.rules
    ]
    return {"source": catalog.source, "rules": rows}
