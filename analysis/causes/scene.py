"""An episode's requests beside the normal they are compared with.

Input: Rows, the episode's interval, all intervals and breached windows of the selection, perhaps rows of an earlier
baseline. Output: Scene with `inside` and `normal`; column `w` of normal weighs a request so that sums over normal
stand for what would have been expected inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from analysis.causes.figures import number
from analysis.causes.rows import Rows
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Interval

DAY_S = 86_400.0
NEAR_S = 7200.0  # normal rows count less the further they lie from the incident: load drifts over hours
LONG_S = 2 * DAY_S  # from here the same hours of other days are the better normal


@dataclass(frozen=True)
class Scene:
    """Requests of the incident and of the normal; `basis` says where the normal came from."""

    rows: Rows
    interval: Interval
    inside: pl.DataFrame
    normal: pl.DataFrame
    basis: str  # selection, earlier, none
    replica_hours: pl.DataFrame | None

    @property
    def scale(self) -> float:
        return 1.0 / self.rows.sampling_rate

    @cached_property
    def expected_requests(self) -> float:
        return float(self.normal["w"].sum())


@dataclass(frozen=True)
class Quiet:
    """The unbroken part of a selection, and the times that were taken out of it."""

    frame: pl.DataFrame
    holes: tuple[tuple[float, float], ...]

    def covered(self, start: float, end: float) -> float:
        """Part of a time that is not in a hole."""
        taken, reached = 0.0, start
        for hole, right in sorted(self.holes):
            left = max(hole, reached)
            if right > left and left < end:
                taken += min(right, end) - left
                reached = min(right, end)
        return max(0.0, 1.0 - taken / (end - start))


def quiet_part(
    rows: Rows,
    incidents: Sequence[tuple[float, float]],
    breached: Sequence[tuple[float, float]],
    settings: CauseSettings,
) -> Quiet:
    """Requests outside all incidents and breached windows and the guard around them.

    Where the judged windows are so long that nothing is left, the incidents alone are taken out, then with a shorter
    guard: a breached window of four hours holds a good three of normal traffic. Where an incident itself lasts nearly
    always, the shorter ones leave a normal of their own, and the longest are left out until one is found.
    """
    found = []
    shortest = sorted(set(incidents), key=lambda span: (span[1] - span[0], span))
    for taken, guard in (
        ((*incidents, *breached), settings.guard_s),
        (incidents, settings.guard_s),
        (incidents, settings.guard_s / 3),
        *((shortest[:n], settings.guard_s) for n in range(len(shortest) - 1, 0, -1)),
    ):
        holes = tuple((start - guard, end + guard) for start, end in sorted(set(taken)))
        keep = pl.lit(value=True)
        for start, end in holes:
            keep &= (pl.col("at") < start) | (pl.col("at") >= end)
        quiet = Quiet(rows.frame.filter(keep), holes)
        if quiet.frame.height >= max(settings.min_normal_requests, settings.min_normal_share * rows.frame.height):
            return quiet
        found.append(quiet)
    return found[2]


def scene_of(
    rows: Rows,
    interval: Interval,
    quiet: Quiet,
    *,
    earlier: Rows | None,
    replica_hours: pl.DataFrame | None,
    settings: CauseSettings,
) -> Scene:
    """The scene of one episode: normal from the quiet part of the selection, else from the earlier baseline."""
    inside = rows.frame.filter((pl.col("at") >= interval.start) & (pl.col("at") < interval.end))
    normal, basis = quiet, "selection"
    if quiet.frame.height < settings.min_normal_requests:
        normal, basis = (quiet, "none") if earlier is None else (Quiet(earlier.frame, ()), "earlier")
    if basis == "none" or normal.frame.height == 0:
        return Scene(rows, interval, inside, normal.frame.head(0).with_columns(w=pl.lit(1.0)), "none", replica_hours)
    shift = 0.0 if basis == "selection" or earlier is None else (earlier.start_ns - rows.start_ns) / 1e9
    return Scene(rows, interval, inside, _weighted(normal, interval, rows, shift, settings), basis, replica_hours)


def _weighted(quiet: Quiet, interval: Interval, rows: Rows, shift: float, settings: CauseSettings) -> pl.DataFrame:
    """Normal rows with `w`: near hours weigh more, both sides are balanced, and the sum is that of the interval.

    A bin that a hole or the end of the rows cuts counts for the part that it covers.
    """
    normal, step = quiet.frame, float(settings.bin_s)
    bins = (normal["at"] // step).unique().sort().to_list()
    last = number(normal["at"].max())
    covered = [
        quiet.covered(index * step, (index + 1) * step) * min(1.0, max(last - index * step, 1.0) / step)
        for index in bins
    ]
    center = (interval.start + interval.end) / 2
    length_days = (rows.end_ns - rows.start_ns) / 1e9
    times = [index * step + step / 2 + shift for index in bins]
    if length_days > LONG_S or shift != 0.0:
        weights = _same_hours(times, interval)
    else:
        weights = [math.exp(-max(0.0, abs(time - center) - interval.length / 2) / NEAR_S) for time in times]
        weights = _balanced(times, weights, center)
    total = sum(weight * part for weight, part in zip(weights, covered, strict=True)) or 1.0
    scale = interval.length / step / total
    place = pl.Series(bins, dtype=pl.Float64).search_sorted(normal["at"] // step)  # a join would copy every column
    return normal.with_columns(w=pl.Series([weight * scale for weight in weights], dtype=pl.Float64).gather(place))


def _same_hours(times: list[float], interval: Interval) -> list[float]:
    """1 where the time of day lies within an hour of the interval's, else nothing; all alike if that leaves none."""
    center, half = (interval.start + interval.end) / 2, interval.length / 2 + 3600.0
    chosen = []
    for time in times:
        distance = abs(time - center) % DAY_S
        chosen.append(1.0 if min(distance, DAY_S - distance) <= half else 0.0)
    return chosen if sum(chosen) > 0 else [1.0] * len(times)


def _balanced(times: list[float], weights: list[float], center: float) -> list[float]:
    """Sides weighed so that the mean time is the center: a linear drift of the load then cancels."""
    before = [(center - time) * weight for time, weight in zip(times, weights, strict=True) if time < center]
    after = [(time - center) * weight for time, weight in zip(times, weights, strict=True) if time >= center]
    if sum(before) <= 0 or sum(after) <= 0:
        return weights
    lean = min(max(math.sqrt(sum(before) / sum(after)), 0.25), 4.0)
    return [weight * (lean if time >= center else 1.0 / lean) for time, weight in zip(times, weights, strict=True)]
