"""Two selections compared.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.records.figures import Interval


@dataclass(frozen=True)
class Change:
    """One figure against the baseline; `interval` is of the change."""

    metric: str
    statistic: str
    unit: str
    value: float | None
    baseline: float | None
    change: float | None
    interval: Interval | None
    verdict: str  # better, worse, unchanged (within noise), unknown
    mix: float | None
    within: float | None
    n: int
    n_baseline: int
    unmatched: float | None = None  # of the change, from strata that only one side has
    p_value: float | None = None  # two-sided; `verdict` holds after control of false discoveries over all changes


@dataclass(frozen=True)
class SliceChange:
    """One stratum on both sides: the same work, so a change in it is no change of mix."""

    metric: str
    unit: str
    stratum: str
    n: int
    n_baseline: int
    p50: float | None
    p50_baseline: float | None
    p95: float | None
    p95_baseline: float | None
    p_value: float | None  # rank test of the whole distribution
    changed: bool  # after control of false discoveries over all slices


@dataclass(frozen=True)
class CostStep:
    """One reason for which the bill changed; the steps add up to the change, in the order in which they are taken."""

    id: str  # volume, mix, tokens_per_request, cache, price, new, vanished
    title: str
    change_usd: str


@dataclass(frozen=True)
class Comparison:
    title: str
    changes: list[Change]
    new_strata: list[str]
    vanished_strata: list[str]
    note: str | None
    slices: list[SliceChange] = field(default_factory=list)  # the ones that changed most surely first, at most 50
    cost_steps: list[CostStep] = field(default_factory=list)  # of requests that have a price on their side
