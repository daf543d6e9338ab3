"""Intervals hold the truth as often as they say: exact sums where there is a formula, 2,000 simulated weeks else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.blocks import interval_of, share_draws
from analysis.aggregates.figures import percentile_figures
from analysis.aggregates.statistics import (
    Interval,
    clopper_pearson,
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


@pytest.mark.parametrize(("n", "low", "high"), [(40, 0.2, 0.9), (100, 0.7, 0.95), (400, 0.9, 0.98)])
def test_the_interval_of_a_share_holds_it_in_95_of_100_weeks_and_the_exact_one_no_less(
    n: int, low: float, high: float
) -> None:
    """Counts are whole, so the coverage swings from share to share: Wilson's is right over a range of them."""
    truths = np.linspace(low, high, 60)
    assert np.mean(shares_covered(wilson, n, truths)) == pytest.approx(0.95, abs=0.01)
    assert min(shares_covered(clopper_pearson, n, truths)) >= 0.95 - 1e-9


@pytest.mark.parametrize(("blocks", "spread", "off"), [(20, 0.0, 0.01), (48, 4.0, 0.015)])
def test_the_interval_by_blocks_holds_the_attainment_in_95_of_100_weeks(blocks: int, spread: float, off: float) -> None:
    """Whether rows are independent, or stand and fall with their ten minutes (few bad blocks are skewed: nearly)."""
    rng, size = np.random.default_rng(11), 50
    owner = pl.Series(np.repeat(np.arange(blocks), size))
    inside = 0
    for _ in range(DRAWS):
        chance = rng.beta(0.9 * spread, 0.1 * spread, blocks) if spread else np.full(blocks, 0.9)
        good = pl.Series((np.arange(size)[None, :] < rng.binomial(size, chance)[:, None]).ravel())
        interval = interval_of(share_draws(good, ~good, owner), blocks)
        assert interval is not None
        inside += interval[0] <= 0.9 <= interval[1]
    assert inside / DRAWS == pytest.approx(0.95, abs=off)
