"""What the method tells of causes under mixed sampling rates is what it tells of the rows written out that often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import with_flags
from analysis.causes.figures import mean, percentile, share_of, total, weighted_mean
from analysis.causes.goal import Goal, goal_of, population
from analysis.causes.rows import Rows, prepare
from analysis.causes.series import series_of
from analysis.causes.settings import CauseSettings
from analysis.causes.shift import columns_of, figure_of, shift_of
from analysis.causes.stage import normals, rescue, tail_excess
from analysis.metrics.measure import measure
from analysis.result import Shift
from tests.support.builders import frame, request
from tests.support.examples import tried
from tests.support.service import objectives

Row = dict[str, Any]
TEXTS = (
    "metric: ttft, statistic: p95, threshold: 300ms",
    "metric: ttft, statistic: mean, threshold: 1ms",
    "metric: ttft, threshold: 300ms, target: 80%",
    "metric: error_rate, threshold: 0.01",
    "metric: cost, statistic: mean, threshold: 0.000001 USD",
)
ALL = CauseSettings(max_rescued=10_000)
rows_of = st.builds(
    lambda **columns: columns,
    queue_ms=st.integers(0, 400),
    prefill_ms=st.integers(0, 400),
    other=st.integers(0, 50),
    status=st.sampled_from(["ok", "ok", "ok", "error"]),
    cost_pico=st.integers(0, 10**9),
    sampling_rate=st.sampled_from([1.0, 0.5, 0.1]),
)
sides = st.lists(rows_of, min_size=25, max_size=40)


def built(table: list[Row], first: int, *, written_out: bool) -> list[Row]:
    """Rows of a side; written out, each stands there as often as it stands for requests."""
    rows = []
    for place, row in enumerate([table[0] | {"sampling_rate": 1.0}, *table[1:]]):  # one vote is one request
        columns = {name: value for name, value in row.items() if name != "other"}
        ttft = row["queue_ms"] + row["prefill_ms"] + row["other"]
        times = round(1 / row["sampling_rate"]) if written_out else 1
        columns["sampling_rate"] = 1.0 if written_out else row["sampling_rate"]
        rows += [
            request(1000 * (first + place) + copy, at_s=float(first + place), ttft_ms=ttft, tpot_ms=10.0, **columns)
            for copy in range(times)
        ]
    return rows


def scene(before: list[Row], now: list[Row], text: str, *, written_out: bool) -> tuple[Rows, Goal, int]:
    wanted = objectives(f"objectives: [{{id: t, {text}, min_requests: 10}}]")
    normal = built(before, 0, written_out=written_out)
    measured = measure(frame([*normal, *built(now, len(before), written_out=written_out)]))
    judged = judge(measured, wanted)
    rows = prepare(with_flags(measured, judged, wanted.items))
    return rows, goal_of(judged[0], rows.start_ns, 100.0), len(normal)


def told(shift: Shift) -> Shift:
    """The shift but for its counts of rows."""
    return replace(shift, n=0, n_baseline=0)


@tried(40)
@given(sides, sides, st.sampled_from(TEXTS))
def test_a_shift_is_that_of_all_traffic(before: list[Row], now: list[Row], text: str) -> None:
    found = []
    for written_out in (False, True):
        rows, goal, n = scene(before, now, text, written_out=written_out)
        normal = population(rows, goal, rows.frame.head(n), columns=columns_of(goal, rows))
        inside = population(rows, goal, rows.frame.slice(n))
        figure = figure_of(goal)
        assert figure is not None
        if min(normal.height, inside.height) < figure.needed:
            return  # as read they are too few
        found.append(told(shift_of(goal, inside, normal)))
    assert found[0] == found[1]


@tried(40)
@given(sides, sides)
def test_excess_and_rescue_are_those_of_all_traffic(before: list[Row], now: list[Row]) -> None:
    found = []
    for written_out in (False, True):
        rows, goal, n = scene(before, now, TEXTS[0], written_out=written_out)
        normal = population(rows, goal, rows.frame.head(n), columns=columns_of(goal, rows))
        inside = population(rows, goal, rows.frame.slice(n))
        excess = tail_excess(inside, normal, goal, ALL)
        saved = rescue(inside.filter("bad"), goal, normals(rows.frame.head(n), rows)[2:], ALL)
        found.append((excess, saved))
    (excess, saved), (whole_excess, whole_saved) = found
    if excess is not None and whole_excess is not None:
        assert excess.inside == pytest.approx(whole_excess.inside)
        assert excess.normal == pytest.approx(whole_excess.normal)
    assert (saved is None) == (whole_saved is None)
    if saved is not None and whole_saved is not None:
        assert saved.structural == pytest.approx(whole_saved.structural)
        assert dict(saved.shares) == pytest.approx(dict(whole_saved.shares))


def test_the_slowest_tenth_is_that_of_all_traffic() -> None:
    """Of 10 slow rows in full and 9 fast ones that stand for 90, the slowest tenth are the slow ones alone."""
    slow = [request(n, at_s=n, ttft_ms=900, tpot_ms=10, queue_ms=800, prefill_ms=100) for n in range(10)]
    fast = [
        request(20 + n, at_s=20 + n, ttft_ms=150, tpot_ms=10, queue_ms=50, prefill_ms=100, sampling_rate=0.1)
        for n in range(9)
    ]
    wanted = objectives("objectives: [{id: t, metric: ttft, statistic: p95, threshold: 300ms, min_requests: 10}]")
    measured = measure(frame([*slow, *fast]))
    judged = judge(measured, wanted)
    rows = prepare(with_flags(measured, judged, wanted.items))
    goal = goal_of(judged[0], rows.start_ns, 100.0)
    inside = population(rows, goal)
    excess = tail_excess(inside, inside.head(0), goal, ALL)
    assert excess is not None
    assert excess.n == 10  # as read the tenth were two rows
    assert excess.inside["queue"] == pytest.approx(0.8)
    assert [rows.each, rows.sampling_rate] == pytest.approx([1.0, 19 / 100])


def test_a_point_of_a_series_is_that_of_all_traffic() -> None:
    rows = [
        request(i, at_s=5.0 * i, ttft_ms=400 if i % 2 else 100, tpot_ms=10, sampling_rate=1.0 if i % 2 else 0.5)
        for i in range(72)
    ]
    for text, value in ((TEXTS[1], 0.2), ("metric: ttft, threshold: 300ms, target: 10%", 1 / 3)):
        wanted = objectives(f"objectives: [{{id: t, {text}, min_requests: 10}}]")
        measured = measure(frame(rows))
        judged = judge(measured, wanted)
        ready = prepare(with_flags(measured, judged, wanted.items))
        goal = goal_of(judged[0], ready.start_ns, 355.0)
        figure = figure_of(goal)
        assert figure is not None
        if figure.q is not None:
            figure = replace(figure, q=None, is_share=True, counts_failures=False, needed=10)
        found = series_of(ready, goal, (), figure)
        assert found is not None
        assert found.step_s == 60.0
        assert found.lines[0].values[:5] == pytest.approx([value] * 5)
        assert found.lines[0].n[:5] == [12] * 5


cells = st.tuples(
    st.sampled_from([1, 2, 20]), st.one_of(st.none(), st.integers(0, 50)), st.booleans(), st.integers(1, 9)
)


def as_frame(table: list[tuple[int, int | None, bool, int]], *, written_out: bool) -> pl.DataFrame:
    rows = [(1, *row[1:]) for row in table for _ in range(row[0])] if written_out else table
    schema = {"votes": pl.Int64(), "x": pl.Float64(), "flag": pl.Boolean(), "w": pl.Float64()}
    return pl.DataFrame([(a, b, c, float(d)) for a, b, c, d in rows], schema=schema, orient="row")


@tried()
@given(st.lists(cells, max_size=30), st.sampled_from([0.05, 0.5, 0.9, 0.95]))
def test_scalars_of_facts_are_those_of_the_rows_written_out(
    table: list[tuple[int, int | None, bool, int]], p: float
) -> None:
    sampled, whole = (as_frame(table, written_out=written_out) for written_out in (False, True))
    assert mean(sampled, "x") == pytest.approx(mean(whole, "x"))
    assert weighted_mean(sampled.drop_nulls(), "x") == pytest.approx(weighted_mean(whole.drop_nulls(), "x"))
    assert share_of(sampled, sampled["x"] > 20) == pytest.approx(share_of(whole, whole["x"] > 20))
    assert percentile(sampled, "x", p) == percentile(whole, "x", p)
    for frame_of in (sampled, whole):
        assert total(frame_of, "x") == sum(votes * (x or 0) for votes, x, _, _ in table)
        assert total(frame_of.filter("flag"), "x") == sum(votes * (x or 0) for votes, x, flag, _ in table if flag)
