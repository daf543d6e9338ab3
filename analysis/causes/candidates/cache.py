"""Prompt cache: cached tokens against those that the same prompts would have found.

Input: Scene and its offered work. Output: candidate cache_lost, or none.
Source: expected = min(input inside x ratio of the normal, requests x cached tokens per request of the normal), per
model and scenario and among successful requests: a prompt that grows around a fixed cached head has lost nothing.
"""

from __future__ import annotations

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.candidates.work import Offered
from analysis.causes.scene import Scene
from analysis.causes.segment import concise_slice, within
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

MIN_RATIO = 0.05  # a stratum that hardly ever hit has no cache to lose
SEARCHED = ("scenario", "model", "region", "replica", "deployment_version", "tenant", "route")


def candidates(scene: Scene, work: Offered, settings: CauseSettings) -> list[Candidate]:
    if not scene.rows.has("cached_input_tokens", "input_tokens"):
        return []
    rows = _losses(scene)
    if rows is None:
        return []
    expected, cached = float(rows["expected"].sum()), float(rows["cached_input_tokens"].sum())
    lost = rows.filter(pl.col("kept") < settings.cache_kept)
    if lost.height < settings.min_support or float(lost["excess"].sum()) < 0.1 * expected:
        return []
    dims = [name for name in SEARCHED if name in scene.rows.dimensions]
    is_lost = pl.col("kept") < settings.cache_kept  # what others miss by chance is no loss of theirs
    missed = pl.when(is_lost).then(pl.col("excess").clip(lower_bound=0.0)).otherwise(0.0)
    found = concise_slice(rows.with_columns(excess=missed), dims, settings)
    part = rows.filter(within(found.pairs))
    kept = float(part["cached_input_tokens"].sum()) / max(float(part["expected"].sum()), 1e-9)
    if kept > settings.cache_kept:
        return []
    reach = _reach(lost, work)
    where = " and ".join(f"{name} {value}" for name, value in found.pairs) or "all traffic"
    return [
        Candidate(
            id="cache_lost",
            cause="config",
            stage="prefill",
            segment=found.pairs,
            reach=reach,
            says=f"{where} found {kept:.0%} of the cached tokens expected",
            evidence=(
                Evidence("cached input tokens against those expected", kept, 1.0, "ratio", part.height),
                Evidence("cached share of input tokens", _ratio(part), _ratio_before(scene, found.pairs), "ratio"),
                Evidence("tokens that lost their cache", expected - cached, 0.0, "tokens"),
            ),
            facts={"cache_kept": kept, "cached_ratio": _ratio(part) or 0.0},
        )
    ]


def _ratio(part: pl.DataFrame) -> float | None:
    total = float(part["input_tokens"].sum() or 0)
    return float(part["cached_input_tokens"].sum() or 0) / total if total else None


def _ratio_before(scene: Scene, pairs: tuple[tuple[str, str], ...]) -> float | None:
    return _ratio(scene.normal.filter(within(pairs) & pl.col("ok")))


def _losses(scene: Scene) -> pl.DataFrame | None:
    """Successful requests with `expected` cached tokens, `excess` = lost ones, and `kept` of their stratum."""
    keys = [name for name in ("model", "scenario") if name in scene.rows.dimensions]
    if not keys:
        return None
    known = pl.col("ok") & (pl.col("input_tokens") > 0) & pl.col("cached_input_tokens").is_not_null()
    tokens = [pl.col("input_tokens").sum().alias("input"), pl.col("cached_input_tokens").sum().alias("cached")]
    before = (
        scene.normal.lazy()
        .filter(known)
        .group_by(keys)
        .agg(*tokens, n=pl.len())
        .filter((pl.col("n") >= 30) & (pl.col("cached") > MIN_RATIO * pl.col("input")))
        .select(*keys, ratio=pl.col("cached") / pl.col("input"), head=pl.col("cached") / pl.col("n"))
        .collect()
    )
    inside = scene.inside.filter(known).join(before, on=keys, how="inner", maintain_order="left")
    if inside.height == 0:
        return None
    totals = inside.group_by(keys).agg(
        total_in=pl.col("input_tokens").sum(), total_n=pl.len(), total_cached=pl.col("cached_input_tokens").sum()
    )
    rows = inside.join(totals, on=keys, how="left", maintain_order="left").with_columns(
        share=pl.min_horizontal(pl.col("ratio"), pl.col("total_n") * pl.col("head") / pl.col("total_in"))
    )
    return rows.with_columns(
        expected=pl.col("share") * pl.col("input_tokens"),
        kept=pl.col("total_cached") / (pl.col("share") * pl.col("total_in")),
    ).with_columns(excess=pl.col("expected") - pl.col("cached_input_tokens"))


def _reach(lost: pl.DataFrame, work: Offered) -> dict[str, float]:
    """Pool to its work against the work without the loss."""
    model = pl.col("model")
    alpha = model.replace_strict(work.alpha, default=0.0, return_dtype=pl.Float64) if work.alpha else pl.lit(1.0)
    gained = lost.group_by("pool").agg((pl.col("excess") * alpha).sum())
    pools = work.per_pool()
    reach = {}
    for pool, extra in gained.iter_rows():
        total = pools.get(pool, (0.0, 0.0))[0]
        if extra > 0 and total > 0:
            reach[str(pool)] = total / max(total - extra, 0.2 * total)
    return reach
