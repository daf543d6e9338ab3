"""How much of an objective's breach each of several changes explains.

Input: the objective's requests of the incident and of the normal, the changes that reach them. Output: a Part per change.
A request is divided among the changes that reach it by the logs of their multipliers: these are the Shapley values of
the game in which together they slow it by the product, so their logs add. Bad requests that a pool has in the normal too
are nobody's, and a change that is strong in one pool explains nothing of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import number

MOST = 0.5  # of what slows a request


@dataclass(frozen=True)
class Part:
    """What one change explains.

    share: of the excess of bad requests; the shares of all changes sum to 1.
    leads: requests that are bad mostly for it, as a share of all that are judged: what is left if all else is undone.
    """

    share: float
    leads: float


def parts(judged: pl.DataFrame, normal: pl.DataFrame, candidates: Sequence[Candidate]) -> tuple[Part, ...]:
    """The part of each candidate, in the order given.

    Args:
        judged: requests of the incident with `bad`, `pool`, `at` and the dimensions of the candidates.
        normal: requests of the normal with `bad` and `pool`.
    """
    bad = judged.filter(pl.col("bad"))
    if not candidates or bad.height == 0:
        return tuple(Part(1.0 / len(candidates), 0.0) for _ in candidates)
    names = [f"c{place}" for place in range(len(candidates))]
    weights = [
        (candidate.weight() * candidate.contrast(judged, bad)).alias(name)
        for name, candidate in zip(names, candidates, strict=True)
    ]
    whole = pl.sum_horizontal(names)
    beyond = pl.col("pool").replace_strict(_beyond(judged, normal), default=1.0, return_dtype=pl.Float64)
    divided = bad.select("pool", *weights).select(
        beyond.alias("beyond"),
        *(pl.when(whole > 0).then(pl.col(name) / whole).otherwise(0.0).alias(name) for name in names),
    )
    sums = divided.select((pl.col(name) * pl.col("beyond")).sum() for name in names).row(0)
    leads = divided.select(pl.col("beyond").filter(pl.col(name) >= MOST).sum().alias(name) for name in names).row(0)
    total = sum(sums)
    return tuple(
        Part(number(value) / total if total > 0 else 1.0 / len(names), number(lead) / judged.height)
        for value, lead in zip(sums, leads, strict=True)
    )


def _beyond(judged: pl.DataFrame, normal: pl.DataFrame) -> dict[str, float]:
    """Pool to the part of its bad requests that lies beyond its normal share of them."""
    shares = []
    for frame in (judged, normal):
        shares.append(dict(frame.group_by("pool").agg(pl.col("bad").mean()).drop_nulls().iter_rows()))
    now, usual = shares
    return {pool: max(0.0, 1.0 - usual.get(pool, 0.0) / share) for pool, share in now.items() if share > 0}
