"""Replicas that are missing, and pools that start cold ones.

Input: Scene. Output: candidates replica_missing and cold_start.
Source: a replica with at most a fifth of the requests expected of it; replica hours confirm it, requests suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from analysis.causes.candidates.candidate import Candidate, named
from analysis.causes.figures import known, mean, number
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

HOUR_S = 3600.0
HOUR = 3600 * 10**9
DOWN = 0.9  # part of its usual time up, within the hours that the incident touches; an hour may hold few minutes of it


def candidates(scene: Scene, settings: CauseSettings) -> list[Candidate]:
    return [*_missing(scene, settings), *_cold(scene, settings)]


def _missing(scene: Scene, settings: CauseSettings) -> list[Candidate]:
    """One candidate per pool of which replicas are gone; survivors suffer, so the pool is the segment."""
    if not scene.rows.has("replica"):
        return _down(scene)
    shared = [name for name in ("model", "region", "deployment_version") if name in scene.rows.dimensions]
    expected = scene.normal.drop_nulls("replica").group_by("replica", "pool", *shared).agg(expected=pl.col("w").sum())
    expected = expected.sort("expected", descending=True).unique("replica", keep="first", maintain_order=True)
    seen = scene.inside.drop_nulls("replica").group_by("replica").agg(now=pl.len())
    table = expected.join(seen, on="replica", how="left").with_columns(pl.col("now").fill_null(0))
    table = table.with_columns(pl.col("replica", "pool", *shared).cast(pl.String))
    pool_growth = table.group_by("pool").agg(total=pl.col("now").sum(), usual=pl.col("expected").sum()).sort("pool")
    alive = {pool: (total / usual if usual else 1.0) for pool, total, usual in pool_growth.iter_rows()}
    gone = table.filter(
        (pl.col("expected") >= settings.min_expected * _thin(scene))
        & (pl.col("now") <= settings.gone * pl.col("expected") * pl.col("pool").replace_strict(alive, default=1.0))
    )
    found = []
    for (pool,), part in gone.sort("pool", "replica").group_by("pool", maintain_order=True):
        peers = table.filter(pl.col("pool") == pool)
        if alive.get(str(pool), 1.0) < 0.5:  # hardly any request reached the pool: traffic went, not a replica
            continue
        found.append(_gone(scene, str(pool), part, peers, shared))
    return found


def _down(scene: Scene) -> list[Candidate]:
    """Replicas that were down by replica hours, where requests do not say who served them."""
    hours = scene.replica_hours
    if hours is None or hours.height == 0 or hours["up_s"].null_count() == hours.height:
        return []
    keys = [name for name in ("model", "region") if hours[name].null_count() < hours.height]
    overlap = (pl.col("hour_ns") < _ns(scene, scene.interval.end)) & (
        pl.col("hour_ns") + HOUR > _ns(scene, scene.interval.start)
    )
    inside = pl.col("up_s").filter(overlap).mean()
    table = hours.group_by("replica", *keys).agg(now=inside, usual=pl.col("up_s").filter(~overlap).max()).drop_nulls()
    found = []
    for key, peers in table.sort("replica").group_by(keys, maintain_order=True) if keys else [((), table)]:
        gone = peers.filter(pl.col("now") < DOWN * pl.col("usual"))
        if gone.height in (0, peers.height):
            continue
        names = gone["replica"].to_list()
        capacity = number((peers["now"] / peers["usual"]).sum()) / peers.height
        pool = "|".join(str(part) for part in key) or "all"
        found.append(
            Candidate(
                id="replica_missing",
                cause="failure",
                stage="queue",
                segment=tuple(zip(keys, (str(part) for part in key), strict=True)),
                reach={pool: 1.0 / max(capacity, 0.1)},
                says=f"{gone.height} of {peers.height} replicas of {pool.replace('|', ' in ')} were down ({named(names)})",
                evidence=(
                    Evidence("time up within the hours of the incident", mean(gone, "now") / HOUR_S, 1.0, "ratio"),
                    Evidence(
                        "replicas of the pool that were up throughout",
                        float(peers.height - gone.height),
                        float(peers.height),
                        "replicas",
                    ),
                ),
                facts={"replicas_missing": float(gone.height), "replicas_of_pool": float(peers.height)},
                prefers=("queue",),
            )
        )
    return found


def _ns(scene: Scene, seconds: float) -> int:
    return scene.rows.start_ns + int(seconds * 1e9)


def _thin(scene: Scene) -> float:
    """Fewer rows are needed of a thinned source: 20 requests seen where all are kept, 6 where one in twelve is."""
    return max(0.3, min(1.0, scene.rows.sampling_rate * 4))


def _gone(scene: Scene, pool: str, part: pl.DataFrame, peers: pl.DataFrame, shared: Sequence[str]) -> Candidate:
    names = part["replica"].to_list()
    left = max(peers.height - len(names), 1)
    multiplier = peers.height / left
    segment = tuple((name, str(part[name][0])) for name in shared if name != "deployment_version")
    up = _hours_up(scene, names)
    evidence = [
        Evidence(
            f"requests served by {named(names)}", float(part["now"].sum()), float(part["expected"].sum()), "requests"
        ),
        Evidence("replicas of the pool that serve", float(left), float(peers.height), "replicas"),
    ]
    if up is not None:
        evidence.append(Evidence("time up within the hours of the incident", up, 1.0, "ratio"))
    return Candidate(
        id="replica_missing",
        cause="failure",
        stage="queue",
        segment=segment,
        reach={pool: multiplier},
        says=f"{len(names)} of {peers.height} replicas of {pool.replace('|', ' in ')} served nothing ({named(names)})",
        evidence=tuple(evidence),
        facts={"replicas_missing": float(len(names)), "replicas_of_pool": float(peers.height)},
        prefers=("queue",),
    )


def _hours_up(scene: Scene, names: list[str]) -> float | None:
    hours = scene.replica_hours
    if hours is None or hours.height == 0 or hours["up_s"].null_count() == hours.height:
        return None
    start, end = _ns(scene, scene.interval.start), _ns(scene, scene.interval.end)
    chosen = hours.filter(
        pl.col("replica").is_in(names) & (pl.col("hour_ns") < end) & (pl.col("hour_ns") + HOUR > start)
    )
    return float(chosen["up_s"].sum()) / (3600.0 * chosen.height) if chosen.height else None


def _cold(scene: Scene, settings: CauseSettings) -> list[Candidate]:
    """Starting replicas that take traffic before they are ready."""
    if not scene.rows.has("cold_start"):
        return []
    cold = pl.col("cold_start").cast(pl.String) == "true"
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
            prefers=("queue",),
        )
    ]
