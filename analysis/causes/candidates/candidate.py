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
        return self.contrast(judged, bad) * float(bad.select(self.weight().mean()).item() or 0.0)

    def weight(self) -> pl.Expr:
        """Log multiplier of each request, 0 for those that the change does not reach."""
        logs = {pool: math.log(max(value, 1.0)) for pool, value in self.reach.items()}
        pool = pl.col("pool")
        found = pool.replace_strict(logs, default=0.0, return_dtype=pl.Float64) if logs else pl.lit(0.0)
        if self.direct is not None:
            own = pl.lit(math.log(max(self.direct_multiplier, 1.0)))
            found = pl.when(within(self.direct)).then(own).otherwise(found)
        return found if self.active is None else pl.when(self._acts()).then(found).otherwise(0.0)

    def contrast(self, judged: pl.DataFrame, bad: pl.DataFrame) -> float:
        """1 less the share of bad requests outside its own time against that within; 1 where it has no time of its own."""
        if self.active is None:
            return 1.0
        mine, outside = bad.filter(self._acts()), judged.filter(~self._acts())
        if outside.height < MIN_OUTSIDE or mine.height == 0:
            return 1.0
        within_time = mine.height / (judged.height - outside.height)
        return max(0.0, 1.0 - (bad.height - mine.height) / outside.height / within_time)

    def _acts(self) -> pl.Expr:
        start, end = self.active or (-math.inf, math.inf)
        return (pl.col("at") >= start) & (pl.col("at") < end + DRAIN_S)

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        return (self.id, self.segment)


def named(values: list[str], limit: int = 4) -> str:
    """Names in a sentence, cut after `limit`."""
    shown = ", ".join(values[:limit])
    return shown if len(values) <= limit else f"{shown} and {len(values) - limit} more"
