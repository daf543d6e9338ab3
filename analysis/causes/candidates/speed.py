"""Speed at equal load: replicas that take longer for the same work.

Input: Scene and its offered work. Output: candidates replica_slow, version_slow, engine_slow.
Source: per replica the 25th percentile of TPOT over the normal median at the same batch size, against the same figure
of the replica in the normal, corrected for the share of its time that prefill takes: both are needed, for prefill of
others slows decoding at an equal batch. Per request and not per count, for a least-loaded router hides a slow replica.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile, quantile_expr
from analysis.causes.candidates.candidate import Candidate, named
from analysis.causes.candidates.work import Offered
from analysis.causes.figures import number
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

BATCH_STEP = 1.35  # width of a batch bin, as a ratio
PREFILL_SHARE = 0.75  # part of a replica's prefill time that its decoding loses
SHARED = ("deployment_version", "model", "region")


def candidates(scene: Scene, work: Offered, settings: CauseSettings) -> list[Candidate]:
    if scene.rows.batch_basis is None or not scene.rows.has("output_tokens", "decode_ns", "model"):
        return []
    unit = "replica" if scene.rows.has("replica") else "pool"
    table = _ratios(scene, work, unit)
    if table.height == 0:
        return []
    sick = [
        (str(name), float(ratio), int(n))
        for name, ratio, peers, n in table.select("unit", "ratio", "peers", "n").iter_rows()
        if ratio is not None and ratio >= settings.slow and (peers is None or ratio >= settings.slow * peers)
    ]
    if not sick:
        return []
    if unit == "pool":
        return [_pools(scene, sick)]
    members = _members(scene)
    segment = _shared([name for name, _, _ in sick], members)
    if segment is not None:
        return [_group(segment, sick, members)]
    return [_replica(name, ratio, n, members) for name, ratio, n in sick]


def _ratios(scene: Scene, work: Offered, unit: str) -> pl.DataFrame:
    """Time per token at equal batch against the normal, by unit; `peers` is the median of the others of its model."""
    usable = pl.col("ok") & (pl.col("output_tokens") > pl.col("llm_calls") + 4) & (pl.col("batch_size") > 0)
    per_token = pl.col("t_decode") / (pl.col("output_tokens") - pl.col("llm_calls"))
    step = (pl.col("batch_size").clip(lower_bound=1.0).log() / pl.lit(BATCH_STEP).log()).floor().cast(pl.Int32)
    chosen = {"unit": pl.col(unit).cast(pl.String), "model": pl.col("model"), "batch": step, "per_token": per_token}
    normal, inside = (
        frame.lazy().filter(usable).select(**chosen).drop_nulls("unit") for frame in (scene.normal, scene.inside)
    )
    usual = normal.group_by("model", "batch").agg(usual=quantile_expr("per_token", 0.5), seen=pl.len())
    usual = usual.filter(pl.col("seen") >= 20).drop("seen")

    def low(frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
        ratio = pl.col("per_token") / pl.col("usual")
        return (
            frame.join(usual, on=["model", "batch"])
            .group_by("unit", "model")
            .agg(quantile_expr(ratio, 0.25).alias(name), n=pl.len())
        )

    now, before = low(inside, "now"), low(normal, "before").rename({"n": "n_before"})
    table = now.join(before, on=["unit", "model"]).filter((pl.col("n") >= 20) & (pl.col("n_before") >= 20)).collect()
    if table.height == 0:
        return table.with_columns(ratio=pl.lit(None, dtype=pl.Float64), peers=pl.lit(None, dtype=pl.Float64))
    busy_now = _prefill_share(work.inside.with_columns(w=pl.lit(1.0)), unit, scene)
    busy_before = _prefill_share(work.normal, unit, scene)
    table = table.with_columns(ratio=pl.col("now") / pl.col("before") * _left(busy_now) / _left(busy_before)).sort(
        "unit"
    )
    peers = []
    for name, model in table.select("unit", "model").iter_rows():
        others = quantile(table.filter((pl.col("model") == model) & (pl.col("unit") != name))["ratio"], 0.5)
        peers.append(others)
    return table.with_columns(peers=pl.Series(peers, dtype=pl.Float64))


def _left(busy: dict[str, float]) -> pl.Expr:
    """Part of a replica's time that its decoding keeps beside prefill."""
    return 1 - PREFILL_SHARE * pl.col("unit").replace_strict(busy, default=0.0, return_dtype=pl.Float64)


