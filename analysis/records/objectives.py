"""Objectives as they were judged: windows, burn rates, budgets, verdicts.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.records.figures import Interval


@dataclass(frozen=True)
class WindowVerdict:
    """One judged window of an objective (and of one value, for objectives per value)."""

    start: str | None
    end: str | None
    verdict: str  # breached, met, too_few, unknown
    n: int
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    value: float | None
    interval: Interval | None
    sure: bool | None
    of: str | None  # the value, for objectives per value


@dataclass(frozen=True)
class BurnRate:
    window: str
    factor: float
    long: float | None
    short: float | None
    firing: bool


@dataclass(frozen=True)
class WeekVerdict:
    """How an objective stood in an earlier week, judged by the objectives of today.

    Counts and attainment are exact, also where requests are gone (`rolled`), and so is a share of requests, a mean, a sum,
    a volume or a quotient of sums; the value of a percentile is then not told. The verdict is unknown where counts cannot give it, and `note` says why.
    """

    week: str
    verdict: str
    good: int
    bad: int
    attainment: float | None
    value: float | None
    rolled: int = 0  # requests that are gone and told from roll-ups: good and bad, or those that have the figure
    note: str | None = None  # why the verdict is unknown although there were requests


@dataclass(frozen=True)
class BurnPoint:
    """Good and bad requests of one hour: budget left and burn over time are drawn from these.

    The counts are of rows; `good_estimated` and `bad_estimated` are divided by the sampling rate of each, None in
    results of earlier versions.
    """

    at: str
    good: int
    bad: int
    good_estimated: float | None = None
    bad_estimated: float | None = None


@dataclass(frozen=True)
class Clause:
    """One condition of an objective with its own attainment."""

    metric: str
    threshold: float | str | None
    unit: str
    applicable: int
    kept: int
    attainment: float | None


@dataclass(frozen=True)
class ObjectiveResult:
    id: str
    title: str
    metric: str
    where: dict[str, list[str]]
    statistic: str | None
    target: float | None
    threshold: float | str | None  # number in the metric's unit, text where it depends on the length
    threshold_text: str
    unit: str
    per: str | None
    window: str | None
    period: str | None
    min_requests: int
    verdict: str  # breached, endangered, met, too_few, unknown
    sure: bool | None
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    interval: Interval | None
    bounds: Interval | None  # attainment if all excluded and unknown had been bad, and good
    value: float | None
    windows: list[WindowVerdict]
    worst: WindowVerdict | None
    n_windows_judged: int
    n_windows_breached: int
    budget_spent: float | None
    burn_rates: list[BurnRate]
    clauses: list[Clause]
    needed: int | None  # requests needed where there were too few
    says: str
    hours: list[BurnPoint] = field(default_factory=list)  # in order of time, hours without requests left out
    block_interval: Interval | None = (
        None  # of attainment, by blocks of ten minutes: incidents cluster, so it may be wider
    )
    burn_exhausted_at: str | None = None  # when the budget is spent at the burn of the longest window, if it is
    period_good: int | None = None  # over the last `period`, which may begin before the selection
    period_bad: int | None = None
    period_budget_spent: float | None = None
    period_start: str | None = None  # from when on requests were there to count
    period_rolled: int | None = None  # good and bad of the period that are gone and told from roll-ups, exactly
    period_days: list[BurnPoint] = field(default_factory=list)  # good and bad of the period per day of UTC
    history: list[WeekVerdict] = field(default_factory=list)  # up to seven weeks before a week, oldest first
