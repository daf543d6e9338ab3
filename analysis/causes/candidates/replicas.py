"""Replicas that are missing.

Input: Scene. Output: candidate replica_missing per pool.
Source: a time in which a replica served at most a fifth of the requests expected of it; replica hours confirm it, requests suffice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from analysis.causes.candidates.candidate import Candidate, named
from analysis.causes.figures import mean, number
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

ABSENT = 0.25  # part of the incident that a replica must be missing for
SEEN_PER_BIN = 5.0  # requests expected per bin, so that none at all means something
HOUR_S = 3600.0
HOUR = 3600 * 10**9
DOWN = 0.9  # part of its usual time up, within the hours that the incident touches; an hour may hold few minutes of it


def candidates(scene: Scene, settings: CauseSettings) -> list[Candidate]:
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
    table = table.with_columns(usual=pl.col("expected") * pl.col("pool").replace_strict(alive, default=1.0)).sort(
        "replica"
    )
    spans = {
        str(name): span
        for name, now, usual in table.filter(
            (pl.col("expected") >= settings.min_expected * _thin(scene)) & (pl.col("usual") > 0)
        )
        .select("replica", "now", "usual")
        .iter_rows()
        if now <= (1 - ABSENT) * usual and (span := _absent(scene, str(name), usual, settings)) is not None
    }
    gone = table.filter(pl.col("replica").is_in(list(spans)))
    found = []
    for (pool,), part in gone.sort("pool", "replica").group_by("pool", maintain_order=True):
        peers = table.filter(pl.col("pool") == pool)
        if alive.get(str(pool), 1.0) < 0.5:  # hardly any request reached the pool: traffic went, not a replica
            continue
        found.append(_gone(scene, part, peers, shared, spans))
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
            )
        )
    return found


def _ns(scene: Scene, seconds: float) -> int:
    return scene.rows.start_ns + int(seconds * 1e9)


def _thin(scene: Scene) -> float:
    """Fewer rows are needed of a thinned source: 20 requests seen where all are kept, 6 where one in twelve is."""
    return max(0.3, min(1.0, scene.rows.sampling_rate * 4))


def _absent(scene: Scene, name: str, usual: float, settings: CauseSettings) -> tuple[float, float] | None:
    """The time around the incident in which the replica served hardly anything, from its last request to its next.

    None where that is less than a quarter of the incident. It may outlast the breach, which ends when the load falls.
    """
    interval = scene.interval
    step = settings.bin_s * max(1, math.ceil(SEEN_PER_BIN * interval.length / settings.bin_s / usual))
    pad = max(settings.pad_s, interval.length)
    first = max(0.0, interval.start - pad)
    last = min(interval.end + pad, (scene.rows.end_ns - scene.rows.start_ns) / 1e9)
    own = scene.rows.frame.select("at", "replica").filter(pl.col("replica") == name)["at"]
    counts = [0] * max(1, math.ceil((last - first) / step))
    for index in ((own.filter((own >= first) & (own < last)) - first) // step).cast(pl.Int64).to_list():
        counts[index] += 1
    limit = settings.gone * usual * step / interval.length
    best, begin = (0.0, first, first), None
    for index, count in enumerate([*counts, limit + 1]):
        if count <= limit:
            begin = index if begin is None else begin
        elif begin is not None:
            left, right = first + begin * step, first + index * step
            best = max(best, (min(right, interval.end) - max(left, interval.start), left, right))
            begin = None
    covered, left, right = best
    if covered < ABSENT * interval.length:
        return None
    before, after = own.filter(own < left + step / 2), own.filter(own >= right - step / 2)
    start = max(number(before.max()), left - step) if before.len() else left
    end = min(number(after.min()), right + step) if after.len() else right
    return start, end


def _gone(
    scene: Scene,
    part: pl.DataFrame,
    peers: pl.DataFrame,
    shared: Sequence[str],
    spans: Mapping[str, tuple[float, float]],
) -> Candidate:
    names, pool = part["replica"].to_list(), str(part["pool"][0])
    times = [spans[name] for name in names]
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
        says=_served(part, peers, pool.replace("|", " in ")),
        evidence=tuple(evidence),
        facts={"replicas_missing": float(len(names)), "replicas_of_pool": float(peers.height)},
        active=(min(start for start, _ in times), max(end for _, end in times)),
    )


def _served(part: pl.DataFrame, peers: pl.DataFrame, pool: str) -> str:
    """How many replicas are gone; one that served few requests in the incident did not serve nothing."""
    of, names = f"{part.height} of {peers.height} replicas of {pool}", named(part["replica"].to_list())
    if part["now"].sum() == 0:
        return f"{of} served nothing ({names})"
    return f"{of} served nothing or nearly nothing ({names})"


def _hours_up(scene: Scene, names: list[str]) -> float | None:
    hours = scene.replica_hours
    if hours is None or hours.height == 0 or hours["up_s"].null_count() == hours.height:
        return None
    start, end = _ns(scene, scene.interval.start), _ns(scene, scene.interval.end)
    chosen = hours.filter(
        pl.col("replica").is_in(names) & (pl.col("hour_ns") < end) & (pl.col("hour_ns") + HOUR > start)
    )
    return float(chosen["up_s"].sum()) / (3600.0 * chosen.height) if chosen.height else None
