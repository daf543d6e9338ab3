"""Router: one replica takes far more of its pool than before, while the others serve on.

Input: Scene. Output: candidate router_skew per pool, or none.
Source: a replica's share of its pool inside against its own normal share, never against an even split: pools are often
uneven on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Set

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

SKEWED = 1.6  # a neighbor that is slow or gone for a part of the time shifts less
ALIVE = 0.25  # of its normal share; below, a replica is missing, and that is another cause
Z = 6.0


def candidates(scene: Scene, settings: CauseSettings, short: Set[str]) -> list[Candidate]:
    """One candidate per skewed pool, but for those in `short`, which miss replicas."""
    if not scene.rows.has("replica"):
        return []
    keys = ["replica", "pool"]
    now = scene.inside.drop_nulls("replica").group_by(keys).agg(now=pl.len())
    before = scene.normal.drop_nulls("replica").group_by(keys).agg(before=pl.col("w").sum())
    table = before.join(now, on=["replica", "pool"], how="full", coalesce=True)
    table = table.with_columns(pl.col(keys).cast(pl.String), pl.col("now", "before").fill_null(0)).sort(
        "pool", "replica"
    )
    table = table.with_columns(
        share=pl.col("now") / pl.col("now").sum().over("pool"),
        usual=pl.col("before") / pl.col("before").sum().over("pool"),
        total=pl.col("now").sum().over("pool"),
    )
    found = []
    for (pool,), part in table.group_by("pool", maintain_order=True):
        if pool in short or part.height < 2 or part.filter(pl.col("share") < ALIVE * pl.col("usual")).height:
            continue
        top = part.filter(pl.col("usual") > 0).sort(pl.col("share") / pl.col("usual"), descending=True).head(1)
        if top.height == 0:
            continue
        share, usual, total = float(top["share"][0]), float(top["usual"][0]), float(top["total"][0])
        sure = (share - usual) * math.sqrt(total / max(usual * (1 - usual), 1e-9))
        if share >= SKEWED * usual and sure >= Z and total >= settings.min_support * 3:
            found.append(_skewed(str(pool), str(top["replica"][0]), share, usual, int(top["now"][0])))
    return found


def _skewed(pool: str, name: str, share: float, usual: float, n: int) -> Candidate:
    return Candidate(
        id="router_skew",
        cause="config",
        stage="queue",
        segment=(("replica", name),),
        reach={},
        says=f"replica {name} takes {share:.0%} of {pool.replace('|', ' in ')} instead of {usual:.0%}",
        evidence=(Evidence("share of the pool's requests", share, usual, "ratio", n),),
        direct=(("replica", name),),
        direct_multiplier=share / usual,
        facts={"skew": share / usual},
    )
