"""Figures of load, growth, agents and burn under mixed sampling rates: each row counts as often as it stands for requests.

The oracle is plain Python over the rows written out that often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.aggregates.agents import agent_figures, quality_lines
from analysis.aggregates.attainment import judge, with_good
from analysis.aggregates.cache import cache
from analysis.aggregates.goodput import goodput
from analysis.aggregates.growth import growth
from analysis.aggregates.load import arrivals_fano, load, with_concurrency
from analysis.aggregates.saturation import saturation
from analysis.aggregates.slices import at_mix_of, slice_changes, stratum
from analysis.aggregates.strata import strata
from analysis.aggregates.windows import Span
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import Load
from analysis.settings import Settings
from ingest.schema import NS_PER_S
from tests.support import reference
from tests.support.builders import MONDAY_NS, frame, request
from tests.support.examples import tried

Row = dict[str, Any]
HOUR = Span(MONDAY_NS, MONDAY_NS + 3600 * NS_PER_S)
STATUSES = ("ok", "ok", "ok", "error")
OBJECTIVES = read_objectives("""
objectives:
  - {id: good, all_of: [{metric: ttft, threshold: 400ms}], target: 90%, min_requests: 1}
""")
maybe = st.one_of(st.none(), st.integers(0, 900))
rows_of = st.builds(
    lambda **columns: columns,
    at_s=st.integers(0, 120),
    ttft_ms=maybe,
    e2e_ms=st.integers(0, 20_000),
    queue_ms=maybe,
    overhead=st.none(),
    input_tokens=st.integers(1, 5),
    cached_input_tokens=st.one_of(st.none(), st.integers(0, 1)),
    output_tokens=st.integers(1, 4),
    llm_calls=st.integers(1, 3),
    tool_calls=st.one_of(st.none(), st.integers(0, 2)),
    replica=st.sampled_from(["a", "b", None]),
    model=st.sampled_from(["m", "n"]),
    quality=st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])),
    batch_size=st.one_of(st.none(), st.sampled_from([1.0, 2.0, 3.0, 9.0])),
    status=st.sampled_from(STATUSES),
    sampling_rate=st.sampled_from([1.0, 0.5, 0.05]),
)
tables = st.lists(rows_of, min_size=1, max_size=40)


def built(table: list[Row]) -> list[Row]:
    return [request(i, **{k: v for k, v in columns.items() if k != "overhead"}) for i, columns in enumerate(table)]


def stands_for(row: Row) -> int:
    return round(1 / float(row["sampling_rate"]))


def spread(rows: Iterable[Row]) -> list[Row]:
    """Every row as often as it stands for requests."""
    return [row for row in rows for _ in range(stands_for(row))]


def ok(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["status_class"] == "ok"]


def known(rows: Iterable[Row], *names: str) -> list[Row]:
    return [row for row in rows if all(row[name] is not None for name in names)]


def mean(values: list[float]) -> float | None:
    return float(sum(map(Fraction, values)) / len(values)) if values else None


def quantile_s(rows: Iterable[Row], name: str, p: str) -> float | None:
    return reference.seconds(reference.quantile((row[name] for row in rows), p))  # type: ignore[arg-type]


def close(expected: float | None) -> Any:
    return None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_requests_of_no_length_do_not_run_against_each_other() -> None:
    rows = [request(i, at_s=0, e2e_ms=0) for i in range(3)] + [request(3, at_s=0, e2e_ms=5)]
    assert with_concurrency(measure(frame(rows)))["concurrency"].to_list() == [0.0, 0.0, 0.0, 1.0]


def loaded(rows: list[Row]) -> Load:
    return load(with_good(measure(frame(rows)), OBJECTIVES, None), HOUR, Settings(), None)


def met_on_arrival(rows: list[Row], index: int) -> float:
    """Itself, and of the others each that came before and is not over, as often as it stands for requests."""
    own = rows[index]
    level = 0.0 if own["e2e_ns"] == 0 else 1.0
    for other, row in enumerate(rows):
        sooner = (row["started_ns"], other) < (own["started_ns"], index)
        if sooner and row["started_ns"] + row["e2e_ns"] > own["started_ns"]:
            level += stands_for(row)
    return level


@tried(60)
@given(tables)
def test_load_is_that_of_all_traffic(table: list[Row]) -> None:
    rows = built(table)
    found, whole = loaded(rows), spread(rows)
    busy = sum(row["e2e_ns"] for row in whole) / NS_PER_S
    assert found.mean_concurrency == close(busy / 3600)  # all end within the hour
    assert found.littles_law == close(busy / 3600)
    levels = [met_on_arrival(rows, index) for index in range(len(rows))]
    assert with_concurrency(measure(frame(rows)))["concurrency"].to_list() == pytest.approx(levels)
    assert found.max_concurrency == round(
        max(level + (stands_for(row) - 1 if row["e2e_ns"] else 0) for level, row in zip(levels, rows, strict=True))
    )
    assert sum(point.n for point in found.by_concurrency) == len(ok(rows))
    assert sum(point.requests_estimated or 0 for point in found.by_concurrency) == close(len(ok(whole)))
    for point in found.by_concurrency:
        inside = [
            row
            for row, level in zip(rows, levels, strict=True)
            if row["status_class"] == "ok" and point.concurrency_from <= level <= point.concurrency_to
        ]
        told = spread(inside)
        assert point.n == len(inside)
        assert (point.ttft_p50, point.ttft_p95, point.queue_p95) == (
            quantile_s(told, "ttft_ns", "0.5"), quantile_s(told, "ttft_ns", "0.95"), quantile_s(told, "queue_ns", "0.95"),
        )  # fmt: skip


@tried(60)
@given(tables)
def test_replicas_batches_and_hours_are_those_of_all_traffic(table: list[Row]) -> None:
    rows = built(table)
    found, whole = loaded(rows), spread(rows)
    named = known(whole, "replica")
    for line in found.replicas:
        mine = [row for row in named if row["replica"] == line.replica]
        assert line.n == sum(row["replica"] == line.replica for row in rows)
        assert (line.share, line.error_rate) == (
            close(len(mine) / len(named)), close(sum(row["status_class"] == "error" for row in mine) / len(mine)),
        )  # fmt: skip
        assert line.queue_p95 == quantile_s(ok(mine), "queue_ns", "0.95")
    sized = known(whole, "batch_size")
    labels = {1.0: "1", 2.0: "2-3", 3.0: "2-3", 9.0: "8-15"}
    shares: dict[str, float] = defaultdict(float)
    for row in sized:
        shares[labels[row["batch_size"]]] += 1 / len(sized)
    assert {bucket.label: bucket.share for bucket in found.batch_sizes} == {k: close(v) for k, v in shares.items()}
    for verdict, told in (("good", "good_estimated"), ("bad", "bad_estimated")):
        counted = sum(reference.verdict(row, [("ttft", 0.4)]) == verdict for row in whole)
        assert sum(getattr(cell, told) for cell in found.hours) == close(counted)


def ranks(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def line_through(xs: list[Any], ys: list[Any]) -> tuple[float, float, float, float] | None:
    """Slope, intercept, variance explained, correlation; None where they are not defined."""
    n = len(xs)
    x, y = [Fraction(v) for v in xs], [Fraction(v) for v in ys]
    middle_x, middle_y = sum(x) / n, sum(y) / n
    xx = sum((a - middle_x) ** 2 for a in x)
    yy = sum((b - middle_y) ** 2 for b in y)
    xy = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    if not xx or not yy:
        return None
    slope = xy / xx
    return (
        float(slope),
        float(middle_y - slope * middle_x),
        float(xy * xy / xx / yy),
        float(xy) / (float(xx) * float(yy)) ** 0.5,
    )


@tried(60)
@given(tables)
def test_growth_is_that_of_all_traffic(table: list[Row]) -> None:
    rows = built(table)
    for line, name, by in zip(growth(measure(frame(rows)), Settings()), ("ttft_ns", "e2e_ns"), ("input_tokens", "output_tokens"), strict=True):  # fmt: skip
        pairs = known(ok(rows), name, by)
        whole = spread(pairs)
        assert line.n == len(pairs)
        if len(pairs) < 3:
            assert line.slope is None
            continue
        xs, ys = [row[by] for row in whole], [row[name] / NS_PER_S for row in whole]
        fit = line_through(xs, ys)
        if fit is None:
            continue
        assert (line.slope, line.intercept, line.r_squared) == pytest.approx(fit[:3], rel=1e-6, abs=1e-8)
        of_ranks = line_through(ranks(xs), ranks(ys))
        assert of_ranks is not None
        assert line.spearman == pytest.approx(of_ranks[3], rel=1e-6, abs=1e-9)
        assert [(b.p50, b.p95) for b in line.buckets] == [
            (quantile_s(whole, name, "0.5"), quantile_s(whole, name, "0.95"))
        ]  # all lengths are in the first bucket


@tried(60)
@given(tables)
def test_agents_and_quality_are_those_of_all_traffic(table: list[Row]) -> None:
    rows = built(table)
    several = [row for row in ok(rows) if row["llm_calls"] + (row["tool_calls"] or 0) > 1]
    found = agent_figures(measure(frame(rows)))
    if not several:
        assert found is None
    else:
        assert found is not None
        whole = spread(several)
        assert found.n == len(several)
        assert found.calls_mean == close(mean([row["llm_calls"] for row in whole]))
        assert found.calls_p95 == reference.quantile((row["llm_calls"] for row in whole), "0.95")
        assert found.tool_steps_mean == close(mean([row["tool_calls"] for row in known(whole, "tool_calls")]))
    for line in quality_lines(measure(frame(rows))):
        scored = known((row for row in rows if row["model"] == line.model), "quality")
        assert line.n == len(scored)
        assert line.quality_mean == close(mean([row["quality"] for row in spread(scored)]))
        assert (line.e2e_p50, line.ttft_p50) == (
            quantile_s(spread(scored), "e2e_ns", "0.5"), quantile_s(spread(scored), "ttft_ns", "0.5"),
        )  # fmt: skip


def overheads(rates: list[float]) -> list[Row]:
    return [
        request(i, e2e_ms=10_000, model_ms=10_000 - 1000 * (i + 1), llm_calls=2, tool_calls=i, sampling_rate=rate)
        for i, rate in enumerate(rates)
    ]


def test_the_overhead_of_agents_weighs_each_by_what_it_stands_for() -> None:
    found = agent_figures(measure(frame(overheads([0.05, 1.0]))))  # 20 of 1 s over 2 steps, one of 2 s over 3
    assert found is not None
    assert (found.overhead_p50, found.overhead_p95) == (1.0, 1.0)
    assert found.overhead_share == pytest.approx((20 * 1 + 2) / (21 * 10))
    assert found.overhead_per_step_p95 == 0.5


@tried(60)
@given(tables)
def test_waterfall_burn_cache_and_lengths_are_those_of_all_traffic(table: list[Row]) -> None:
    rows = built(table)
    whole = spread(rows)
    verdicts = [reference.verdict(row, [("ttft", 0.4)]) for row in whole]
    measured = with_good(measure(frame(rows)), OBJECTIVES, None)
    steps = {step.step: step for step in goodput(measured, OBJECTIVES.items, HOUR).waterfall}
    assert (steps["offered"].left_estimated, steps["good"].left_estimated) == (
        close(len(whole)), close(verdicts.count("good")),
    )  # fmt: skip
    assert sum(step.lost_estimated or 0 for step in steps.values()) == close(len(whole) - verdicts.count("good"))
    hours = judge(measure(frame(rows)), OBJECTIVES)[0].hours
    assert sum(point.bad_estimated or 0 for point in hours) == close(verdicts.count("bad"))
    assert sum(point.good_estimated or 0 for point in hours) == close(verdicts.count("good"))
    cached = known(whole, "cached_input_tokens")
    hit = (
        Fraction(sum(r["cached_input_tokens"] for r in cached), sum(r["input_tokens"] for r in cached))
        if cached
        else None
    )
    assert cache(measured, None).hit_ratio == close(None if hit is None else float(hit))
    shares = {one.metric: one.traffic_share for one in strata(measured, OBJECTIVES, None)}
    assert all(share == close(1.0) for share in shares.values())  # one length alone


def test_the_share_of_a_length_weighs_each_request_by_what_it_stands_for() -> None:
    rows = [
        request(1, e2e_ms=1000, input_tokens=100, sampling_rate=0.05, cost_pico=5),
        request(2, e2e_ms=1000, input_tokens=4000, cost_pico=100),
    ]
    found = strata(measure(frame(rows)).with_columns(good_verdict=pl.lit("good")), OBJECTIVES, None)
    assert [(one.input_bucket, one.traffic_share, one.cost_share) for one in found if one.metric == "e2e"] == [
        ("<512", 20 / 21, 0.5), ("2k-8k", 1 / 21, 0.5),
    ]  # fmt: skip


def test_bands_of_load_have_the_attainment_of_all_traffic() -> None:
    rows = pl.DataFrame(
        {
            "started_ns": [MONDAY_NS + 60 * i * NS_PER_S for i in range(80) for _ in range(2)],
            "weight": [20.0, 1.0] * 80,
            "votes": [20, 1] * 80,
            "good_verdict": ["good", "bad"] * 80,
        }
    )
    found = saturation(rows, 0.9)
    assert [(band.good, band.bad, band.attainment, band.fitted) for band in found.bands] == [(80, 80, 20 / 21, 20 / 21)]
    assert found.verdict == "holds"  # as read it were 50 %


def thinned(draws: np.random.Generator, rate_of: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float, float]:
    """Fano factor of a bursty day, of a sample of it that keeps classes by rates of their own, and as read."""
    minute = np.repeat(np.arange(1440), draws.poisson(np.where(np.arange(1440) % 7 == 0, 120, 20)))
    starts = (minute * 60 + draws.uniform(0, 60, minute.size)) * NS_PER_S
    rate = rate_of(draws.random(minute.size))
    whole = pl.DataFrame({"started_ns": MONDAY_NS + starts.astype(np.int64), "weight": 1.0})
    kept = whole.with_columns(weight=pl.Series(1 / rate)).filter(pl.Series(draws.random(minute.size) < rate))
    day = Span(MONDAY_NS, MONDAY_NS + 86_400 * NS_PER_S)
    found = [arrivals_fano(rows, day) for rows in (whole, kept, kept.with_columns(weight=pl.lit(1.0)))]
    assert all(one is not None for one in found)
    return tuple(one or 0.0 for one in found)  # type: ignore[return-value]


def test_burstiness_of_a_mixed_sample_is_that_of_all_traffic_in_the_mean() -> None:
    draws = np.random.default_rng(17)
    found = np.array([thinned(draws, lambda u: np.where(u < 0.1, 1.0, 0.2)) for _ in range(40)])
    whole, sampled, as_read = found.mean(axis=0)
    assert sampled == pytest.approx(whole, rel=0.02)
    assert as_read < 0.7 * whole


lengths = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from([100, 4000]), st.sampled_from([1.0, 0.5, 0.05])),
    min_size=1,
    max_size=40,
)


def sliced(table: list[tuple[int, int, float]], *, written_out: bool) -> pl.DataFrame:
    rows = [
        request(copy, ttft_ms=10 * ttft, tpot_ms=1, model="m", scenario="s", input_tokens=tokens, sampling_rate=1.0 if written_out else rate)
        for ttft, tokens, rate in [(1, 100, 1.0), *table]
        for copy in range(round(1 / rate) if written_out else 1)
    ]  # fmt: skip
    return measure(frame(rows)).with_columns(stratum())


@tried(60)
@given(lengths, lengths, st.sampled_from(["0.5", "0.95"]))
def test_percentiles_at_the_mix_of_the_other_side_are_those_of_all_traffic(
    now: list[tuple[int, int, float]], before: list[tuple[int, int, float]], p: str
) -> None:
    found, whole = (
        at_mix_of(sliced(now, written_out=out), sliced(before, written_out=out), BY_ID["ttft"], Fraction(p))
        for out in (False, True)
    )
    assert found == whole


def test_slices_have_the_percentiles_of_all_traffic() -> None:
    table = [(30, 100, 0.05)] * 30 + [(90, 100, 1.0)] * 30
    (line,) = [
        one
        for one in slice_changes(sliced(table, written_out=False), sliced(table, written_out=False))
        if one.metric == "ttft"
    ]
    assert (line.n, line.p50, line.p95, line.changed) == (61, 0.3, 0.3, False)  # 600 of 0.3 s, 30 of 0.9 s
