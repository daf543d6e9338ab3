"""Intervals hold the truth as often as they say: exact sums where there is a formula, 2,000 simulated weeks else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.blocks import share_interval_by_blocks
from analysis.aggregates.figures import percentile_figures
from analysis.aggregates.statistics import (
    Interval,
    clopper_pearson,
    clustered_share,
    needed_for_quantile,
    quantile_ends,
    quantile_interval,
    wilson,
)
from analysis.metrics.catalog import BY_ID

DRAWS = 2000
SIZES = [  # every size from 40 to 5,000 at which the percentile can have an interval
    *((n, "0.5") for n in (40, 100, 1000)),
    *((n, "0.95") for n in (72, 100, 200, 1000)),
    *((n, "0.99") for n in (368, 500, 1000, 5000)),
]
SHAPES = {"normal": stats.norm(), "heavy tail": stats.lognorm(2.0)}
Shares = Callable[[int, int], Interval | None]


def weeks(n: int, p: str) -> Iterator[np.ndarray]:
    """2,000 sorted samples of n uniform values; how many lie below p is spread over its distribution, not drawn.

    So the coverage that is found is free of most of the noise that 2,000 draws have (half a point).
    """
    rng, share = np.random.default_rng(13), float(p)
    for below in stats.binom(n, share).ppf((np.arange(DRAWS) + rng.random(DRAWS)) / DRAWS).astype(int):
        values = [rng.random(below) * share, share + rng.random(n - below) * (1 - share)]
        yield np.sort(np.concatenate(values))


def covered(n: int, p: str, truth: float, values: Callable[[np.ndarray], np.ndarray]) -> float:
    inside = 0
    for week in weeks(n, p):
        interval = quantile_interval(pl.Series(values(week)), Fraction(p))
        assert interval is not None
        inside += interval[0] <= truth <= interval[1]
    return inside / DRAWS


@pytest.mark.parametrize(("n", "p"), SIZES)
def test_the_interval_of_a_percentile_holds_it_in_95_of_100_weeks_whatever_the_distribution(n: int, p: str) -> None:
    found = {name: covered(n, p, float(shape.ppf(float(p))), shape.ppf) for name, shape in SHAPES.items()}
    assert all(0.94 <= share <= 0.96 for share in found.values()), found


@pytest.mark.parametrize(("n", "p"), [(40, "0.5"), (72, "0.95"), (200, "0.95"), (368, "0.99"), (1000, "0.99")])
@pytest.mark.parametrize("grid", [0.02, 0.3])
def test_ties_make_the_interval_hold_the_percentile_no_less_often(n: int, p: str, grid: float) -> None:
    truth = np.ceil(stats.expon.ppf(float(p)) / grid) * grid
    share = covered(n, p, float(truth), lambda week: np.ceil(stats.expon.ppf(week) / grid) * grid)
    assert share >= 0.94  # a tie at the percentile lies in the interval more often than a point would


@pytest.mark.parametrize(("n", "p"), SIZES)
def test_the_ranks_around_an_interval_have_the_coverage_that_they_tell(n: int, p: str) -> None:
    ends = quantile_ends(n, Fraction(p))
    assert ends is not None
    count = stats.binom(n, float(p))
    assert ends.coverage == pytest.approx(count.cdf(ends.high - 1) - count.cdf(ends.low - 1), abs=1e-9)
    assert ends.coverage >= 0.95
    assert count.cdf(ends.low - 1) <= 0.025 < count.cdf(ends.low)
    assert count.sf(ends.high - 1) <= 0.025 < count.sf(ends.high - 2)


@pytest.mark.parametrize("p", ["0.5", "0.95", "0.99", "0.999"])
def test_one_row_fewer_than_needed_gives_no_interval(p: str) -> None:
    needed = needed_for_quantile(Fraction(p))
    assert [quantile_ends(n, Fraction(p)) is not None for n in (needed - 1, needed)] == [False, True]


def test_groups_have_the_intervals_of_their_rows() -> None:
    rng = np.random.default_rng(3)
    sizes = {"a": 40, "b": 72, "c": 368, "d": 1000}
    frame = pl.concat(
        pl.DataFrame({"g": [name] * n, "votes": [1] * n, "status_class": ["ok"] * n, "e2e": rng.lognormal(0, 1, n)}) for name, n in sizes.items()
    )  # fmt: skip
    for p in (Fraction(1, 2), Fraction(95, 100), Fraction(99, 100)):
        rows = percentile_figures(frame.sample(fraction=1, shuffle=True, seed=1), BY_ID["e2e"], p, ["g"])
        assert [
            None if low is None or high is None else (low, high) for low, high in rows.select("low", "high").iter_rows()
        ] == [quantile_interval(frame.filter(pl.col("g") == name)["e2e"].sort(), p) for name in sizes]


def shares_covered(interval: Shares, n: int, truths: np.ndarray) -> list[float]:
    """Exact: over all counts."""
    ends = np.array([interval(count, n) for count in range(n + 1)])
    return [float(stats.binom.pmf(np.arange(n + 1), n, p)[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum()) for p in truths]


@pytest.mark.parametrize(
    ("n", "low", "high"), [(40, 0.2, 0.9), (100, 0.7, 0.95), (400, 0.9, 0.98), (1000, 0.95, 0.99), (5000, 0.9, 0.999)]
)
def test_wilsons_interval_holds_the_share_in_95_of_100_weeks_in_the_mean_over_shares(
    n: int, low: float, high: float
) -> None:
    """Counts are whole, so its coverage swings from share to share, down to 92 %: it is right over a range of them."""
    found = shares_covered(wilson, n, np.linspace(low, high, 60))
    assert np.mean(found) == pytest.approx(0.95, abs=0.01)
    assert min(found) >= 0.90


@pytest.mark.parametrize(
    ("n", "low", "high"), [(40, 0.2, 0.9), (100, 0.7, 0.95), (400, 0.9, 0.98), (1000, 0.99, 0.9999)]
)
def test_the_exact_interval_holds_every_share_in_at_least_95_of_100_weeks(n: int, low: float, high: float) -> None:
    assert min(shares_covered(clopper_pearson, n, np.linspace(low, high, 60))) >= 0.95 - 1e-9


# Blocks, requests in each (of a Poisson stream where below 0), share of good ones, and how the blocks differ: of each
# week about five incidents or more are seen, for of those that happened not to come no interval of its rows can tell.
INDEPENDENT = [
    *((20, 10, 0.7), (20, -50, 0.9), (20, 10, 0.95), (48, 10, 0.9), (48, -50, 0.95)),
    *((48, -50, 0.99), (144, 10, 0.95), (144, -50, 0.7), (144, -50, 0.99), (1008, 10, 0.99)),
]
CLUSTERED = [
    *((20, 10, 0.7, 0.1), (20, -50, 0.7, 0.3), (20, -50, 0.9, 0.02), (20, -50, 0.9, 0.1), (20, 10, 0.95, 0.02)),
    *((48, 10, 0.9, 0.3), (48, 10, 0.95, 0.1), (48, -50, 0.95, 0.1), (48, -50, 0.99, 0.02), (144, 10, 0.9, 0.1)),
    *((144, 10, 0.95, 0.3), (144, -50, 0.99, 0.1), (432, -50, 0.99, 0.1), (1008, 10, 0.99, 0.3)),
]
INCIDENTS = [  # the last is the share of blocks in which half of the requests fail
    *((48, 10, 0.9, 0.1), (48, -50, 0.9, 0.1), (48, -50, 0.7, 0.2), (144, 10, 0.9, 0.05)),
    *(
        (144, -50, 0.9, 0.05),
        (144, -50, 0.95, 0.05),
        (144, 10, 0.95, 0.1),
        (432, -50, 0.95, 0.05),
        (1008, 10, 0.97, 0.01),
    ),
]


def weeks_of_blocks(kind: str, blocks: int, size: int, share: float, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Good and judged requests of 2,000 weeks by block."""
    rng = np.random.default_rng(11)
    whole = (DRAWS, blocks)
    judged = np.full(whole, size) if size > 0 else np.maximum(1, rng.poisson(-size, whole))
    chance = np.full(whole, share)
    if kind == "clustered":  # correlation of two requests of a block
        rest = 1 / apart - 1
        chance = rng.beta(share * rest, (1 - share) * rest, whole)
    if kind == "incidents":
        chance = np.where(rng.random(whole) < apart, 0.5, (share - 0.5 * apart) / (1 - apart))
    return rng.binomial(judged, chance), judged


