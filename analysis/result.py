"""The finished analysis: plain frozen records, from which JSON, page and Markdown are drawn.

All of them are named here; by subject they stand in `records/`, which imports nothing else of the project. Durations
are float seconds, shares are ratios, money is decimal text in USD, instants are ISO 8601 text in UTC, unknown is None.
Lists have a total order, so the same input gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.records.changes import Change, Comparison, CostStep, SliceChange
from analysis.records.data import (
    Coverage,
    DataQuality,
    Definition,
    Provenance,
    QualityCheck,
    RejectLine,
    SelectionRecord,
    Summary,
    UploadLine,
)
from analysis.records.figures import (
    AgentFigures,
    Availability,
    Cache,
    CompatibleFigure,
    CountBucket,
    Distribution,
    Fluidity,
    Goodput,
    Growth,
    GrowthBucket,
    HourCell,
    Interval,
    Knee,
    Load,
    LoadBand,
    LoadPoint,
    QualityLine,
    RankPair,
    Rate,
    ReplicaLine,
    RooflineLine,
    Saturation,
    StageShare,
    Stratum,
    Throughput,
    TimePoint,
    Waterfall,
    WaterfallStep,
)
from analysis.records.findings import (
    Contraindication,
    CostEffect,
    Evidence,
    Finding,
    FollowUp,
    Prediction,
    Recommendation,
    RecommendationCheck,
    SegmentLine,
    SegmentSeries,
    Shift,
    ShiftStep,
    Untested,
)
from analysis.records.money import (
    BilledModel,
    BudgetLine,
    CostDriver,
    CostRow,
    Costs,
    DayCost,
    OtherCostLine,
    OtherCostPart,
    ReconciledMonth,
    Reconciliation,
    UnpricedLine,
)
from analysis.records.objectives import BurnPoint, BurnRate, Clause, ObjectiveResult, WeekVerdict, WindowVerdict
from analysis.records.rolled import RolledDistribution, RolledFigures, RolledObjective

__all__ = [
    "RESULT_VERSION",
    "AgentFigures",
    "AnalysisResult",
    "Availability",
    "BilledModel",
    "BudgetLine",
    "BurnPoint",
    "BurnRate",
    "Cache",
    "Change",
    "Clause",
    "Comparison",
    "CompatibleFigure",
    "Contraindication",
    "CostDriver",
    "CostEffect",
    "CostRow",
    "CostStep",
    "Costs",
    "CountBucket",
    "Coverage",
    "DataQuality",
    "DayCost",
    "Definition",
    "Distribution",
    "Evidence",
    "Finding",
    "Fluidity",
    "FollowUp",
    "Goodput",
    "Growth",
    "GrowthBucket",
    "HourCell",
    "Interval",
    "Knee",
    "Load",
    "LoadBand",
    "LoadPoint",
    "ObjectiveResult",
    "OtherCostLine",
    "OtherCostPart",
    "Prediction",
    "Provenance",
    "QualityCheck",
    "QualityLine",
    "RankPair",
    "Rate",
    "Recommendation",
    "RecommendationCheck",
    "ReconciledMonth",
    "Reconciliation",
    "RejectLine",
    "ReplicaLine",
    "RolledDistribution",
    "RolledFigures",
    "RolledObjective",
    "RooflineLine",
    "Saturation",
    "SegmentLine",
    "SegmentSeries",
    "SelectionRecord",
    "Shift",
    "ShiftStep",
    "SliceChange",
    "StageShare",
    "Stratum",
    "Summary",
    "Throughput",
    "TimePoint",
    "UnpricedLine",
    "Untested",
    "UploadLine",
    "Waterfall",
    "WaterfallStep",
    "WeekVerdict",
    "WindowVerdict",
]

RESULT_VERSION = 1


@dataclass(frozen=True)
class AnalysisResult:
    result_version: int
    selection: SelectionRecord
    data_quality: DataQuality
    summary: Summary
    latency: list[Distribution]
    stages: list[StageShare]
    strata: list[Stratum]
    objectives: list[ObjectiveResult]
    goodput: Goodput
    availability: Availability
    throughput: Throughput
    load: Load
    cache: Cache
    findings: list[Finding]
    costs: Costs
    comparison: Comparison | None
    definitions: list[Definition]
    provenance: Provenance
    notes: list[str] = field(default_factory=list)
    compatible: list[CompatibleFigure] = field(default_factory=list)
    follow_up: FollowUp | None = None  # None: nothing earlier to follow up
    rolled: RolledFigures | None = None  # where days of the selection were dropped by retention
