"""Cold starts: pools whose starting replicas take traffic before they are ready.

Input: Scene. Output: candidate cold_start, or none.
Source: the share of requests that a starting replica served, against the normal; it reaches the whole pool, for warm
replicas carry the rest.
"""

from __future__ import annotations

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import known
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence


def candidates(scene: Scene, settings: CauseSettings) -> list[Candidate]:
    """Starting replicas that take traffic before they are ready."""
    if not scene.rows.has("cold_start"):
        return []
    cold = pl.col("cold_start") == "true"
    inside, normal = scene.inside.filter(cold), scene.normal.filter(cold)
    share = inside.height / max(scene.inside.height, 1)
    before = float(normal["w"].sum()) / max(scene.expected_requests, 1e-9)
    if inside.height < 10 or share < settings.cold_share or share < 5 * before:
        return []
    pools = inside["pool"].cast(pl.String).value_counts(sort=True)
    sizes = scene.inside["pool"].cast(pl.String).value_counts()
    size = dict(sizes.iter_rows())
    reach = {
        str(pool): 1.0 + 3.0 * count / size[pool]  # a cold request waits for the start, and warm ones carry the rest
        for pool, count in pools.iter_rows()
        if count / size[pool] >= settings.cold_share
    }
    waited = inside["t_queue"].mean()
    usual = scene.normal["t_queue"].mean()
    return [
        Candidate(
            id="cold_start",
            cause="config",
            stage="queue",
            segment=(("cold_start", "true"),),
            reach={pool: max(value, 1.5) for pool, value in reach.items()},
            says=f"{share:.1%} of the requests went to replicas that were still starting ({before:.2%} before)",
            evidence=(
                Evidence("share of requests on a starting replica", share, before, "ratio", inside.height),
                Evidence("mean queue time of these requests", known(waited), known(usual), "s", inside.height),
            ),
            direct=(("cold_start", "true"),),
            direct_multiplier=4.0,
            facts={"cold_share": share},
        )
    ]
