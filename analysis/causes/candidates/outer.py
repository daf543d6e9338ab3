"""Stages outside the engine, failures and cancels: where their excess sits.

Input: Scene. Output: candidates slow_<stage>, errors, cancels, refused.
Source: for these a slice of who suffers is also where the cause is, since they do not share a queue.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import known
from analysis.causes.scene import Scene
from analysis.causes.segment import Slice, concise_slice, within
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

STRATUM = ("region", "scenario")
SEARCHED = ("scenario", "region", "replica", "model", "deployment_version", "route", "provider", "tenant", "streaming")
FAILED_IN = (
    "deployment_version",
    "replica",
    "model",
    "region",
    "scenario",
    "tenant",
    "route",
    "provider",
    "input_bucket",
    "user",
)
MIN_FAILURES = 10
CAPACITY_ERRORS = ("timeout", "shed")  # no room or no time: follow the engine's causes


def slow_stage(scene: Scene, stage: str, settings: CauseSettings) -> Candidate | None:
    """The slice of an outer stage's excess over the mean of its stratum in the normal."""
    column = f"t_{stage}"
    keys = [name for name in STRATUM if name in scene.rows.dimensions]
    usual = scene.normal.group_by(keys).agg(usual=pl.col(column).mean()) if keys else None
    rows = scene.inside
    if rows[column].null_count() == rows.height:
        return None
    if usual is not None:
        rows = rows.join(usual, on=keys, how="left", maintain_order="left", nulls_equal=True)
    else:
        rows = rows.with_columns(usual=pl.lit(scene.normal[column].mean()))
    # a request without the stage spends no time in it: where only one scenario has it, that scenario is the slice
    rows = rows.with_columns(excess=(pl.col(column) - pl.col("usual").fill_null(0.0)).fill_null(0.0))
    if float(rows["excess"].sum()) <= 0:
        return None
    dims = [name for name in SEARCHED if name in scene.rows.dimensions] + _promoted(scene)
    found = concise_slice(rows, dims, settings)
    part = rows.filter(within(found.pairs))
    now, before = part[column].mean(), part["usual"].mean()
    where = " and ".join(f"{name} {value}" for name, value in found.pairs) or "all traffic"
    return Candidate(
        id=f"slow_{stage}",
        cause="dependency",
        stage=stage,
        segment=found.pairs,
        reach={},
        says=f"{stage} takes {_number(now):.3g} s{_instead(before)} in {where}",
        evidence=(
            Evidence(f"mean {stage} time", _number(now), known(before), "s", part.height),
            Evidence(
                f"part of the stage's excess in the segment, which has {found.support:.1%} of the requests",
                found.share,
                None,
                "ratio",
                found.n or rows.height,
            ),
        ),
        facts={"stage_ratio": _number(now) / max(_number(before), 1e-9)},
    )


def _promoted(scene: Scene) -> list[str]:
    from analysis.causes.rows import DIMENSIONS

    return [name for name in scene.rows.dimensions if name not in DIMENSIONS]


def _instead(before: object) -> str:
    return f" instead of {_number(before):.3g} s" if before is not None else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


@dataclass(frozen=True)
class Failure:
    """A kind of failed request: which rows, and how its candidate is called."""

    id: str
    cause: str
    stage: str
    words: str
    flag: pl.Expr


_CAPACITY = pl.col("status_class").is_in(CAPACITY_ERRORS)
ERRORS = Failure("errors", "failure", "error", "failed", pl.col("failed") & ~_CAPACITY)
CANCELS = Failure("cancels", "client", "client", "were cancelled by the caller", pl.col("cancelled"))
REFUSED = Failure("refused", "config", "error", "were refused or cut off although nobody waits longer", _CAPACITY)


def capacity_share(scene: Scene) -> float:
    """Share of the failures that came from a lack of room or time."""
    counts = scene.inside.select(all=pl.col("failed").sum(), capacity=_CAPACITY.sum())
    return int(counts["capacity"][0]) / int(counts["all"][0]) if int(counts["all"][0]) else 0.0


def failures(scene: Scene, kind: Failure, settings: CauseSettings) -> Candidate | None:
    """The slice of failures of a kind beyond their normal rate; None where they did not grow."""
    count = int(scene.inside.select(kind.flag.sum()).item())
    before = float(scene.normal.select((kind.flag * pl.col("w")).sum()).item()) / max(scene.expected_requests, 1e-9)
    beyond = count - before * scene.inside.height
    if beyond < MIN_FAILURES or beyond < 0.2 * count:
        return None
    rows = scene.inside.with_columns(excess=kind.flag.cast(pl.Float64) - before)
    dims = [name for name in FAILED_IN if name in scene.rows.dimensions] + _promoted(scene)
    found = concise_slice(rows, dims, settings)
    return _failing(rows, found, kind, before)


def _failing(rows: pl.DataFrame, found: Slice, kind: Failure, before: float) -> Candidate:
    part = rows.filter(within(found.pairs))
    rate = float(part.select(kind.flag.cast(pl.Float64).mean()).item() or 0.0)
    where = " and ".join(f"{name} {value}" for name, value in found.pairs) or "all traffic"
    types = (
        part.filter(kind.flag)["error_type"]
        .drop_nulls()
        .value_counts(sort=True)
        .sort("count", "error_type", descending=[True, False])
    )
    evidence = [
        Evidence(f"share of requests that {kind.words}", rate, before, "ratio", part.height),
        Evidence(
            f"part of the excess in the segment, which has {found.support:.1%} of the requests",
            found.share,
            None,
            "ratio",
            found.n or rows.height,
        ),
    ]
    if types.height:
        evidence.append(Evidence("most frequent error", str(types["error_type"][0]), None, "", int(types["count"][0])))
    return Candidate(
        id=kind.id,
        cause=kind.cause,
        stage=kind.stage,
        segment=found.pairs,
        reach={},
        says=f"{rate:.1%} of {where} {kind.words} ({before:.2%} before)",
        evidence=tuple(evidence),
        facts={"failure_rate": rate, "failure_dimension": found.pairs[0][0] if found.pairs else "all"},
    )
