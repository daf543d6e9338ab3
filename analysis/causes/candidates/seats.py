"""Seats: a queue beside free seats is a limit, not load.

Input: Scene. Output: candidate seats_low per model, or none.
Source: those who waited more than four times the normal P95 met a batch whose 90th percentile stays well below the
normal P99 batch while memory was free. Measured among waiting requests, for the edges of the incident still saw the
old limit. Where only the first token was timed, the wait is what the prompt's own prefill leaves of that time.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.candidates.work import Offered
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

WAITED = 4.0
FLOOR_S = 0.2  # a shorter wait is a step of the scheduler, not a queue
READ = ("pool", "batch_size", "kv_cache_usage")
ROOM = 1.5  # seats that the device would have had beyond the normal's largest batch


def candidates(scene: Scene, work: Offered, settings: CauseSettings) -> list[Candidate]:
    wait = _wait(scene, work)
    if scene.rows.batch_basis is None or wait is None:
        return []
    unit = "model" if "model" in scene.rows.dimensions else None
    groups = scene.inside[unit].drop_nulls().unique().cast(pl.String).sort().to_list() if unit else ["all"]
    read = [*READ, *([unit] if unit else []), wait.alias("wait")]
    inside, normal = scene.inside.select(read), scene.normal.select(read)
    found = []
    for name in groups:
        mine = pl.col(unit) == name if unit else pl.lit(value=True)
        made = _limit(scene, inside.filter(mine), normal.filter(mine), (unit, name), settings=settings)
        if made is not None:
            found.append(made)
    return found


def _wait(scene: Scene, work: Offered) -> pl.Expr | None:
    """Seconds in the queue, or before the first token beyond what prefill of the prompt takes; None where neither is known."""
    rows = scene.rows
    if rows.has("queue_ns"):
        return pl.col("t_queue")
    if rows.has("prefill_ns") or not work.alpha or "model" not in rows.dimensions:
        return None
    rate = pl.col("model").replace_strict(work.alpha, default=None, return_dtype=pl.Float64)
    return (pl.col("t_prompt") - rate * pl.col("uncached")).clip(lower_bound=0.0)


def _limit(
    scene: Scene, inside: pl.DataFrame, normal: pl.DataFrame, of: tuple[str | None, str], *, settings: CauseSettings
) -> Candidate | None:
    unit, name = of
    usual_wait, usual_batch = quantile(normal["wait"], 0.95), quantile(normal["batch_size"], 0.99)
    if usual_wait is None or usual_batch is None or usual_batch <= 0:
        return None
    waiting = inside.filter((pl.col("wait") > max(WAITED * usual_wait, FLOOR_S)) & (pl.col("batch_size") > 0))
    if waiting.height < settings.min_support or waiting.height < 0.02 * inside.height:
        return None
    ceiling = quantile(waiting["batch_size"], 0.9) or 0.0
    if ceiling > settings.seats * usual_batch:
        return None
    memory = quantile(waiting["kv_cache_usage"], 0.9) if scene.rows.has("kv_cache_usage") else None
    if memory is not None and memory >= settings.memory_free:
        return None
    waited = quantile(waiting["wait"], 0.5)
    multiplier = usual_batch / max(ceiling, 1.0) * ROOM
    pools = waiting["pool"].cast(pl.String).value_counts()
    reach = {str(pool): multiplier for pool, count in pools.iter_rows() if count >= settings.min_support}
    return Candidate(
        id="seats_low",
        cause="config",
        stage="queue",
        segment=((unit, name),) if unit else (),
        reach=reach,
        says=f"requests of {name} wait while at most {ceiling:.1f} decode together ({usual_batch:.1f} before)",
        evidence=(
            Evidence(
                "P90 batch size met by waiting requests, against the normal P99",
                ceiling,
                float(usual_batch),
                "sequences",
                waiting.height,
            ),
            Evidence(
                "median wait of those that waited",
                float(waited) if isinstance(waited, (int, float)) else None,
                float(usual_wait),
                "s",
                waiting.height,
            ),
            Evidence(
                f"P90 share of the KV cache in use (free: below {100 * settings.memory_free:.4g} %)",
                memory,
                None,
                "ratio",
            ),
        ),
        facts={
            "batch_ceiling": ceiling,
            "batch_usual": float(usual_batch),
            "kv_usage": memory if memory is not None else -1.0,
        },
    )
