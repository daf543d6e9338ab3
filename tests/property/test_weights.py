"""Percentiles and shares of rows that stand for different numbers of requests: engines agree, nothing contradicts."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.aggregates.attainment import judge, with_good
from analysis.aggregates.availability import availability
from analysis.aggregates.distribution import distribution
from analysis.aggregates.figures import mean_figures, percentile_figures
from analysis.aggregates.goodput import goodput
from analysis.aggregates.stages import stage_shares
from analysis.aggregates.weighted import Sorted
from analysis.aggregates.windows import Span
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.metrics.votes import MOST, votes_of
from analysis.objectives import read_objectives
from ingest.schema import NS_PER_S
from ingest.store.frames import ArrowFrame
from tests.support import reference
from tests.support.builders import MONDAY_NS, frame, request
from tests.support.examples import tried

PATIENT = tried()
shares = st.sampled_from(["0.01", "0.07", "0.5", "0.9", "0.95", "0.99", "0.999", "1"])
values = st.one_of(st.none(), st.integers(-5, 5).map(float), st.floats(-1e9, 1e9))  # ties and nulls are common
pairs = st.lists(st.tuples(values, st.sampled_from([1, 2, 20, 1000])), max_size=80)
SQL = """
SELECT min(x) FROM (SELECT x, sum(w) OVER (ORDER BY x) AS reached FROM t WHERE x IS NOT NULL)
WHERE reached * {den} >= {num} * (SELECT sum(w) FROM t WHERE x IS NOT NULL)
"""


def table(rows: list[tuple[float | None, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"x": pl.Float64(), "votes": pl.Int64()}, orient="row")


def in_duckdb(rows: pl.DataFrame, p: str) -> float | None:
    share = Fraction(p)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, w BIGINT)")
        connection.register("given", ArrowFrame(rows))
        connection.execute("INSERT INTO t SELECT x, votes FROM given")
        found = connection.execute(SQL.format(num=share.numerator, den=share.denominator)).fetchone()
    return found[0] if found else None


@PATIENT
@given(pairs, shares)
def test_four_engines_agree_on_every_weighted_quantile(rows: list[tuple[float | None, int]], p: str) -> None:
    ours = Sorted.of(table(rows), "x").at(Fraction(p))
    assert ours == reference.quantile((value for value, votes in rows for _ in range(votes)), p)
    known = [(value, votes) for value, votes in rows if value is not None]
    if not known:
        assert ours is None
        return
    numbers, weights = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    assert ours == np.quantile(numbers, float(p), method="inverted_cdf", weights=weights)
    assert ours == in_duckdb(table(rows), p)
    if p != "0.07":  # its float product may round past the rank
        spread = table(rows).drop_nulls().select(pl.col("x").repeat_by("votes").explode()).to_series()
        assert ours == spread.quantile(float(p), interpolation="equiprobable")


@pytest.mark.parametrize("n", [1, 20, 1000, 1_000_000])
def test_weighted_quantiles_agree_from_one_row_to_a_million(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = pl.DataFrame({"x": np.round(rng.lognormal(0, 2, n), 2), "votes": rng.choice([1, 4, 20], n)})
    ordered = Sorted.of(rows, "x")
    for p in ("0.5", "0.95", "0.99", "0.999"):
        ours = ordered.at(Fraction(p))
        assert ours == np.quantile(rows["x"], float(p), method="inverted_cdf", weights=rows["votes"].cast(pl.Float64))
        assert ours == in_duckdb(rows, p)


@PATIENT
@given(pairs, st.integers(-5, 5), shares)
def test_a_weighted_percentile_is_within_a_limit_if_and_only_if_so_many_votes_are(
    rows: list[tuple[float | None, int]], limit: int, p: str
) -> None:
    ordered = Sorted.of(table(rows), "x")
    at = ordered.at(Fraction(p))
    within = sum(votes for value, votes in rows if value is not None and value <= limit)
    total = sum(votes for value, votes in rows if value is not None)
    assert (ordered.within(float(limit)) if total else 0) == within
    if total:
        assert at is not None
        assert (at <= limit) == (Fraction(within, total) >= Fraction(p))


def test_one_rate_cancels_out_and_several_keep_their_ratio() -> None:
    assert votes_of(pl.Series([0.05, 0.05, 0.05])).to_list() == [1, 1, 1]
    assert votes_of(pl.Series([0.05, None, 1.0])).to_list() == [20, 1, 1]
    assert votes_of(pl.Series([0.3, 0.2])).to_list() == [2, 3]
    odd = votes_of(pl.Series([0.123456789, 1 / 3, 0.0000001]))
    assert odd.to_list()[2] == MOST
    assert odd.to_list()[1] / odd.to_list()[2] == pytest.approx(3e-7, rel=1e-2)
    assert votes_of(pl.Series([], dtype=pl.Float64)).to_list() == []


def tail_sampled() -> pl.DataFrame:
    """A thousand requests, the slow and the failed ones kept in full, the others one in twenty."""
    fast = [request(i, at_s=i, ttft_ms=100, tpot_ms=10, queue_ms=10, sampling_rate=0.05) for i in range(45)]
    slow = [request(100 + i, at_s=i, ttft_ms=3000, tpot_ms=10, queue_ms=2900) for i in range(60)]
    failed = [request(200 + i, at_s=i, status="error", e2e_ms=50) for i in range(40)]
    return measure(frame([*fast, *slow, *failed]))


OBJECTIVES = read_objectives("""
objectives:
  - {id: share, all_of: [{metric: ttft, threshold: 2s}], target: 95%, period: 28d}
  - {id: median, metric: ttft, threshold: 2s, statistic: p50}
  - {id: p95, metric: ttft, threshold: 2s, statistic: p95}
  - {id: mean, metric: ttft, threshold: 2s, statistic: mean}
  - {id: errors, metric: error_rate, threshold: 5%}