def held_by_blocks(kind: str, blocks: int, size: int, share: float, apart: float = 0.0) -> float:
    inside = 0
    for good, judged in zip(*weeks_of_blocks(kind, blocks, size, share, apart), strict=True):
        interval = clustered_share(good.tolist(), judged.tolist(), float(judged.sum()))
        assert interval is not None
        inside += interval[0] <= share <= interval[1]
    return inside / DRAWS


@pytest.mark.parametrize(
    ("kind", "settings"), [("independent", INDEPENDENT), ("clustered", CLUSTERED), ("incidents", INCIDENTS)]
)
def test_the_interval_by_blocks_holds_the_attainment_in_95_of_100_weeks(
    kind: str, settings: list[tuple[int, int, float]]
) -> None:
    """Whether rows are independent, or stand and fall with their ten minutes, by degrees or in incidents."""
    found = {setting: held_by_blocks(kind, *setting) for setting in settings}
    assert np.mean(list(found.values())) == pytest.approx(0.95, abs=0.01), found
    assert min(found.values()) >= 0.935, found


def test_rows_and_blocks_make_the_same_interval() -> None:
    good, judged = (sums[0] for sums in weeks_of_blocks("clustered", 48, 20, 0.9, 0.1))
    owner = pl.Series(np.repeat(np.arange(48), judged))
    kept = pl.Series(np.concatenate([np.arange(n) < k for n, k in zip(judged, good, strict=True)]))
    order = np.random.default_rng(2).permutation(kept.len())
    rows, whole = kept[order], clustered_share(good.tolist(), judged.tolist(), float(judged.sum()))
    assert share_interval_by_blocks(rows, ~rows, owner[order]) == whole
