"""Two lines instead of one."""

from __future__ import annotations

import pytest

from analysis.aggregates.knee import find_knee, knees
from analysis.result import Knee, LoadPoint


def test_the_knee_is_where_two_lines_meet() -> None:
    points = [(float(x), 1.0 + 0.01 * x if x <= 10 else 1.1 + 0.5 * (x - 10), 5.0) for x in range(0, 21, 2)]
    knee = find_knee(points)
    assert knee is not None
    assert knee == pytest.approx((10.0, 0.01, 0.5))


def test_a_straight_or_a_flattening_line_has_no_knee() -> None:
    assert find_knee([(float(x), 2.0 * x, 1.0) for x in range(10)]) is None
    assert find_knee([(float(x), 0.5 * x if x < 5 else 2.5, 1.0) for x in range(10)]) is None
    assert find_knee([(1.0, 1.0, 1.0)] * 4) is None


def test_knees_are_told_per_figure() -> None:
    points = [
        LoadPoint(x, x, 10, ttft_p50=None, ttft_p95=0.1 if x < 6 else 0.1 + x - 5, tpot_p50=0.02, queue_p95=None)
        for x in map(float, range(1, 11))
    ]
    assert [(knee.metric, knee.statistic, knee.concurrency) for knee in knees(points)] == [("ttft", "p95", 5.0)]
    assert isinstance(knees(points)[0], Knee)
