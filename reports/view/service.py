"""What the service hands over for its own pages: plain records, filled by the api room.

Input: rows of the store, as the service reads them. Output: arguments of reports/pages.py:
`render_home(HomeView)`, `render_request(RequestView)`, `render_breach(result, objective)`.
Instants are ISO 8601 text in UTC, durations float seconds, money decimal text in USD, unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.result import AnalysisResult


@dataclass(frozen=True)
class UploadItem:
    """One upload; `state` is waiting, reading, done, failed or cancelled."""

    id: str
    name: str
    format: str | None
    state: str
    read: int | None
    accepted: int | None
    duplicate: int | None
    rejected: int | None
    received: str | None
    size_bytes: int | None = None
    message: str | None = None
    reasons: dict[str, int] = field(default_factory=dict)  # reason to number of rejected rows
    rolled_up: int = 0  # rows that retention dropped


@dataclass(frozen=True)
class ReportItem:
    """One stored report; figures are those of its result, null where it has none."""

    id: str
    title: str
    made: str
    revision: int
    verdict: str | None = None  # the worst of its objectives
    breached: int | None = None
    objectives: int | None = None
    goodput_per_second: float | None = None
    cost_usd: str | None = None
    grade: str | None = None


@dataclass(frozen=True)
class HomeView:
    """The page of the service: uploads and reports with the newest first, objectives from the latest result."""

    uploads: list[UploadItem]
    reports: list[ReportItem]
    latest: AnalysisResult | None = None
    latest_report: str | None = None  # id of the report that `latest` was stored as
    timezone: str = "UTC"
    simulated: bool = False
    retention: str | None = None  # how long rows are kept, such as 35d; None: for ever
    rolled_until: str | None = None  # end of the last day whose rows were dropped
    extra_links: list[tuple[str, str]] = field(default_factory=list)  # label, address


@dataclass(frozen=True)
class SpanItem:
    """One span as reported; `start` is seconds after the request's start, `depth` counts from 0."""

    id: str
    parent: str | None
    name: str
    service: str | None
    depth: int
    start: float
    seconds: float | None
    stage: str | None
    error: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CallItem:
    """One model call inside the request, as far as its engine measured it."""

    model: str | None
    replica: str | None
    start: float | None  # seconds after the request's start
    seconds: float | None
    queue: float | None
    prefill: float | None
    decode: float | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True)
class JudgedBy:
    """How one objective judged the request: good, bad, unknown or excluded."""

    objective: str
    verdict: str
    metric: str
    value: float | None
    threshold: float | None
    unit: str


@dataclass(frozen=True)
class RequestView:
    """One request with its stages and spans; lists are in order of time."""

    id: str
    trace_id: str | None
    started: str | None
    timezone: str
    status_class: str
    http_status: int | None
    error_type: str | None
    dimensions: dict[str, str]  # scenario, tenant, user, model, replica, region, ...
    streaming: bool | None
    vantage: str | None
    attempts: int | None
    ttft: float | None
    tpot: float | None
    e2e: float | None
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    cost_usd: str | None
    stages: dict[str, float | None]  # stage to seconds, in order of time; null where not measured
    calls: list[CallItem]
    spans: list[SpanItem]
    judged: list[JudgedBy]
    flags: list[str]
    attributes: dict[str, str]
    upload: str | None = None
    simulated: bool = False
    orphans: int = 0  # spans whose parent was not read
