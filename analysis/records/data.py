"""What the data are: selection, uploads, quality, totals, definitions, provenance.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SelectionRecord:
    """What was analyzed: half-open range, filters, zone."""

    start: str | None
    end: str | None
    timezone: str
    week: str | None  # ISO week such as 2026-W48 where the range is one
    where: dict[str, list[str]]
    title: str
    seconds: float | None  # wall-clock length of the range: the denominator of every rate
    compare_with: str | None  # title of the selection it is compared with


@dataclass(frozen=True)
class UploadLine:
    name: str
    format: str | None
    sha256: str | None
    read: int
    accepted: int
    duplicate: int
    rejected: int
    state: str
    message: str | None


@dataclass(frozen=True)
class RejectLine:
    upload: str
    line: int | None
    offset: int | None
    reason: str
    says: str
    head: str


@dataclass(frozen=True)
class Coverage:
    """Share of requests for which a field is known."""

    field: str
    n: int
    share: float | None


@dataclass(frozen=True)
class QualityCheck:
    """One published rule of the grade."""

    id: str
    title: str
    value: float | None
    grade: str  # A to D
    says: str


@dataclass(frozen=True)
class DataQuality:
    grade: str | None  # of no requests there is none
    read: int
    accepted: int
    duplicate: int
    rejected: int
    reasons: dict[str, int]
    uploads: list[UploadLine]
    rejects: list[RejectLine]  # the first ones
    coverage: list[Coverage]
    checks: list[QualityCheck]
    flags: dict[str, int]
    not_understood: dict[str, int]  # attribute name to number of spans or rows
    unattributed_share: float | None
    sampling_rate: float | None  # smallest of the selection
    n_effective: float | None  # requests of one rate that would tell as much: less than were read where rates differ
    n_without_time: int
    straddlers: int  # arrived inside, ended outside
    straddler_tokens: int
    notes: list[str]
    straddler_cost_usd: str | None = None
    sampling: dict[str, int] = field(default_factory=dict)  # requests read by sampling rate, the highest rate first


@dataclass(frozen=True)
class Summary:
    requests: int
    calls: int
    attempts: int
    failed: int
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    first: str | None
    last: str | None
    cost_usd: str | None
    unpriced_requests: int
    reasoning_tokens: int | None
    users: int
    tenants: int
    models: int
    requests_estimated: float  # divided by the sampling rate
    by_status: dict[str, int]


@dataclass(frozen=True)
class Definition:
    id: str
    kind: str  # metric, rule, stage, dimension
    title: str
    unit: str
    says: str
    source: str


@dataclass(frozen=True)
class Provenance:
    version: str
    made: str
    timezone: str
    objectives: str
    price_book: str
    rules: str
    simulated: bool
    inputs: list[str]
    command: str | None
