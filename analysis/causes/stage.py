"""Which stage: the excess of each stage in the slowest tenth, and the exact Shapley shares of broken requests.

Input: populations of a goal inside the incident and in the normal. Output: Excess (seconds per stage) and Rescue
(who could have been saved by which stage, and who could not at all). Means, medians and shares weigh by votes.
Source: metric definitions, section 11. A stage rescues a bad request if the request keeps its limit once that stage
takes what is normal in its stratum (model x input bucket x cache state x output bucket).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import polars as pl

from analysis.aggregates.statistics import below_expr
from analysis.aggregates.weighted import mixed, percentiles_of
from analysis.causes.goal import Goal
from analysis.causes.rows import ENGINE, Rows
from analysis.causes.settings import CauseSettings
from ingest.schema import STAGES

STRATUM = ("model", "input_bucket", "cache_state", "output_bucket")
COARSE = ("model", "input_bucket")
Normals = tuple[tuple[tuple[str, ...], pl.DataFrame], ...]
MIN_STRATUM = 20  # a median of fewer is no normal


@dataclass(frozen=True)
class Excess:
    """Mean seconds per stage in the slowest tenth inside, minus the same in the normal."""

    stages: tuple[tuple[str, float], ...]  # largest first
    inside: Mapping[str, float]
    normal: Mapping[str, float]
    n: int

    @property
    def total(self) -> float:
        return sum(value for _, value in self.stages if value > 0)

    def share(self, stage: str) -> float:
        return max(0.0, dict(self.stages).get(stage, 0.0)) / self.total if self.total > 0 else 0.0


@dataclass(frozen=True)
class Rescue:
    """Shapley share of the bad requests per stage, and the share that no stage could have saved."""

    shares: tuple[tuple[str, float], ...]  # largest first; sum plus structural is 1
    structural: float
    n: int


def tail_excess(inside: pl.DataFrame, normal: pl.DataFrame, goal: Goal, settings: CauseSettings) -> Excess | None:
    """Excess per stage of the goal's metric; None where neither side has a stage time."""
    slow, usual = (_tail(frame, goal, settings.tail) for frame in (inside, normal))
    columns = [stage for stage in goal.parts if slow[f"t_{stage}"].null_count() < slow.height]
    if not columns or slow.height == 0:
        return None
    means, before = _means(slow, columns), _means(usual, columns)
    ordered = sorted(((stage, means[stage] - before[stage]) for stage in columns), key=lambda pair: (-pair[1], pair[0]))
    return Excess(tuple(ordered), means, before, slow.height)


def _tail(frame: pl.DataFrame, goal: Goal, share: float) -> pl.DataFrame:
    """The slowest requests with status ok, by votes; few columns, for they are sorted."""
    parts = [f"t_{stage}" for stage in goal.parts]
    timed = frame.lazy().filter(pl.col("value").is_not_null() & pl.col("ok")).select("value", "at", "votes", *parts)
    known = timed.collect()
    total = int(known["votes"].sum())
    slowest = _upper(known, share).sort("value", "at", descending=True)
    votes = slowest["votes"]
    left = total - int(share * total) - (votes.cum_sum() - votes)  # of the last request a part may be enough
    return slowest.with_columns(pl.min_horizontal("votes", left).alias("votes")).filter(left > 0)


def _upper(timed: pl.DataFrame, share: float) -> pl.DataFrame:
    """The requests above that share of all by value, at least, so that few are sorted; all where votes differ."""
    if timed.is_empty() or mixed(timed):
        return timed
    return timed.filter(pl.col("value") >= below_expr("value", share))


def _means(frame: pl.DataFrame, stages: Sequence[str]) -> dict[str, float]:
    """Mean seconds of each stage, by votes, among the requests that have it; 0 without any."""
    votes = pl.col("votes")
    sums = frame.select(
        *((pl.col(f"t_{stage}") * votes).sum().alias(stage) for stage in stages),
        *(votes.filter(pl.col(f"t_{stage}").is_not_null()).sum().alias(f"n_{stage}") for stage in stages),
    ).row(0, named=True)
    return {stage: sums[stage] / sums[f"n_{stage}"] if sums[f"n_{stage}"] else 0.0 for stage in stages}


