"""Reports: make, list, read as page, JSON, Markdown, tables or PDF.

Input: a question. Output: a stored report; each of its forms is drawn from the stored result, never computed again.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from api.pages import page_policy
from api.pdf import print_pdf
from api.question import Books, Question, check_text, parse_where
from api.routes.asking import After, Inside, Limit, answer, page_key, read_key
from ingest.errors import NotFound
from ingest.selection import to_iso
from ingest.store import lists
from reports.render import render

router = APIRouter(tags=["reports"])

MEDIA = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "pdf": "application/pdf",
}


class Ask(BaseModel):
    """What a report is to be about; the files are texts of YAML."""

    model_config = ConfigDict(extra="forbid")

    week: str | None = None
    start: str | None = Field(None, alias="from")
    end: str | None = Field(None, alias="to")
    timezone: str | None = None
    where: list[str] = []
    objectives: str | None = None
    prices: str | None = None
    fleet: str | None = None
    rules: str | None = None
    command: str | None = None


Asking = Annotated[Ask | None, Body()]


@router.post("/api/v1/reports", summary="Make a report and keep it", status_code=201)
def make(house: Inside, ask: Asking = None) -> Response:
    row = house.service.make_report(_question(house, ask or Ask()))
    return answer(_view(row) | {"note": row["note"]}, 201, {"location": f"/reports/{row['report_id']}"})


@router.post("/api/v1/result", summary="The whole result for a question with files of its own; nothing is kept")
def ask_result(house: Inside, ask: Asking = None) -> Response:
    return answer(house.service.analyze(_question(house, ask or Ask())))


@router.get("/api/v1/reports", summary="All reports, the newest first")
def reports(house: Inside, after: After = None, limit: Limit = 50) -> Response:
    rows = list(lists.reports_page(house.store, read_key(after), limit).iter_rows(named=True))
    last = page_key(rows[-1]["made_ns"], rows[-1]["report_id"]) if len(rows) == limit else None
    return answer({"reports": [_view(row) for row in rows], "next": last})


@router.get(
    "/reports/{name}",
    summary="A report; .json, .md, .csv and .pdf are its other forms; `latest` is the newest that has requests",
)
def report(house: Inside, name: str) -> Response:
    report_id, dot, kind = name.rpartition(".")
    if not dot:
        report_id, kind = name, "html"
    if kind not in MEDIA:
        raise NotFound(f'a report has no form ".{kind}"; it has {", ".join(MEDIA)}')
    result = house.service.report(report_id)
    if kind == "pdf":
        return Response(print_pdf(render(result, "html")), media_type=MEDIA["pdf"])
    content = render(result, kind)
    headers = {"content-security-policy": page_policy(content)} if kind == "html" else {}
    if kind == "csv":
        headers["content-disposition"] = f'attachment; filename="{report_id}.csv"'
    return Response(content, headers=headers, media_type=MEDIA[kind])


@router.get("/reports", include_in_schema=False)
def reports_page() -> Response:
    return RedirectResponse("/")


def _question(house: Inside, ask: Ask) -> Question:
    keep = house.service.keep_text
    check_text("command", ask.command or "")
    books = Books(
        keep("objectives.yaml", ask.objectives),
        keep("prices.yaml", ask.prices),
        keep("fleet.yaml", ask.fleet),
        keep("rules.yaml", ask.rules),
    )
    return Question(ask.week, ask.start, ask.end, ask.timezone, parse_where(ask.where), books, ask.command)


def _view(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["report_id"],
        "title": row["title"],
        "made": to_iso(row["made_ns"]),
        "revision": row["revision"],
        "address": f"/reports/{row['report_id']}",
    }
