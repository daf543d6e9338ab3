"""Records that the pages of the service are drawn from, filled from the store.

Input: a running house, ids. Output: HomeView, RequestView (reports/view/service.py).
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import polars as pl

from analysis.aggregates.verdicts import verdict_column
from analysis.measured import measured
from analysis.money import usd_text
from analysis.objectives import Objective
from analysis.result import AnalysisResult
from api.house import House
from api.latest import latest_report
from api.question import Question
from api.uploads import upload_view
from ingest.errors import NotFound
from ingest.schema import NS_PER_S, STAGES
from ingest.selection import Selection, to_iso
from ingest.store import lists
from reports.view.labels import is_spent
from reports.view.service import (
    CallItem,
    HomeView,
    JudgedBy,
    ReportItem,
    RequestView,
    SpanItem,
    UploadItem,
)

SHOWN = 10  # uploads and reports on the first page
VERDICTS = ("breached", "endangered", "unknown", "too_few", "met")  # worst first
LINKS = [("API", "/docs"), ("Figures of the service", "/metrics")]
SHOWN_DIMENSIONS = (
    "scenario",
    "tenant",
    "user",
    "session",
    "model",
    "requested_model",
    "provider",
    "region",
    "replica",
    "deployment_version",
    "route",
)


class _Verdict(msgspec.Struct):
    verdict: str


class _Figures(msgspec.Struct):
    """The few figures of a stored result that a list shows."""

    requests_per_second: float | None = None
    cost_usd: str | None = None
    requests: int = 0
    unpriced_requests: int = 0
    grade: str | None = None


class _Brief(msgspec.Struct):
    objectives: list[_Verdict]
    goodput: _Figures
    summary: _Figures
    data_quality: _Figures


def home_view(house: House) -> HomeView:
    """Uploads, reports and the latest verdicts."""
    uploads = [upload_item(house, row) for row in lists.uploads_page(house.store, None, SHOWN).to_dicts()]
    reports = [report_item(house, row) for row in lists.reports_page(house.store, None, SHOWN).to_dicts()]
    latest_id = latest_report(house.store)
    latest = _latest(house, latest_id)
    return HomeView(
        uploads=uploads,
        reports=reports,
        latest=latest,
        latest_report=latest_id,
        timezone=house.service.timezone(Question()),
        simulated=latest.provenance.simulated if latest else False,
        retention=house.settings.retention,
        rolled_until=house.retention.view()["rolled_up"]["to"],
        extra_links=LINKS,
    )


def upload_item(house: House, row: dict[str, Any]) -> UploadItem:
    """One upload as the page lists it."""
    view = upload_view(row, house.jobs.about(row["upload_id"]))
    names = ("id", "name", "format", "state", "read", "accepted", "duplicate", "rejected", "received", "size_bytes")
    return UploadItem(
        **{name: view[name] for name in names},
        message=view["message"],
        reasons=view["reasons"],
        rolled_up=view["rolled_up"],
    )


def report_item(house: House, row: dict[str, Any]) -> ReportItem:
    """One report as the page lists it, with a few figures of its result."""
    stored = lists.report(house.store, row["report_id"])
    brief = msgspec.json.decode(stored["result"], type=_Brief) if stored else None
    verdicts = [item.verdict for item in brief.objectives] if brief else []
    return ReportItem(
        id=row["report_id"],
        title=row["title"],
        made=to_iso(row["made_ns"]),
        revision=row["revision"],
        verdict=next((verdict for verdict in VERDICTS if verdict in verdicts), None),
        breached=verdicts.count("breached"),
        objectives=len(verdicts),
        goodput_per_second=brief.goodput.requests_per_second if brief else None,
        cost_usd=_spent(brief.summary) if brief else None,
        grade=brief.data_quality.grade if brief else None,
    )


def _spent(summary: _Figures) -> str | None:
    return summary.cost_usd if is_spent(summary.cost_usd, summary.unpriced_requests, summary.requests) else None


def request_view(house: House, request_id: str) -> RequestView:
    """One request with its stages, calls, spans and verdicts.

    Raises:
        NotFound: no such request.
    """
    row = lists.request(house.store, request_id)
    if row is None:
        raise NotFound(f'no request has the key, trace id or id "{request_id}"')
    figures, judged, cost = _judged(house, row)
    spans = lists.spans_of(house.store, row["trace_id"])
    promoted = json.loads(row["dimensions"] or "{}")
    shown = {name: row[name] for name in SHOWN_DIMENSIONS if row[name] is not None} | promoted
    return RequestView(
        id=row["request_key"],
        trace_id=row["trace_id"],
        started=None if row["started_ns"] is None else to_iso(row["started_ns"]),
        timezone=house.service.timezone(Question()),
        dimensions={name: str(value) for name, value in shown.items()},
        ttft=_seconds(row["ttft_ns"]),
        tpot=figures.get("tpot"),
        e2e=_seconds(row["e2e_ns"]),
        cost_usd=cost,
        stages={stage: _seconds(row[f"{stage}_ns"]) for stage in STAGES},
        calls=[_call(call, row["started_ns"]) for call in lists.calls_of(house.store, row["request_key"]).to_dicts()],
        spans=_span_items(spans, row["started_ns"]),
        judged=judged,
        flags=row["flags"] or [],
        attributes={name: str(value) for name, value in json.loads(row["attributes"] or "{}").items()},
        upload=row["upload_id"],
        simulated=row["source"] == "simulator",
        orphans=_orphans(spans),
        **{name: row[name] for name in ("status_class", "http_status", "error_type", "streaming", "vantage")},
        **{name: row[name] for name in ("attempts", "input_tokens", "cached_input_tokens", "output_tokens")},
    )


def _latest(house: House, report_id: str | None) -> AnalysisResult | None:
    if report_id is not None:
        return house.service.report(report_id)
    if lists.counts(house.store)["requests"]:
        return house.service.analyze(Question())
    return None


def _judged(house: House, row: dict[str, Any]) -> tuple[dict[str, Any], list[JudgedBy], str | None]:
    """Figures, verdicts and cost of one request, measured like all others; none without a wall clock."""
    if row["started_ns"] is None:
        return {}, [], None
    at = row["started_ns"]
    zone = house.service.timezone(Question())
    selection = Selection(at, at + 1, timezone=zone)
    objectives, prices, fleet = house.service.read_books(house.service.books)
    frame = measured(house.store, selection, objectives, prices, fleet).frame
    frame = frame.filter(pl.col("request_key") == row["request_key"])
    if frame.is_empty():
        return {}, [], None
    figures = frame.row(0, named=True)
    verdicts = ((item, verdict_column(frame, item, objectives.settings)[0]) for item in objectives.items)
    judged = [
        JudgedBy(
            objective=item.id,
            verdict=verdict,
            metric=item.metric,
            value=_figure(figures, item),
            threshold=item.threshold.constant if item.threshold else None,
            unit=item.conditions[0].metric.unit.value if len(item.conditions) == 1 else "",
        )
        for item, verdict in verdicts
        if verdict is not None and item.per_request
    ]
    pico = figures.get("cost_pico")
    return figures, judged, None if pico is None else usd_text(pico)


def _figure(figures: dict[str, Any], item: Objective) -> float | None:
    if len(item.conditions) != 1:
        return None
    value = figures.get(item.conditions[0].metric.column)
    return None if value is None else float(value)


def _call(call: dict[str, Any], origin_ns: int | None) -> CallItem:
    known = call["started_ns"] is not None
    return CallItem(
        model=call["model"],
        replica=call["replica"],
        start=_seconds(call["started_ns"] - origin_ns) if known and origin_ns is not None else None,
        seconds=_seconds(call["ended_ns"] - call["started_ns"]) if known and call["ended_ns"] is not None else None,
        queue=_seconds(call["queue_ns"]),
        prefill=_seconds(call["prefill_ns"]),
        decode=_seconds(call["decode_ns"]),
        input_tokens=call["input_tokens"],
        output_tokens=call["output_tokens"],
    )


def _span_items(spans: list[dict[str, Any]], origin_ns: int | None) -> list[SpanItem]:
    parents = {span["span_id"]: span["parent_id"] for span in spans}
    origin = origin_ns if origin_ns is not None else min((span["started_ns"] for span in spans), default=0)
    return [
        SpanItem(
            id=span["span_id"],
            parent=span["parent_id"],
            name=span["name"] or "",
            service=span["service"],
            depth=_depth(span["span_id"], parents),
            start=(span["started_ns"] - origin) / NS_PER_S,
            seconds=None if span["ended_ns"] is None else (span["ended_ns"] - span["started_ns"]) / NS_PER_S,
            stage=span["class"] if span["class"] in STAGES else None,
            error=span["event_error"] or ("error" if span["status_code"] == 2 else None),
            attributes={name: str(value) for name, value in span["attributes"].items()},
        )
        for span in spans
    ]


def _depth(span_id: str, parents: dict[str, str | None]) -> int:
    """Steps up to a span without a known parent; a circle of parents ends where it began."""
    seen = {span_id}
    parent = parents.get(span_id)
    while parent is not None and parent in parents and parent not in seen:
        seen.add(parent)
        parent = parents[parent]
    return len(seen) - 1


def _orphans(spans: list[dict[str, Any]]) -> int:
    known = {span["span_id"] for span in spans}
    return sum(span["parent_id"] is not None and span["parent_id"] not in known for span in spans)


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_S