""")


def test_a_sample_that_keeps_the_slow_is_judged_as_the_traffic_it_stands_for() -> None:
    share, median, p95, mean, errors = judge(tail_sampled(), OBJECTIVES)
    assert (share.attainment, share.good, share.bad) == (0.9, 45, 100)  # 900 of 1,000; as read it were 31 %
    assert share.budget_spent == pytest.approx(2.0)
    assert share.burn_rates[0].long == pytest.approx(2.0)
    assert share.bounds == (0.9, 0.9)
    assert share.clauses[0].attainment == 0.9
    assert (median.value, median.verdict) == (0.1, "met")
    assert (p95.value, p95.verdict) == (3.0, "breached")
    assert mean.value == pytest.approx((900 * 0.1 + 60 * 3) / 960)
    assert (errors.value, errors.verdict) == (0.04, "met")
    assert share.interval is not None
    effective = 1000**2 / (45 * 400 + 100)  # 55 rows of one rate would tell as much
    assert share.interval == pytest.approx(reference.wilson(0.9 * effective, effective))


def test_figures_beside_verdicts_weigh_rows_alike() -> None:
    rows = with_good(tail_sampled(), OBJECTIVES, None)
    line = distribution(rows, BY_ID["ttft"])
    assert (line.n, line.n_effective, line.p50, line.p95) == (105, 960**2 // (45 * 400 + 60), 0.1, 3.0)
    assert line.mean == pytest.approx((900 * 0.1 + 60 * 3) / 960)
    assert (line.success_share, line.p95_with_failures) == (0.96, 3.0)
    assert (line.p99_with_failures, line.too_few) == (None, ["p95", "p99"])
    assert line.note is not None
    assert line.note.startswith("effective n = 51 is too small for P95 and P99")
    assert line.curve[-1] == (3.0, 1.0)
    assert line.curve[0] == (0.1, 0.9375)
    assert availability(rows).error_rate.rate == 0.04
    found = goodput(rows, OBJECTIVES.items[:1], Span(MONDAY_NS, MONDAY_NS + 100 * NS_PER_S))
    assert (found.ratio, found.requests_per_second) == (0.9, 9.0)
    queue = next(stage for stage in stage_shares(rows) if stage.stage == "queue")
    assert queue.seconds == pytest.approx(900 * 0.01 + 60 * 2.9)
    assert queue.mean_seconds == pytest.approx(queue.seconds / 960)


@PATIENT
@given(pairs, shares)
def test_groups_have_the_weighted_percentiles_of_their_rows(rows: list[tuple[float | None, int]], p: str) -> None:
    both = table(rows).rename({"x": "e2e"}).with_columns(status_class=pl.lit("ok"), g=pl.int_range(pl.len()) % 3)
    found = percentile_figures(both, BY_ID["e2e"], Fraction(p), ["g"])
    for key, n, value, _, _ in found.iter_rows():
        ordered = Sorted.of(both.filter(pl.col("g") == key), "e2e")
        assert (ordered.n, ordered.at(Fraction(p))) == (n, value)
    means = mean_figures(both, BY_ID["e2e"], ["g"])
    assert means.get_column("n").to_list() == found.get_column("n").to_list()


def test_an_interval_under_votes_is_that_of_the_effective_rows() -> None:
    rng = np.random.default_rng(6)
    rows = pl.DataFrame({"x": rng.exponential(1.0, 4000), "votes": rng.choice([1, 20], 4000)})
    ordered = Sorted.of(rows, "x")
    assert ordered.effective == int(rows["votes"].sum()) ** 2 // int((rows["votes"] ** 2).sum())
    low, high = ordered.interval(Fraction("0.95")) or (0.0, 0.0)
    assert low < (ordered.at(0.95) or 0) < high
    alike = Sorted.of(rows.with_columns(votes=pl.lit(20)), "x")
    assert (alike.effective, alike.interval(Fraction("0.95"))) == (
        4000,
        Sorted(rows["x"].sort()).interval(Fraction("0.95")),
    )


@pytest.mark.parametrize("kept", [0.05, 0.2])
def test_intervals_under_votes_hold_the_truth_in_nearly_95_of_100_weeks(kept: float) -> None:
    """Rows are kept in full or by a share, whatever their value."""
    rng, inside, truth = np.random.default_rng(1), 0, float(np.log(20))
    for _ in range(2000):
        votes = np.where(rng.random(1500) < 0.5, 1, round(1 / kept))
        rows = pl.DataFrame({"x": rng.exponential(1.0, 1500), "votes": votes})
        low, high = Sorted.of(rows, "x").interval(Fraction("0.95")) or (1.0, 0.0)
        inside += low <= truth <= high
    assert 0.94 <= inside / 2000 <= 0.97