def _prefill_share(frame: pl.DataFrame, unit: str, scene: Scene) -> dict[str, float]:
    busy = frame.group_by(pl.col(unit).cast(pl.String)).agg((pl.col("a") * pl.col("fresh") * pl.col("w")).sum())
    seconds = max(scene.interval.length, 1.0) * scene.rows.sampling_rate
    return {str(name): min(0.9, float(total or 0.0) / seconds) for name, total in busy.iter_rows() if name is not None}


def _members(scene: Scene) -> pl.DataFrame:
    """Replica to the pool, model, region and version it carried most, and its part of the pool's requests."""
    keep = [name for name in SHARED if name in scene.rows.dimensions]
    both = pl.concat([scene.normal.select("replica", "pool", *keep), scene.inside.select("replica", "pool", *keep)])
    table = both.drop_nulls("replica").group_by("replica", "pool", *keep).len().sort("len", descending=True)
    table = table.unique("replica", keep="first", maintain_order=True)
    total = table.group_by("pool").agg(size=pl.len())
    columns = [pl.col(name).cast(pl.String) for name in ("replica", "pool", *keep)]
    return table.join(total, on="pool").select(*columns, "size").sort("replica")


def _shared(sick: list[str], members: pl.DataFrame) -> tuple[str, str] | None:
    """What two or more sick replicas share and the healthy ones lack."""
    if len(sick) < 2:
        return None
    ill, well = members.filter(pl.col("replica").is_in(sick)), members.filter(~pl.col("replica").is_in(sick))
    for name in SHARED:
        if name not in members.columns or ill[name].n_unique() != 1:
            continue
        value = ill[name][0]
        if value is not None and well.filter(pl.col(name) == value).height == 0:
            return name, str(value)
    return None


def _reach(sick: list[tuple[str, float, int]], members: pl.DataFrame) -> dict[str, float]:
    """Pool to the multiplier of its load when the sick replicas give 1/ratio of their capacity."""
    slow = {name: ratio for name, ratio, _ in sick}
    reach = {}
    for (pool,), part in members.group_by("pool"):
        capacity = sum(1.0 / slow.get(str(name), 1.0) for name in part["replica"].to_list())
        if capacity < part.height:
            reach[str(pool)] = part.height / capacity
    return reach


def _evidence(sick: list[tuple[str, float, int]]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"time per token of {name} at equal batch against its own normal", ratio, 1.0, "ratio", n)
        for name, ratio, n in sick[:6]
    )


def _pool_size(name: str, members: pl.DataFrame) -> float:
    return number(members.filter(pl.col("replica") == name)["size"].max())


def _replica(name: str, ratio: float, n: int, members: pl.DataFrame) -> Candidate:
    return Candidate(
        id="replica_slow",
        cause="performance",
        stage="decode",
        segment=(("replica", name),),
        reach=_reach([(name, ratio, n)], members),
        says=f"replica {name} takes {ratio:.1f} times as long per token at an equal batch",
        evidence=_evidence([(name, ratio, n)]),
        direct=(("replica", name),),
        direct_multiplier=ratio,
        facts={"slow_ratio": ratio, "slow_replicas": 1.0, "replicas_of_pool": _pool_size(name, members)},
        prefers=("decode", "prefill"),
    )


def _group(segment: tuple[str, str], sick: list[tuple[str, float, int]], members: pl.DataFrame) -> Candidate:
    ratio = sorted(value for _, value, _ in sick)[len(sick) // 2]
    kind = "version_slow" if segment[0] == "deployment_version" else "engine_slow"
    return Candidate(
        id=kind,
        cause="performance",
        stage="decode",
        segment=(segment,),
        reach=_reach(sick, members),
        says=f"{segment[0]} {segment[1]} takes {ratio:.1f} times as long per token at an equal batch"
        f" ({named([name for name, _, _ in sick])})",
        evidence=_evidence(sick),
        direct=(segment,),
        direct_multiplier=ratio,
        facts={"slow_ratio": ratio, "slow_replicas": float(len(sick))},
        prefers=("decode", "prefill"),
    )


def _pools(scene: Scene, sick: list[tuple[str, float, int]]) -> Candidate:
    pool, ratio, n = max(sick, key=lambda entry: (entry[1], entry[0]))
    names = [name for name in ("model", "region") if name in scene.rows.dimensions]
    segment = tuple(zip(names, pool.split("|"), strict=False))
    return Candidate(
        id="engine_slow",
        cause="performance",
        stage="decode",
        segment=segment,
        reach={name: value for name, value, _ in sick},
        says=f"{pool} takes {ratio:.1f} times as long per token at an equal batch",
        evidence=(Evidence("time per token at equal batch against its own normal", ratio, 1.0, "ratio", n),),
        facts={"slow_ratio": ratio},
        prefers=("decode", "prefill"),
    )