def leading_stage(excess: Excess) -> str | None:
    """The stage with the largest excess; engine stages stand together against each outer one, then by themselves."""
    positive = [(stage, value) for stage, value in excess.stages if value > 0]
    if not positive:
        return None
    engine = [(stage, value) for stage, value in positive if stage in ENGINE]
    outer = [(stage, value) for stage, value in positive if stage not in ENGINE]
    if outer and outer[0][1] >= sum(value for _, value in engine):
        return outer[0][0]
    return engine[0][0] if engine else outer[0][0]


def normals(normal: pl.DataFrame, rows: Rows, stages: Sequence[str] = STAGES) -> Normals:
    """Median seconds per stage and stratum, finest table first; the last has one row."""
    measured = [f"t_{stage}" for stage in stages if rows.has(f"{stage}_ns")]
    percentile = percentiles_of(normal)
    tables = []
    for keys in (STRATUM, COARSE, ()):
        known = tuple(key for key in keys if key in rows.dimensions)
        ok = normal.lazy().filter(pl.col("ok"))
        medians = [percentile(stage, 0.5).alias(f"n_{stage}") for stage in measured]
        if known:
            table = (
                ok.group_by(known)
                .agg(pl.len().alias("n"), *medians)
                .filter(pl.col("n") >= MIN_STRATUM)
                .drop("n")
                .collect()
            )
        else:
            table = ok.select(*medians).collect()
        tables.append((known, table))
    return tuple(tables)


def rescue(bad: pl.DataFrame, goal: Goal, tables: Normals, settings: CauseSettings) -> Rescue | None:
    """Exact Shapley shares over a fixed draw of bad requests, each by its votes; None without a limit or without stage times."""
    if goal.threshold is None or goal.kind != "latency" or goal.metric in ("tpot", "itl_max"):
        return None
    timed = bad.filter(pl.col("value").is_not_null() & (pl.col("value") > goal.threshold))
    stages = [stage for stage in goal.parts if timed[f"t_{stage}"].null_count() < timed.height]
    if timed.height == 0 or not stages:
        return None
    every = max(1, timed.height // settings.max_rescued)
    drawn = timed.gather_every(every)
    over = _over(drawn, stages, tables)
    need = (drawn["value"] - goal.threshold).to_list()
    totals: dict[str, float] = dict.fromkeys(stages, 0.0)
    structural = 0
    votes = drawn["votes"].to_list()
    for index, missing in enumerate(need):
        gains = {stage: over[stage][index] for stage in stages if over[stage][index] > 0}
        if sum(gains.values()) < missing:
            structural += votes[index]
            continue
        for stage, share in shapley(gains, missing).items():
            totals[stage] += share * votes[index]
    whole = sum(votes)
    shares = sorted(((stage, total / whole) for stage, total in totals.items()), key=lambda pair: (-pair[1], pair[0]))
    return Rescue(tuple(shares), structural / whole, len(need))


def _over(drawn: pl.DataFrame, stages: list[str], tables: Normals) -> dict[str, list[float]]:
    """Seconds above the normal per stage and drawn request, never negative."""
    result: dict[str, list[float]] = {}
    joined = []
    for keys, table in tables:
        if keys:
            joined.append(
                drawn.select(keys).join(table, on=list(keys), how="left", maintain_order="left", nulls_equal=True)
            )
        else:
            joined.append(pl.concat([table] * drawn.height) if drawn.height else table.head(0))
    for stage in stages:
        usual = pl.select(pl.coalesce([frame[f"n_t_{stage}"] for frame in joined])).to_series()
        result[stage] = (drawn[f"t_{stage}"].fill_null(0.0) - usual.fill_null(0.0)).clip(lower_bound=0.0).to_list()
    return result


def shapley(gains: Mapping[str, float], need: float) -> dict[str, float]:
    """Exact Shapley values of the game "do these stages together save at least `need` seconds"."""
    players = sorted(gains)
    n = len(players)
    values = dict.fromkeys(players, 0.0)
    for size in range(n):
        weight = factorial(size) * factorial(n - size - 1) / factorial(n)
        for chosen in combinations(players, size):
            saved = sum(gains[stage] for stage in chosen)
            if saved >= need:
                continue
            for stage in players:
                if stage not in chosen and saved + gains[stage] >= need:
                    values[stage] += weight
    return values
