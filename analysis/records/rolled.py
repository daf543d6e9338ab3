"""Figures of days whose requests are gone.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RolledDistribution:
    """Percentiles over requests with status ok, those that are gone included: by rank, within 1 % of the value."""

    metric: str
    title: str
    unit: str
    streaming: bool | str | None  # true, false, null (not known) or "all"
    n: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True)
class RolledObjective:
    """Counts over the whole range, requests that are gone included: exact."""

    id: str
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    rolled: int  # good and bad among them that are gone
    note: str | None


@dataclass(frozen=True)
class RolledFigures:
    """A selection that has days whose rows were dropped: what roll-ups and standing rows say together.

    `basis` tells of each figure whether it is exact or within 1 %. All other parts of the result are about the rows
    that stand; findings need them.
    """

    start: str  # of the dropped days
    end: str
    days: int
    requests_dropped: int
    requests: int | None  # all of the selection; null where a filter asks for what was not kept
    by_status: dict[str, int]
    latency: list[RolledDistribution]
    objectives: list[RolledObjective]
    cost_usd: str | None
    unpriced_requests: int | None
    basis: dict[str, str]
    notes: list[str]
