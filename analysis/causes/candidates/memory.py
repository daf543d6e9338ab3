"""KV memory: the same tokens in flight fill more of the cache than before.

Input: Scene. Output: candidate memory_shrunk, or none.
Source: Little's law. Tokens in flight on a replica = sum of tokens x time in prefill and decode / length of the interval;
the share of the cache that they fill moves with them, in every overload, unless the cache itself became smaller.
"""

from __future__ import annotations

from collections.abc import Set

import polars as pl

from analysis.aggregates.statistics import quantile, quantile_expr
from analysis.causes.candidates.candidate import Candidate, named
from analysis.causes.figures import number
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

SHRUNK = 1.5  # usage against tokens in flight; overloads, longer prompts and lost caches stay within 1.1
FULLER = 1.3  # of the mean usage itself: a smaller cache is a fuller one
FULL_ENOUGH = 0.3  # median usage met by those that waited: requests wait before the last token is taken
WAITED_S = 0.5
MIN_SEEN = 30
MIN_IN_BIN = 5
BIN_S = 300.0


def candidates(scene: Scene, settings: CauseSettings, short: Set[str]) -> list[Candidate]:
    """At most one candidate; pools in `short` are left out, for they miss replicas.

    A router that chooses the emptiest replica shows each request a cache below the mean; one that has no choice left
    shows the mean, and the same cache seems to fill faster.
    """
    rows = scene.rows
    if not rows.has("kv_cache_usage", "replica", "prefill_ns", "decode_ns", "input_tokens", "output_tokens"):
        return []
    now, before = _filled(scene.inside), _filled(scene.normal)
    table = now.join(before, on=["replica", "pool"], suffix="_before").filter(pl.col("fills_before") > 0)
    table = table.filter(~pl.col("pool").is_in(list(short)))
    table = table.with_columns(ratio=pl.col("fills") / pl.col("fills_before")).sort("replica")
    small = table.filter((pl.col("ratio") >= SHRUNK) & (pl.col("usage") >= FULLER * pl.col("usage_before")))
    if small.height == 0:
        return []
    sick = small["replica"].to_list()
    waiting = scene.inside.filter(pl.col("replica").is_in(sick) & (pl.col("t_queue") > WAITED_S))
    met = quantile(waiting["kv_cache_usage"], 0.5) if waiting.height >= settings.min_support else None
    if met is None or met < FULL_ENOUGH:
        return []
    return [_shrunk(scene, small, table, met)]


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Usage per token in flight (up to a constant) and mean usage, per replica: the median of bins of five minutes, for
    load that comes and goes within a longer time would part the two."""
    calls = pl.col("llm_calls").clip(lower_bound=1)
    tokens = (pl.col("uncached") + pl.col("output_tokens") / 2) / calls
    held = pl.col("t_prefill") + pl.col("t_decode")
    return (
        frame.lazy()
        .drop_nulls(["replica", "kv_cache_usage"])
        .group_by("replica", "pool", (pl.col("at") // BIN_S).alias("bin"))
        .agg(flight=(tokens * held).sum(), usage=pl.col("kv_cache_usage").mean(), n=pl.len())
        .filter((pl.col("n") >= MIN_IN_BIN) & (pl.col("flight") > 0))
        .group_by("replica", "pool")
        .agg(
            fills=quantile_expr(pl.col("usage") / pl.col("flight"), 0.5),
            usage=pl.col("usage").mean(),
            n=pl.col("n").sum(),
        )
        .filter(pl.col("n") >= MIN_SEEN)
        .with_columns(pl.col("replica", "pool").cast(pl.String))
        .collect()
    )


def _shrunk(scene: Scene, small: pl.DataFrame, table: pl.DataFrame, met: float) -> Candidate:
    names = small["replica"].to_list()
    ratio = number(quantile(small["ratio"], 0.5))
    pools = small["pool"].unique().sort().to_list()
    dims = [name for name in ("model", "region") if name in scene.rows.dimensions]
    values = [dict(zip(dims, pool.split("|"), strict=False)) for pool in pools]
    shared = tuple((name, values[0][name]) for name in dims if len({value[name] for value in values}) == 1)
    one = len(names) == 1 and table.height > 1
    return Candidate(
        id="memory_shrunk",
        cause="config",
        stage="queue",
        segment=(("replica", names[0]),) if one else shared,
        reach=dict.fromkeys(pools, ratio),
        says=f"the KV cache of {named(names)} fills {ratio:.1f} times as fast for the same tokens in flight",
        evidence=(
            Evidence("KV usage against tokens in flight", ratio, 1.0, "ratio", int(small["n"].sum())),
            Evidence("mean KV usage", number(small["usage"].mean()), number(small["usage_before"].mean()), "ratio"),
            Evidence("median KV usage met by those that waited", met, None, "ratio"),
        ),
        facts={"memory_ratio": ratio},
    )
