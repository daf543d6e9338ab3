"""Which segment: the most concise slice that holds an excess.

Input: rows with a numeric column `excess` (seconds, tokens or failures beyond what is normal) and the dimensions to
look at. Output: Slice (the pairs, its share of the excess and of the requests), and what moves together with it.
Source: metric definitions, section 11; concentration is compared with the slice's own normal share of the requests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.causes.settings import CauseSettings

Z_LIMIT = 4.0  # two-sided p of 6e-5: with some 400 values looked at, below 5 % false discoveries after Bonferroni
MAX_VALUES = 400  # a dimension with more values (users of a large service) is searched in its largest ones
PAIR_VALUES = 12


@dataclass(frozen=True)
class Slice:
    """Pairs of dimension and value; empty where the excess is everywhere."""

    pairs: tuple[tuple[str, str], ...]
    share: float  # of the excess
    support: float  # of the requests
    n: int

    @property
    def lift(self) -> float:
        return self.share / self.support if self.support > 0 else 0.0


EVERYWHERE = Slice((), 1.0, 1.0, 0)


def concise_slice(rows: pl.DataFrame, dimensions: Sequence[str], settings: CauseSettings) -> Slice:
    """The slice that holds most of the excess for its size, or EVERYWHERE.

    One value of one dimension where it qualifies, else a pair of values; ties go to the earlier dimension.
    """
    total = float(rows["excess"].sum())
    if total <= 0 or rows.height == 0:
        return EVERYWHERE
    noise = float(rows["excess"].std() or 0.0)  # type: ignore[arg-type]
    singles = []
    for order, dimension in enumerate(dimensions):
        for value, n, excess in _values(rows, [dimension]):
            found = Slice(((dimension, value[0]),), min(1.0, excess / total), n / rows.height, n)
            if found.lift >= settings.slice_lift and _sure(
                found, excess, usual=total / rows.height, noise=noise, settings=settings
            ):
                singles.append((-_worth(found, settings), order, found))
    good = [entry for entry in singles if entry[2].share >= settings.slice_share]
    if good:
        return min(good)[2]
    return _pair(rows, dimensions, total, settings) or EVERYWHERE


def _values(rows: pl.DataFrame, dimensions: list[str]) -> list[tuple[list[str], int, float]]:
    table = (
        rows.lazy()
        .drop_nulls(dimensions)
        .group_by(dimensions)
        .agg(n=pl.len(), total=pl.col("excess").sum())
        .with_columns(pl.col(dimensions).cast(pl.String))
        .sort(["n", *dimensions], descending=[True, *(False for _ in dimensions)])
        .head(MAX_VALUES)
        .collect()
    )
    return [([str(cell) for cell in row[:-2]], int(row[-2]), float(row[-1])) for row in table.iter_rows()]


def _worth(found: Slice, settings: CauseSettings) -> float:
    return round(found.share - settings.size_penalty * found.support, 6)


def _sure(found: Slice, excess: float, *, usual: float, noise: float, settings: CauseSettings) -> bool:
    """Whether the slice's mean excess lies above that of all requests by more than chance."""
    if found.n < settings.min_support:
        return False
    beyond = excess / found.n - usual
    return noise == 0 or beyond * math.sqrt(found.n) / noise > Z_LIMIT / 2


def _pair(rows: pl.DataFrame, dimensions: Sequence[str], total: float, settings: CauseSettings) -> Slice | None:
    few = [name for name in dimensions if rows[name].n_unique() <= PAIR_VALUES * 4]
    best: tuple[float, int, Slice] | None = None
    for left, first in enumerate(few):
        for second in few[left + 1 :]:
            for values, n, excess in _values(rows, [first, second]):
                found = Slice(((first, values[0]), (second, values[1])), min(1.0, excess / total), n / rows.height, n)
                if n < settings.min_support or found.share < settings.slice_share or found.lift < settings.pair_lift:
                    continue
                entry = (-_worth(found, settings), left, found)
                if best is None or entry < best:
                    best = entry
    return best[2] if best else None


def within(pairs: Sequence[tuple[str, str]]) -> pl.Expr:
    """Rows of a slice."""
    chosen = pl.lit(value=True)
    for dimension, value in pairs:
        chosen &= pl.col(dimension) == value  # codes are compared as they are
    return chosen


def moves_together(
    rows: pl.DataFrame, pairs: Sequence[tuple[str, str]], dimensions: Sequence[str]
) -> dict[str, list[str]]:
    """Values of other dimensions that nearly all of the slice carries and that the rest carries less often."""
    if not pairs:
        return {}
    taken = {dimension for dimension, _ in pairs}
    others = [name for name in dimensions if name not in taken]
    chosen = within(pairs)
    inside, rest = rows.filter(chosen), rows.filter(~chosen)
    if inside.height == 0:
        return {}
    found: dict[str, list[str]] = {}
    for name in others:
        top = inside[name].drop_nulls().value_counts(sort=True).head(1)
        if top.height == 0:
            continue
        value, count = str(top[name].cast(pl.String)[0]), int(top["count"][0])
        share = count / inside.height
        elsewhere = float((rest[name] == value).mean() or 0.0) if rest.height else 0.0  # type: ignore[arg-type]
        if share >= 0.95 and elsewhere < 0.8:
            found[name] = [value]
    return found
