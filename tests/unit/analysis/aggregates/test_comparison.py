"""Two weeks: changes with intervals, unchanged within noise, the split of attainment."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from analysis.aggregates.attainment import with_good
from analysis.aggregates.comparison import compare
from analysis.aggregates.windows import span_of
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import Change, Comparison
from tests.support.builders import frame, request

READ = read_objectives("objectives: [{id: t, metric: ttft, threshold: 2s, target: 95%}]")


def week(seed: int, n: int = 2000, *, factor: float = 1.0, long_share: float = 0.2, model: str = "m") -> pl.DataFrame:
    draws = np.random.default_rng(seed)
    long = draws.random(n) < long_share
    ttft = draws.lognormal(np.where(long, 7.2, 6.0), 0.5) * factor
    rows = [
        request(
            i,
            at_s=i * 30,
            ttft_ms=round(float(t), 3),
            tpot_ms=10,
            input_tokens=9000 if is_long else 100,
            model=model,
            scenario="chat",
            cost_pico=10**9,
        )
        for i, (t, is_long) in enumerate(zip(ttft, long, strict=True))
    ]
    return with_good(measure(frame(rows)), READ, None)


def compared(current: pl.DataFrame, baseline: pl.DataFrame) -> Comparison:
    sides = [(rows, span_of(rows, None, None), None) for rows in (current, baseline)]
    return compare(sides[0], sides[1], READ, "before")


def change(found: Comparison, metric: str, statistic: str) -> Change:
    return next(one for one in found.changes if (one.metric, one.statistic) == (metric, statistic))


def test_a_thing_compared_with_itself_shows_no_difference() -> None:
    rows = week(1)
    found = compared(rows, rows)
    assert {one.verdict for one in found.changes if one.p_value is not None} == {"unchanged"}
    assert {one.change for one in found.changes if one.change is not None} == {0.0}
    assert (found.new_strata, found.vanished_strata, [one for one in found.slices if one.changed]) == ([], [], [])


def test_noise_is_unchanged_and_a_real_change_is_worse() -> None:
    quiet = compared(week(2), week(3))
    assert [(one.metric, one.statistic) for one in quiet.changes if one.verdict in ("better", "worse")] == []
    loud = compared(week(2, factor=1.5), week(3))
    p95 = change(loud, "ttft", "p95")
    assert (p95.verdict, p95.n, p95.n_baseline) == ("worse", 2000, 2000)
    assert p95.interval is not None
    assert 0 < p95.interval[0] < (p95.change or 0) < p95.interval[1]
    assert change(loud, "t", "attainment").verdict == "worse"
    assert change(compared(week(3), week(2, factor=1.5)), "ttft", "p95").verdict == "better"


def test_longer_prompts_are_mix_and_no_regression() -> None:
    found = compared(week(4, long_share=0.6), week(5))
    attainment = change(found, "t", "attainment")
    assert attainment.mix is not None
    assert attainment.within is not None
    assert attainment.unmatched == 0.0
    assert attainment.mix + attainment.within == pytest.approx(attainment.change, abs=1e-12)
    assert abs(attainment.mix) > 4 * abs(attainment.within)
    plain, same_mix = change(found, "ttft", "p50"), change(found, "ttft", "p50_same_mix")
    assert abs(same_mix.change or 1) < 0.1 * abs(plain.change or 0)
    assert [one for one in found.slices if one.changed] == []


def test_new_and_vanished_strata_are_named() -> None:
    found = compared(week(6, model="new"), week(7, model="old"))
    assert {name.split(" / ")[0] for name in found.new_strata} == {"new"}
    assert {name.split(" / ")[0] for name in found.vanished_strata} == {"old"}
    attainment = change(found, "t", "attainment")
    assert (attainment.mix, attainment.within) == (0.0, 0.0)
    assert attainment.unmatched == pytest.approx(attainment.change, abs=1e-12)


def test_a_figure_that_one_side_lacks_has_no_verdict() -> None:
    rows = week(8)
    found = compared(rows.with_columns(pl.lit(None, pl.Float64).alias("ttft")), rows)
    p50 = change(found, "ttft", "p50")
    assert (p50.value, p50.change, p50.verdict, p50.interval) == (None, None, "unknown", None)


def test_the_order_of_rows_changes_no_byte() -> None:
    current, baseline = week(9), week(10)
    shuffled = compared(current.sample(fraction=1.0, shuffle=True, seed=1), baseline.reverse())
    assert repr(shuffled) == repr(compared(current, baseline))


def test_a_side_of_a_handful_of_requests_has_no_verdict() -> None:
    found = compared(week(2), week(3, n=3, factor=0.1))
    assert {(one.verdict, one.p_value) for one in found.changes} == {("unknown", None)}
