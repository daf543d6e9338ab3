"""Quantiles and intervals against the worked numbers of the definitions, and against scipy."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.aggregates.statistics import (
    beta_cdf,
    binomial_cdf,
    clopper_pearson,
    interpolated,
    needed_for_quantile,
    needed_for_share,
    placed,
    quantile,
    quantile_expr,
    quantile_interval,
    quantile_ranks,
    rank,
    share_interval,
    weighted_quantiles,
    wilson,
)

ONE_TO_TEN = pl.Series(range(1, 11), dtype=pl.Float64)


def test_quantiles_of_one_to_ten_are_values_that_occur() -> None:
    assert [quantile(ONE_TO_TEN, p) for p in (0.5, 0.95, 0.99, 0.0, 1.0)] == [5.0, 10.0, 10.0, 1.0, 10.0]


def test_values_at_places_are_those_of_the_sorted_values() -> None:
    for n, seed in ((1, 0), (999, 1), (1000, 2), (4321, 3)):
        values = pl.Series(np.random.default_rng(seed).integers(0, n // 3 + 1, n), dtype=pl.Float64)
        ordered = values.sort().to_list()
        for share in (0.0, 0.05, 0.5, 0.95, 0.999, 1.0):
            place = round(share * (n - 1))
            near = [place, max(0, place - 7), min(n - 1, place + 7)]
            assert placed(values, near) == [ordered[each] for each in near]
        assert placed(values, [0, n - 1]) == [ordered[0], ordered[-1]]


@pytest.mark.parametrize("p", [0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 0.1, 0.95])
def test_quantiles_within_select_and_group_by_are_those_of_a_column(p: float) -> None:
    values = np.random.default_rng(4).permutation(600).astype(float)
    rows = pl.DataFrame({"group": [place % 7 for place in range(600)], "value": values})
    rows = rows.with_columns(pl.when(pl.col("value") > 20).then("value"))
    assert rows.select(quantile_expr("value", p)).item() == quantile(rows["value"], p)
    for group, found in rows.group_by("group").agg(quantile_expr("value", p)).iter_rows():
        assert found == quantile(rows.filter(pl.col("group") == group)["value"], p)


def test_a_quantile_and_an_attainment_never_contradict_each_other() -> None:
    within = (ONE_TO_TEN <= 9.7).sum() / 10
    assert (quantile(ONE_TO_TEN, 0.95), within) == (10.0, 0.9)  # interpolation would say 9.55 and "kept"


def test_rank_is_computed_with_integers() -> None:
    assert rank(0.07, 100) == 7  # the float product 0.07 * 100 rounds up past 7
    assert [rank(0.5, 1), rank(0.95, 20), rank(0.95, 21), rank(0.0, 5)] == [1, 19, 20, 1]


def test_a_quantile_in_percent_is_refused() -> None:
    with pytest.raises(ValueError, match=r"quantile 99 lies outside \[0, 1\]; write 0.99, not 99"):
        quantile(ONE_TO_TEN, 99)


def test_a_quantile_ignores_nulls_and_is_null_without_values() -> None:
    assert quantile(pl.Series([None, 3.0, 1.0]), 0.5) == 1.0
    assert quantile(pl.Series([None], dtype=pl.Float64), 0.5) is None


def test_the_expression_gives_the_same_per_group() -> None:
    frame = pl.DataFrame({"g": ["a"] * 10 + ["b"] * 2 + ["c"], "x": [*map(float, range(1, 11)), 7.0, None, None]})
    table = frame.group_by("g").agg(quantile_expr("x", 0.95)).sort("g")
    assert table.rows() == [("a", 10.0), ("b", 7.0), ("c", None)]


@pytest.mark.parametrize(
    ("n", "p", "ranks"),
    [
        (100, "0.95", (90, 100)),
        (500, "0.99", (490, 500)),
        (1000, "0.99", (983, 997)),
        (10_000, "0.99", (9880, 9920)),
        (1000, "0.95", (936, 964)),
        (71, "0.95", (63, None)),
        (72, "0.95", (64, 72)),
    ],
)
def test_ranks_of_the_interval_are_those_of_the_definitions(n: int, p: str, ranks: tuple[int, int | None]) -> None:
    assert quantile_ranks(n, Fraction(p)) == ranks


def test_an_interval_exists_from_a_known_number_of_requests_on() -> None:
    assert [needed_for_quantile(Fraction(p)) for p in ("0.95", "0.99", "0.999")] == [72, 368, 3688]
    values = pl.Series(range(1, 101), dtype=pl.Float64)
    assert quantile_interval(values, 0.95) == pytest.approx((90.8995703, 99.1083562), abs=1e-6)
    assert quantile_interval(values, 0.99) is None


@pytest.mark.parametrize(
    ("good", "n", "low", "high"),
    [(99, 100, 0.946, 0.998), (990, 1000, 0.982, 0.995), (9900, 10_000, 0.9879, 0.9918), (20, 20, 0.839, 1.0)],
)
def test_wilson_gives_the_examples_of_the_definitions(good: int, n: int, low: float, high: float) -> None:
    digits = 4 if n == 10_000 else 3
    interval = wilson(good, n)
    assert interval is not None
    assert (round(interval[0], digits), round(interval[1], digits)) == (low, high)


@pytest.mark.parametrize(("good", "n"), [(0, 5), (5, 5), (3, 7), (99, 100), (999_500, 1_000_000)])
def test_share_intervals_agree_with_scipy(good: int, n: int) -> None:
    for ours, method in ((wilson(good, n), "wilson"), (clopper_pearson(good, n), "exact")):
        theirs = stats.binomtest(good, n).proportion_ci(0.95, method=method)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_the_exact_interval_is_taken_for_targets_from_three_nines_on() -> None:
    assert share_interval(999, 1000, 0.99) == wilson(999, 1000)
    assert share_interval(999, 1000, 0.999) == clopper_pearson(999, 1000)
    assert [wilson(0, 0), clopper_pearson(0, 0)] == [None, None]


def test_functions_of_the_binomial_agree_with_scipy() -> None:
    cases = [(0.3, 2.0, 5.0), (0.999, 9_990.0, 11.0), (0.5, 50_000.0, 50_000.0), (0.01, 0.5, 0.5)]
    assert [beta_cdf(*case) for case in cases] == pytest.approx([stats.beta.cdf(*case) for case in cases], rel=1e-9)
    trials = [(-1, 5, 0.5), (5, 5, 0.5), (2, 5, 0.5), (990, 1000, 0.99)]
    assert [binomial_cdf(*t) for t in trials] == pytest.approx([stats.binom.cdf(*t) for t in trials], rel=1e-9)


def test_more_requests_are_asked_for_the_nearer_attainment_and_target_are() -> None:
    assert needed_for_share(0.94, 0.95) == 1825
    assert needed_for_share(0.949, 0.95) == 182_470
    assert needed_for_share(0.95, 0.95) is None


def test_intervals_hold_the_truth_in_95_of_100_simulated_weeks() -> None:
    draws = np.random.default_rng(7).exponential(1.0, size=(2000, 400))
    truth = float(stats.expon.ppf(0.95))
    low, high = quantile_ranks(400, Fraction("0.95"))
    assert low is not None
    assert high is not None
    ordered = np.sort(draws, axis=1)
    covered = float(np.mean((ordered[:, low - 1] <= truth) & (truth <= ordered[:, high - 1])))
    assert 0.94 <= covered <= 0.97  # ranks are whole numbers, so the nominal coverage is 95 % or a little more
    kept = (draws <= truth).sum(axis=1)
    inside = [low <= 0.95 <= high for low, high in (wilson(int(k), 400) or (1.0, 0.0) for k in kept)]
    assert 0.94 <= sum(inside) / 2000 <= 0.96


def test_interpolation_is_that_of_numpy_and_serves_other_tools_alone() -> None:
    values = np.random.default_rng(1).exponential(1.0, 101)
    assert [interpolated(pl.Series(values), p) for p in (0.0, 0.5, 0.95, 1.0)] == pytest.approx(
        [np.quantile(values, p) for p in (0.0, 0.5, 0.95, 1.0)]
    )
    assert interpolated(pl.Series([], dtype=pl.Float64), 0.5) is None


def test_a_weighted_quantile_gives_each_vote_a_place() -> None:
    values, weights = pl.Series([3.0, 1.0, 2.0, 9.0]), pl.Series([1, 2, 7, 0])
    assert weighted_quantiles(values, weights, (0.2, 0.21, 0.9, 0.91, 1.0)) == [1.0, 2.0, 2.0, 3.0, 3.0]
    assert weighted_quantiles(values, weights * 0, (0.5, 0.9)) == [None, None]


def test_libraries_differ_on_one_to_ten_as_the_definitions_say() -> None:
    """Section 9: which of their methods is the inverse distribution, and which is not."""
    points = (0.5, 0.95, 0.99)
    polars = {
        name: [ONE_TO_TEN.quantile(p, interpolation=name) for p in points]
        for name in ("nearest", "linear", "equiprobable", "higher")
    }
    assert polars["nearest"] == [6, 10, 10]
    assert polars["linear"] == pytest.approx([5.5, 9.55, 9.91])
    assert polars["equiprobable"] == [5, 10, 10]
    assert polars["higher"][0] == 6  # not the inverse distribution
    values = ONE_TO_TEN.to_numpy()
    assert [np.quantile(values, p) for p in points] == pytest.approx([5.5, 9.55, 9.91])
    assert [np.quantile(values, p, method="inverted_cdf") for p in points] == [5, 10, 10]
    with duckdb.connect() as connection:
        sql = "SELECT {}(x, [0.5, 0.95, 0.99]) FROM range(1, 11) AS t(x)"
        assert connection.execute(sql.format("quantile_disc")).fetchone() == ([5, 10, 10],)
        found = connection.execute(sql.format("quantile_cont")).fetchone()
    assert found is not None
    assert found[0] == pytest.approx([5.5, 9.55, 9.91])
    assert [quantile(ONE_TO_TEN, p) for p in points] == [5, 10, 10]


def test_rank_8_of_100_is_what_floats_make_of_7_percent() -> None:
    hundred = pl.Series(range(1, 101), dtype=pl.Float64)
    assert hundred.quantile(0.07, interpolation="equiprobable") == 8
    assert np.quantile(hundred.to_numpy(), 0.07, method="inverted_cdf") == 8
    with duckdb.connect() as connection:
        assert connection.execute("SELECT quantile_disc(x, 0.07) FROM range(1, 101) AS t(x)").fetchone() == (7,)
    assert quantile(hundred, 0.07) == 7


@pytest.mark.parametrize("p", ["0.5", "0.9", "0.95", "0.99", "0.995", "0.999"])
def test_published_percentiles_are_never_misrounded_by_floats(p: str) -> None:
    """Section 9: for every n up to 200,000 the float product gives the rank that whole numbers give."""
    n = np.arange(1, 200_001)
    share = Fraction(p)
    exact = -(-share.numerator * n // share.denominator)
    assert np.array_equal(np.ceil(float(p) * n).astype(np.int64), exact)
    assert [rank(share, int(k)) for k in (1, 19, 20, 21, 99_999, 200_000)] == [
        int(exact[k - 1]) for k in (1, 19, 20, 21, 99_999, 200_000)
    ]


def test_a_one_sided_bound_needs_fewer_requests() -> None:
    """Section 9: 59, 299 and 2,995: the smallest n at which the largest value passes the percentile with 95 %."""
    found = [next(n for n in range(1, 4000) if 1 - float(p) ** n >= 0.95) for p in ("0.95", "0.99", "0.999")]
    assert found == [59, 299, 2995]
    assert all(binomial_cdf(n - 1, n, float(p)) >= 0.95 for n, p in zip(found, ("0.95", "0.99", "0.999"), strict=True))


@pytest.mark.parametrize(("over", "queries"), [(0, 459), (1, 662), (2, 838), (5, 1307), (10, 2010)])
def test_early_stopping_of_mlperf_follows_from_the_binomial(over: int, queries: int) -> None:
    """Section 9: so many queries of which so many are over the limit show with 99 % that P99 keeps it."""
    assert binomial_cdf(over, queries, 0.01) <= 0.01 < binomial_cdf(over, queries - 1, 0.01)
