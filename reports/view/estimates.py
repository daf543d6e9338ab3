"""Counts that a share or a bar is drawn from: those of all traffic, of which the rows may be a sample.

Input: records of the result. Output: the counts divided by the sampling rate of each row; the counts of rows in results
of versions that did not tell them.
"""

from __future__ import annotations

from analysis.result import BurnPoint, HourCell, WaterfallStep


def judged(point: BurnPoint | HourCell) -> tuple[float, float]:
    """Good and bad requests."""
    if point.good_estimated is None or point.bad_estimated is None:
        return float(point.good), float(point.bad)
    return point.good_estimated, point.bad_estimated


def bad_share(point: BurnPoint | HourCell) -> float | None:
    """Share of bad among the judged; None where nothing was judged."""
    good, bad = judged(point)
    return bad / (good + bad) if good + bad else None


def left(step: WaterfallStep) -> float:
    """Requests left after a step."""
    return float(step.left) if step.left_estimated is None else step.left_estimated


def lost(step: WaterfallStep) -> float:
    """Requests lost at a step."""
    return float(step.lost) if step.lost_estimated is None else step.lost_estimated
