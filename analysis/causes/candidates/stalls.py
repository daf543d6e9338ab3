"""Stalls: the longest gap between tokens grew, the time per token far less.

Input: Scene. Output: candidate prefill_stalls or pauses, or none.
Source: a step that holds a long prefill stalls the sequences beside it for as long as that prefill takes, so the gaps
differ as prompts do; a pause of the process (garbage collection, a checkpoint) has one length.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import mean, number
from analysis.causes.scene import Scene
from analysis.causes.segment import concise_slice, within
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

GROWTH = 1.5  # of the P95 of the longest gap beyond that of the time per token: slower decoding stretches both alike
NARROW = 0.35  # quartile distance over median of the new gaps, below which they have one length
SEARCHED = ("replica", "model", "deployment_version", "region", "provider")


def candidates(scene: Scene, settings: CauseSettings) -> list[Candidate]:
    if not scene.rows.has("itl_max_ns", "decode_ns", "output_tokens"):
        return []
    gaps = pl.col("ok") & (pl.col("t_itl_max") > 0)
    inside, normal = scene.inside.filter(gaps), scene.normal.filter(gaps)
    if inside.height < settings.min_support or normal.height < settings.min_support:
        return []
    keys = [name for name in ("model",) if name in scene.rows.dimensions]
    usual = normal.group_by(keys).agg(usual=pl.col("t_itl_max").mean()) if keys else None
    rows = (
        inside.join(usual, on=keys, how="left", maintain_order="left")
        if usual is not None
        else inside.with_columns(usual=pl.lit(mean(normal, "t_itl_max")))
    )
    rows = rows.with_columns(excess=pl.col("t_itl_max") - pl.col("usual"))
    dims = [name for name in SEARCHED if name in scene.rows.dimensions]
    found = concise_slice(rows, dims, settings)
    mine, before = rows.filter(within(found.pairs)), normal.filter(within(found.pairs))
    if mine.height < settings.min_support or before.height < settings.min_support:
        return []
    p95, p95_before = number(quantile(mine["t_itl_max"], 0.95)), number(quantile(before["t_itl_max"], 0.95))
    per_token, per_token_before = _per_token(mine), _per_token(before)
    slower = max(1.0, per_token / per_token_before) if per_token_before else 1.0
    if p95 < GROWTH * p95_before * slower:
        return []
    new = mine.filter(pl.col("t_itl_max") > number(quantile(before["t_itl_max"], 0.99)))
    middle = number(quantile(new["t_itl_max"], 0.5))
    spread = (number(quantile(new["t_itl_max"], 0.75)) - number(quantile(new["t_itl_max"], 0.25))) / max(middle, 1e-9)
    paused = spread < NARROW
    where = " and ".join(f"{name} {value}" for name, value in found.pairs) or "all traffic"
    words = "of nearly one length" if paused else "as long as the prefills beside them"
    return [
        Candidate(
            id="pauses" if paused else "prefill_stalls",
            cause="performance" if paused else "config",
            stage="decode",
            segment=found.pairs,
            reach={},
            says=f"gaps {words} ({middle:.2f} s) stall {where} beyond what the time per token explains",
            evidence=(
                Evidence("P95 of the longest gap between tokens", p95, p95_before, "s", mine.height),
                Evidence("median time per token", per_token, per_token_before, "s"),
                Evidence(
                    f"quartile distance of the new gaps over their median (of one length: below {100 * NARROW:.4g} %)",
                    spread,
                    None,
                    "ratio",
                    new.height,
                ),
            ),
            direct=found.pairs,
            direct_multiplier=p95 / max(p95_before, 1e-9),
            facts={"itl_growth": p95 / max(p95_before, 1e-9)},
        )
    ]


def _per_token(frame: pl.DataFrame) -> float:
    made = frame.filter(pl.col("output_tokens") > pl.col("llm_calls"))
    values = made.select((pl.col("t_decode") / (pl.col("output_tokens") - pl.col("llm_calls"))).alias("value"))["value"]
    return number(quantile(values, 0.5))
