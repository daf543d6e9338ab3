"""A change that requests cannot cause themselves, and whom it reaches.

Output: Candidate. `reach` holds the multiplier of load or of time per pool; `direct` the requests that it touches
without the pool in between, with their own multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from analysis.causes.segment import within
from analysis.result import Evidence

MIN_OUTSIDE = 30
DRAIN_S = 300.0  # a backlog outlasts its cause


@dataclass(frozen=True)
class Candidate:
    """One possible cause within an episode."""

    id: str  # kind of change: traffic_growth, replica_missing, ...
    cause: str  # of the vocabulary
    stage: str  # where it shows first
    segment: tuple[tuple[str, str], ...]
    reach: Mapping[str, float]  # pool to multiplier
    says: str  # half a sentence with its figures
    evidence: tuple[Evidence, ...]
    direct: tuple[tuple[str, str], ...] | None = None
    direct_multiplier: float = 1.0
    facts: Mapping[str, float | str] = field(default_factory=dict)
    active: tuple[float, float] | None = None  # its own time where it is known, in seconds from the first request

    def score(self, judged: pl.DataFrame) -> float:
        """Mean log multiplier over the bad requests, strength times coverage; `judged` holds good and bad ones.

        A change that came later than the breach, or went earlier, is worth less the more alike both times are.
        """
        bad = judged.filter(pl.col("bad"))
        if bad.height == 0:
            return 0.0
        total, everyone, contrast = 0.0, bad.height, 1.0
        if self.active is not None:
            mine = (pl.col("at") >= self.active[0]) & (pl.col("at") < self.active[1] + DRAIN_S)
            bad = bad.filter(mine)
            outside = judged.filter(~mine)
            if outside.height >= MIN_OUTSIDE and bad.height:
                within_time = bad.height / (judged.height - outside.height)
                contrast = max(0.0, 1.0 - (everyone - bad.height) / outside.height / within_time)
        touched = bad.filter(within(self.direct)) if self.direct is not None else bad.head(0)
        rest = bad.filter(~within(self.direct)) if self.direct is not None else bad
        total += touched.height * math.log(max(self.direct_multiplier, 1.0))
        for pool, count in rest["pool"].cast(pl.String).value_counts().iter_rows():
            total += count * math.log(max(self.reach.get(pool, 1.0), 1.0))
        return contrast * total / everyone

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        return (self.id, self.segment)


def named(values: list[str], limit: int = 4) -> str:
    """Names in a sentence, cut after `limit`."""
    shown = ", ".join(values[:limit])
    return shown if len(values) <= limit else f"{shown} and {len(values) - limit} more"
