"""Speed at equal load: replicas that take longer for the same work.

Input: Scene and its offered work. Output: candidates replica_slow, version_slow, engine_slow, decode_slow.
Source: per replica the 25th percentile of TPOT over the normal median at the same batch size, against the same figure
of the replica in the normal, corrected for the share of its time that prefill takes: both are needed, for prefill of
others slows decoding at an equal batch. Per request and not per count, for a least-loaded router hides a slow replica.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile, quantile_expr
from analysis.causes.candidates.candidate import Candidate, named
from analysis.causes.candidates.work import LONG_PROMPT, Offered
from analysis.causes.figures import number
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

BATCH_STEP = 1.35  # width of a batch bin, as a ratio
PREFILL_SHARE = 0.75  # part of a replica's prefill time that its decoding loses
NEARLY = 1.2  # a replica this slow is no healthy peer of those above the limit
PREFILL_ALIKE = 1.15
SHARED = ("deployment_version", "model", "region")


def candidates(scene: Scene, work: Offered, settings: CauseSettings) -> list[Candidate]:
    rows = scene.rows
    if rows.batch_basis is None or not rows.has("output_tokens", "model") or not rows.times_answers:
        return []
    unit = "replica" if scene.rows.has("replica") else "pool"
    table = _ratios(scene, work, unit)
    if table.height == 0:
        return []
    sick = [
        (str(name), float(ratio), int(n))
        for name, ratio, n in table.select("unit", "ratio", "n").iter_rows()
        if ratio is not None and ratio >= settings.slow
    ]
    if not sick:
        return []
    if unit == "pool":
        return [_pools(scene, sick)]
    members = _members(scene)
    near = [str(name) for name, ratio in table.select("unit", "ratio").iter_rows() if ratio and ratio >= NEARLY]
    segment = _shared([name for name, _, _ in sick], near, members)
    if segment is not None:
        return [_group(scene, segment, sick, members)]
    return [_replica(name, ratio, n, members) for name, ratio, n in sick]


def _ratios(scene: Scene, work: Offered, unit: str) -> pl.DataFrame:
    """Time per token at equal batch against the unit's own normal.

    Not against its peers: the correction for prefill keeps every healthy replica below 1.1 in overloads, and a fault of a
    whole model has no healthy peers.
    """
    usable = pl.col("ok") & (pl.col("output_tokens") > pl.col("llm_calls") + 4) & (pl.col("batch_size") > 0)
    per_token = pl.col("t_answer") / (pl.col("output_tokens") - pl.col("llm_calls"))
    step = (pl.col("batch_size").clip(lower_bound=1.0).log() / pl.lit(BATCH_STEP).log()).floor().cast(pl.Int32)
    chosen = {"unit": pl.col(unit), "model": pl.col("model"), "batch": step, "per_token": per_token}
    normal, inside = (
        frame.lazy().filter(usable).select(**chosen).drop_nulls(["unit", "per_token"])
        for frame in (scene.normal, scene.inside)
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

    slow, usually = low(inside, "now"), low(normal, "before").rename({"n": "n_before"})
    table = slow.join(usually, on=["unit", "model"]).filter((pl.col("n") >= 20) & (pl.col("n_before") >= 20)).collect()
    table = table.with_columns(pl.col("unit").cast(pl.String))
    if table.height == 0:
        return table.with_columns(ratio=pl.lit(None, dtype=pl.Float64))
    now, before = (
        _prefill_share(frame, unit, scene) for frame in (work.inside.with_columns(w=pl.lit(1.0)), work.normal)
    )
    return table.with_columns(ratio=pl.col("now") / pl.col("before") * _left(now) / _left(before)).sort("unit")


def _left(busy: dict[str, float]) -> pl.Expr:
    """Part of a replica's time that its decoding keeps beside prefill."""
    return 1 - PREFILL_SHARE * pl.col("unit").replace_strict(busy, default=0.0, return_dtype=pl.Float64)


def _prefill_share(frame: pl.DataFrame, unit: str, scene: Scene) -> dict[str, float]:
    busy = frame.group_by(unit).agg((pl.col("a") * pl.col("fresh") * pl.col("w")).sum())
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


def _shared(sick: list[str], near: list[str], members: pl.DataFrame) -> tuple[tuple[str, str], ...] | None:
    """What two or more sick replicas share and the healthy ones lack: one attribute, else model and region."""
    if len(sick) < 2:
        return None
    ill = members.filter(pl.col("replica").is_in(sick))
    well = members.filter(~pl.col("replica").is_in([*sick, *near]))
    for names in (*((name,) for name in SHARED), ("model", "region")):
        if (
            not set(names) <= set(members.columns)
            or ill.select(names).n_unique() != 1
            or ill.select(names).null_count().sum_horizontal()[0]
        ):
            continue
        pairs = tuple((name, str(ill[name][0])) for name in names)
        if well.filter(pl.all_horizontal(pl.col(name) == value for name, value in pairs)).height == 0:
            return pairs
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
    )


def _group(
    scene: Scene, segment: tuple[tuple[str, str], ...], sick: list[tuple[str, float, int]], members: pl.DataFrame
) -> Candidate:
    """One fault of several replicas: a version, or an engine; decode alone, or prefill as well."""
    ratio = sorted(value for _, value, _ in sick)[len(sick) // 2]
    prefill = _prefill_ratio(scene, [name for name, _, _ in sick])
    if segment[0][0] == "deployment_version":
        kind = "version_slow"
    else:
        kind = "decode_slow" if prefill is not None and prefill < PREFILL_ALIKE else "engine_slow"
    where = " and ".join(f"{name} {value}" for name, value in segment)
    words = ", while prefill is as before" if kind == "decode_slow" else ""
    return Candidate(
        id=kind,
        cause="performance",
        stage="decode",
        segment=segment,
        reach=_reach(sick, members),
        says=f"{where} takes {ratio:.1f} times as long per token at an equal batch{words}"
        f" ({named([name for name, _, _ in sick])})",
        evidence=(
            *_evidence(sick),
            Evidence("prefill time per uncached token against the normal", prefill, 1.0, "ratio"),
        ),
        direct=segment,
        direct_multiplier=ratio,
        facts={
            "slow_ratio": ratio,
            "slow_replicas": float(len(sick)),
            **({"prefill_speed_ratio": prefill} if prefill else {}),
        },
    )


def _prefill_ratio(scene: Scene, names: list[str]) -> float | None:
    """Time per uncached prompt token of these replicas, its low quantile, against the normal."""
    if not scene.rows.has("prefill_ns", "input_tokens"):
        return None
    chosen = pl.col("ok") & (pl.col("uncached") > LONG_PROMPT) & pl.col("replica").is_in(names)
    rates = [
        quantile(frame.filter(chosen).select(rate=pl.col("t_prefill") / pl.col("uncached"))["rate"], 0.1)
        for frame in (scene.inside, scene.normal)
    ]
    return rates[0] / rates[1] if rates[0] is not None and rates[1] else None


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
    )
