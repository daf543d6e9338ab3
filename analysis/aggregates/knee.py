"""From which concurrency on a figure rises faster.

Input: the points of latency by concurrency. Output: Knee records; none where one straight line does as well.
Two lines that meet at a point are fitted to the points, weighted by the requests that they stand for; the best meeting point is the knee
if the second line is at least three times as steep and the error falls by half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.result import Knee, LoadPoint

STEEPER = 3.0
ERROR_LEFT = 0.5
MIN_POINTS = 5  # two lines through fewer points fit anything

_FIGURES: tuple[tuple[str, str, Callable[[LoadPoint], float | None]], ...] = (
    ("ttft", "p95", lambda point: point.ttft_p95),
    ("tpot", "p50", lambda point: point.tpot_p50),
    ("queue", "p95", lambda point: point.queue_p95),
)

Point = tuple[float, float, float]  # concurrency, value, weight


def knees(points: Sequence[LoadPoint]) -> list[Knee]:
    """The knee of TTFT, TPOT and queue, each where there is one."""
    found: list[Knee] = []
    for metric, statistic, value in _FIGURES:
        known = [
            (
                (point.concurrency_from + point.concurrency_to) / 2,
                figure,
                point.n if point.requests_estimated is None else point.requests_estimated,
            )
            for point in points
            if (figure := value(point)) is not None
        ]
        knee = find_knee(known)
        if knee is not None:
            found.append(Knee(metric, statistic, *knee))
    return found


def find_knee(points: Sequence[Point]) -> tuple[float, float, float] | None:
    """Where two lines meet, with both slopes; None where one line does as well."""
    if len(points) < MIN_POINTS:
        return None
    whole = _line(points)
    best: tuple[float, float, float, float] | None = None
    for index in range(2, len(points) - 1):
        first, second = _line(points[:index]), _line(points[index - 1 :])
        error = first[2] + second[2]
        if best is None or error < best[0]:
            best = (error, points[index - 1][0], first[0], second[0])
    if best is None or best[0] > ERROR_LEFT * whole[2]:
        return None
    _, at, before, after = best
    return (at, before, after) if after > 0 and after >= STEEPER * max(before, 0.0) else None


def _line(points: Sequence[Point]) -> tuple[float, float, float]:
    """Slope, intercept and weighted squared error of the best straight line."""
    total = sum(w for _, _, w in points)
    mean_x = sum(x * w for x, _, w in points) / total
    mean_y = sum(y * w for _, y, w in points) / total
    xx = sum(w * (x - mean_x) ** 2 for x, _, w in points)
    xy = sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points)
    slope = xy / xx if xx > 0 else 0.0
    intercept = mean_y - slope * mean_x
    return slope, intercept, sum(w * (y - intercept - slope * x) ** 2 for x, y, w in points)
