"""The figure over time: the segment against the rest, replicas beside each other, gaps where too few requests are."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import with_flags
from analysis.causes.goal import goal_of
from analysis.causes.rows import Rows, prepare
from analysis.causes.series import series_of
from analysis.causes.shift import figure_of
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import SegmentSeries
from tests.support.builders import frame, request
from tests.unit.analysis.causes.goals import a_result


def rows_of(replicas: int, minutes: int = 60, per_minute: int = 60) -> Rows:
    """Even traffic over the replicas in turn; the first is slower by its number of minutes."""
    rows = []
    for number in range(minutes * per_minute):
        minute, place = number // per_minute, number % replicas
        rows.append(
            request(
                number, at_s=number * 60.0 / per_minute, ttft_ms=100.0 + (minute if place == 0 else 0), tpot_ms=10.0,
                replica=f"r-{place}", model="m", region="eu",
            )
        )  # fmt: skip
    return prepare(measure(frame(rows)))


def series(rows: Rows, *segment: tuple[str, str]) -> SegmentSeries:
    goal = goal_of(a_result(), rows.start_ns, 3600.0)
    figure = figure_of(goal)
    assert figure is not None
    found = series_of(rows, goal, segment, figure)
    assert found is not None
    return found


def test_a_segment_stands_beside_the_rest_with_its_counts() -> None:
    found = series(rows_of(2), ("model", "m"), ("replica", "r-0"))
    assert [(line.name, line.role) for line in found.lines] == [("r-0", "segment"), ("r-1", "peer")]
    assert (found.figure, found.unit, found.needed, found.step_s) == ("p95", "s", 20, 120.0)
    assert found.lines[0].n == [60] * 30
    assert found.lines[0].values[:3] == [0.101, 0.103, 0.105]  # the later minute of each window is the slower one
    assert set(found.lines[1].values) == {0.1}


def test_the_rest_is_one_line_where_no_replica_is_named() -> None:
    rows = rows_of(2)
    found = series(rows, ("region", "eu"))
    assert [(line.name, line.role) for line in found.lines] == [("eu", "segment")]  # nothing is outside of it
    (everyone,) = series(rows).lines
    assert (everyone.name, everyone.role, sum(everyone.n)) == (None, "all", 3600)


def test_there_are_at_most_eight_lines_and_every_request_is_in_one() -> None:
    found = series(rows_of(12), ("replica", "r-3"))
    assert [line.role for line in found.lines] == ["segment", *["peer"] * 6, "rest"]
    assert found.lines[0].name == "r-3"
    assert sum(sum(line.n) for line in found.lines) == 3600
    assert len(series(rows_of(8), ("replica", "r-3")).lines) == 8


def test_a_window_with_too_few_requests_is_a_gap_and_keeps_its_count() -> None:
    rows = rows_of(2)
    is_gone = (pl.col("replica").cast(pl.String) == "r-0") & pl.col("at").is_between(600, 1199)
    found = series(replace(rows, frame=rows.frame.filter(~is_gone)), ("replica", "r-0"))
    assert found.lines[0].n[5:10] == [0] * 5
    assert found.lines[0].values[5:10] == [None] * 5
    assert found.lines[0].values[10] is not None


def test_where_the_percentile_is_a_failed_request_the_longest_answer_stands_for_it() -> None:
    rows = []
    for second in range(3600):  # minutes 10 to 20: one in ten times out
        fails = 600 <= second < 1200 and second % 10 == 0
        status = "timeout" if fails else "ok"
        rows.append(request(second, at_s=float(second), ttft_ms=None if fails else 100.0 + second // 60, status=status))
    measured = measure(frame(rows))
    wanted = read_objectives("objectives: [{id: x, metric: ttft, threshold: 1s, target: 95%, min_requests: 1}]")
    judged = judge(measured, wanted)
    prepared = prepare(with_flags(measured, judged, wanted.items))
    goal = goal_of(judged[0], prepared.start_ns, 3600.0)
    figure = figure_of(goal)
    assert figure is not None
    found = series_of(prepared, goal, (), figure)
    assert found is not None
    (line,) = found.lines
    inside = [600 <= place * found.step_s < 1200 for place in range(len(line.n))]
    assert line.at_least == inside
    assert [value for value, there in zip(line.values, inside, strict=True) if there] == [
        (100 + (place + 1) * found.step_s // 60 - 1) / 1000 for place, there in enumerate(inside) if there
    ]  # the last minute of a window is its slowest


def test_a_segment_of_few_requests_gets_longer_windows() -> None:
    found = series(rows_of(12, per_minute=24), ("replica", "r-0"))  # 120 requests in the hour
    assert (found.step_s, [n >= 20 for n in found.lines[0].n]) == (600.0, [True] * 6)


@pytest.mark.parametrize("minutes", [7, 61, 1500])
def test_the_number_of_windows_is_bounded(minutes: int) -> None:
    found = series(rows_of(2, minutes, per_minute=4))
    assert 1 <= len(found.lines[0].n) <= 49
    assert sum(found.lines[0].n) == minutes * 4
