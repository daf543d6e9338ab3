"""Requests one by one: rows of a selection paged by key, one request with its calls and spans.

Input: a selection or an id. Output: rows under the names of ingest/schema.py (times in integer nanoseconds), JSON
columns as objects, money as decimal text.
"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from api.question import check_dimensions
from api.routes.asking import After, Asked, Inside, Limit, answer, page_key, read_key
from api.rows import plain_row
from ingest.errors import ConfigError, NotFound
from ingest.selection import DERIVED_DIMENSIONS, DIMENSIONS
from ingest.store import lists

router = APIRouter(prefix="/api/v1/requests", tags=["requests"])


@router.get("", summary="Requests of a selection by arrival")
def requests(house: Inside, question: Asked, after: After = None, limit: Limit = 100) -> Response:
    names = [name for name, _ in question.where]
    if derived := [name for name in names if name in DERIVED_DIMENSIONS]:
        raise ConfigError(f"requests cannot be listed by {derived[0]}, which is worked out of several columns")
    if others := [name for name in names if name not in DIMENSIONS]:
        check_dimensions(others, lists.promoted_dimensions(house.store))
    selection = question.selection(house.service.timezone(question))
    rows = lists.requests_page(house.store, selection, read_key(after), limit).to_dicts()
    last = page_key(rows[-1]["started_ns"], rows[-1]["request_key"]) if len(rows) == limit else None
    return answer({"requests": [plain_row("requests", row) for row in rows], "next": last})


@router.get("/{request_id:path}", summary="One request with its stages, calls and spans")
def request(house: Inside, request_id: str) -> Response:
    row = lists.request(house.store, request_id)
    if row is None:
        raise NotFound(f'no request has the key, trace id or id "{request_id}"')
    calls = lists.calls_of(house.store, row["request_key"]).to_dicts()
    return answer(
        {
            "request": plain_row("requests", row),
            "calls": [plain_row("calls", call) for call in calls],
            "spans": lists.spans_of(house.store, row["trace_id"]),
        }
    )
