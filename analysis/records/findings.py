"""Why objectives broke and what to do: findings with evidence, recommendations and what became of them.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Evidence:
    figure: str
    value: float | str | None
    baseline: float | str | None
    unit: str
    n: int | None = None


@dataclass(frozen=True)
class Prediction:
    attainment: float | None
    low: float | None
    high: float | None
    value: float | None
    value_low: float | None
    value_high: float | None
    basis: str  # back_to_normal or remedy
    ignores: str


@dataclass(frozen=True)
class CostEffect:
    """What a remedy would have changed in the spend of the incident's time."""

    change_usd: str | None  # positive: dearer; None: not known
    says: str  # what the figure is made of, or why there is none


@dataclass(frozen=True)
class Recommendation:
    id: str  # id of the vocabulary
    entry: str | None  # entry of the knowledge base, such as KB-01
    title: str
    why: str
    actions: dict[str, str]  # per engine
    predicted: Prediction | None
    not_predicted: str | None  # why there is no prediction
    reported_effect: str
    precondition: str
    risk: str
    verify: str
    cost: CostEffect | None = None  # None in results of earlier versions


@dataclass(frozen=True)
class Contraindication:
    id: str
    why: str
    title: str = ""  # what the recommendation is called; empty in results of earlier versions


@dataclass(frozen=True)
class Untested:
    id: str
    missing: list[str]
    title: str = ""  # of the rule; empty in results of earlier versions


@dataclass(frozen=True)
class ShiftStep:
    """What one part of a figure is on both sides, in billionths of its unit; below zero where it took less."""

    step: str  # a stage or a cost driver; error, over_limit; rest: what no part explains
    of: str | None  # kind of error, where shares of bad requests are told by it; null: all others together
    baseline_nano: int
    value_nano: int
    change_nano: int


@dataclass(frozen=True)
class Shift:
    """The figure that broke, from normal to incident: the steps sum to the change, to the last unit.

    Whole billionths of `unit`: nanoseconds where it is s. Null where a side has too few requests.
    """

    figure: str  # p95, mean, bad_share; the id of the metric where it has no normal
    unit: str
    baseline_nano: int | None
    value_nano: int | None
    change_nano: int | None
    n_baseline: int
    n: int
    steps: list[ShiftStep]  # in the order of time, errors and the rest last
    says: str  # what the figure is, or why there are no steps


@dataclass(frozen=True)
class SegmentLine:
    """One line of a series; both lists have one entry per window, in the order of time."""

    name: str | None  # values of the segment, or the replica; null: the rest, or all
    role: str  # segment, peer (another replica), rest, all (no segment is named)
    n: list[int]
    values: list[float | None]  # null where fewer than `needed` requests count, or none of them was answered
    at_least: list[bool] = field(default_factory=list)  # the percentile is a failed request: the longest answer stands


@dataclass(frozen=True)
class SegmentSeries:
    """The figure of a shift over even windows of the selection, the segment against the rest."""

    figure: str
    unit: str
    start: str  # of the first window
    step_s: float
    needed: int  # requests below which a window is not told
    lines: list[SegmentLine]


@dataclass(frozen=True)
class Finding:
    objective: str
    verdict: str
    rank: int
    stage: str
    cause: str | None
    segment: dict[str, str]
    moves_together: dict[str, list[str]]
    window: tuple[str, str] | None
    title: str  # the finding in words
    says: str  # one sentence with its figures
    recommendations: list[Recommendation]
    contraindicated: list[Contraindication]
    untested: list[Untested]
    evidence: list[Evidence]
    share_of_bad: float | None
    structural_share: float | None
    confidence: str  # high, medium, low
    exemplars: list[str]
    incident: str | None  # id shared by findings of one incident
    n_bad: int | None  # rows as read, whatever their sampling rate: how much was seen
    windows: list[tuple[str, str]] = field(default_factory=list)  # all times of this cause; `window` is the strongest
    shift: Shift | None = None  # None in results of earlier versions
    series: SegmentSeries | None = None  # None: the figure has no course of time
    n_over: int | None = (
        None  # bad requests over the limit, a failure without the figure is none: the two shares are of these
    )


@dataclass(frozen=True)
class RecommendationCheck:
    """One recommendation of an earlier selection against what happened."""

    objective: str
    recommendation: str
    entry: str | None
    title: str
    stage: str
    segment: dict[str, str]
    window: tuple[str, str] | None  # of the earlier finding
    predicted: Prediction | None
    then_attainment: float | None  # of the objective's worst window then
    then_value: float | None
    now_verdict: str | None  # of the objective; None: it is no longer judged
    now_window: tuple[str, str] | None  # its worst window if it is broken again, else the same place in the week
    now_attainment: float | None
    now_value: float | None
    outcome: str  # inside, better or worse than the predicted interval; unknown
    evidence_holds: bool | None  # whether the evidence of the rule still holds; None: cannot be judged
    followed: str  # followed, not_followed, unknown
    says: str


@dataclass(frozen=True)
class FollowUp:
    """What became of the recommendations of the selection before."""

    title: str  # of that selection
    source: str  # the stored report, or that it was worked out from the requests
    checks: list[RecommendationCheck]
