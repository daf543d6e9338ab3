"""Since when: the change points of an objective, and episodes of objectives that broke together.

Input: the population of a goal (`at`, `value`, `bad`). Output: Interval per goal, Episode per group of goals.
Source: the interval that maximizes (mean_in - mean_out) * sqrt(n_in * n_out / n), the two-sample statistic of a shift
in the mean, searched near the judged windows that were breached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.causes.goal import Goal
from analysis.causes.settings import CauseSettings

ACUTE = 1.6  # share of bad requests against the rest of a breach that goes on
ACUTE_Z = 8.0  # the best of some thousand intervals passes 4 by chance
GOES_ON = 0.2  # part of the breached windows' requests; less is the edge of the incident


@dataclass(frozen=True)
class Interval:
    """Half-open, in seconds from the first request; `score` is the strength of the shift."""

    start: float
    end: float
    score: float

    @property
    def length(self) -> float:
        return self.end - self.start

    def overlap(self, other: Interval) -> float:
        return max(0.0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True)
class Episode:
    """Objectives whose incident windows coincide; `interval` is their weighted consensus."""

    interval: Interval
    goals: tuple[tuple[Goal, Interval], ...]


def incident_intervals(
    population: pl.DataFrame, goal: Goal, end_s: float, settings: CauseSettings
) -> tuple[Interval, ...]:
    """One interval per run of breached windows, the strongest first."""
    if goal.kind == "capacity" or (goal.kind == "cost" and goal.per is not None):
        return (Interval(0.0, end_s, 0.0),)  # a sum over the selection has no start of its own
    runs: list[list[float]] = []
    for opens, closes in goal.windows:
        start, end = max(0.0, opens), min(closes, end_s)  # a selection may begin long before its first request
        if end <= start:
            continue
        if runs and start - runs[-1][1] <= end - start:  # one kept window between two breached ones is no new run
            runs[-1][1] = max(runs[-1][1], end)
        else:
            runs.append([start, end])
    runs = runs or [[0.0, end_s]]
    step = settings.bin_s * max(1, math.ceil(end_s / settings.bin_s / settings.max_bins))
    fine = _series(population, goal, settings.fine_s, end_s) if step == settings.bin_s else None
    if fine is None or goal.kind == "cost" or step % settings.fine_s:  # sums of floats depend on what is summed first
        coarse = _series(population, goal, step, end_s)
    else:
        coarse = _coarser(fine, step // settings.fine_s)
    found = []
    for place, (start, end) in enumerate(runs):
        first = max(start - settings.pad_s, runs[place - 1][1] if place else 0.0)  # what lies there is another incident
        last = min(end + settings.pad_s, runs[place + 1][0] if place + 1 < len(runs) else end_s)
        best = _scan(coarse, step, first, max(last, end))
        if best is None or (
            _goes_on(coarse, step, best, (start, end), goal) and not _acute(coarse, step, best, end - start, goal)
        ):
            best = Interval(start, end, best.score if best is not None else 0.0)
        elif fine is not None:
            best = _refine(fine, settings.fine_s, best, settings.bin_s)
        found.append(Interval(best.start, min(best.end, end_s), best.score))
    return tuple(sorted(found, key=lambda interval: (-interval.score, interval.start)))


def _goes_on(series: Series, step: int, found: Interval, run: tuple[float, float], goal: Goal) -> bool:
    """Whether the breached windows still break the limit without the interval: then it is only their worst part."""
    counts, totals = series
    first, last = int(run[0] // step), min(math.ceil(run[1] / step), len(counts) - 1)
    left, right = (min(max(round(edge / step), first), last) for edge in (found.start, found.end))
    n = counts[last] - counts[first] - (counts[right] - counts[left])
    total = totals[last] - totals[first] - (totals[right] - totals[left])
    tolerated = goal.tolerated
    return tolerated is not None and n >= GOES_ON * (counts[last] - counts[first]) and total > tolerated * n


def _acute(series: Series, step: int, found: Interval, run: float, goal: Goal) -> bool:
    """Whether an interval of a breach that goes on is far worse than the rest: then it has a cause of its own."""
    counts, totals = series
    left, right = round(found.start / step), min(round(found.end / step), len(counts) - 1)
    inside, outside = counts[right] - counts[left], counts[-1] - (counts[right] - counts[left])
    if goal.kind == "cost" or inside <= 0 or outside <= 0 or not 2 * step <= found.length <= run / 2:
        return False
    share_in = (totals[right] - totals[left]) / inside
    share_out = (totals[-1] - (totals[right] - totals[left])) / outside
    share = totals[-1] / counts[-1]
    spread = math.sqrt(share * (1 - share))
    return spread > 0 and share_in >= ACUTE * share_out and found.score / spread >= ACUTE_Z


Series = tuple[list[float], list[float]]  # cumulated count and cumulated total, one entry more than bins


def _series(population: pl.DataFrame, goal: Goal, step: int, end_s: float) -> Series:
    figure = pl.col("value") if goal.kind == "cost" else pl.col("bad").cast(pl.Float64)
    place = (pl.col("at") // step).cast(pl.Int64)
    if population["at"].is_sorted():  # then bins are slices
        place = place.set_sorted()
    binned = population.lazy().group_by(bin=place).agg(n=pl.len(), total=figure.sum()).collect()
    bins = int(end_s // step) + 1
    counts, totals = [0.0] * bins, [0.0] * bins
    for index, n, total in binned.iter_rows():
        if 0 <= index < bins:
            counts[index], totals[index] = float(n), float(total or 0.0)
    return _cumulated(counts), _cumulated(totals)


def _coarser(series: Series, times: int) -> Series:
    """The same in bins that are longer by a whole factor."""
    last = len(series[0]) - 1
    places = [*range(0, last, times), last]
    counts, totals = ([cumulated[place] for place in places] for cumulated in series)
    return counts, totals


def _cumulated(values: list[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums


def _shift(series: Series, first: int, last: int) -> float:
    """Strength of the shift of bins [first, last) against all others."""
    counts, totals = series
    n, total = counts[-1], totals[-1]
    n_in = counts[last] - counts[first]
    n_out = n - n_in
    if n_in <= 0 or n_out <= 0:
        return 0.0
    inside = totals[last] - totals[first]
    return (inside / n_in - (total - inside) / n_out) * math.sqrt(n_in * n_out / n)


def _scan(series: Series, step: int, start: float, end: float) -> Interval | None:
    bins = len(series[0]) - 1
    first, last = max(0, math.floor(start / step)), min(bins, math.ceil(end / step))
    best = (0.0, 0, 0)
    for left in range(first, last):
        for right in range(left + 1, last + 1):
            score = _shift(series, left, right)
            if score > best[0]:
                best = (score, left, right)
    return Interval(best[1] * step, best[2] * step, best[0]) if best[0] > 0 else None


def _refine(series: Series, step: int, coarse: Interval, reach: int) -> Interval:
    """The same search in small steps, within one coarse bin of each edge."""
    bins, wide = len(series[0]) - 1, reach // step
    left, right = round(coarse.start / step), round(coarse.end / step)
    best = (0.0, left, right)
    for first in range(max(0, left - wide), left + wide + 1):
        for last in range(max(first + 1, right - wide), min(bins, right + wide) + 1):
            score = _shift(series, first, last)
            if score > best[0]:
                best = (score, first, last)
    return Interval(best[1] * step, best[2] * step, best[0])


def episodes(found: Sequence[tuple[Goal, Interval]], settings: CauseSettings) -> tuple[Episode, ...]:
    """Objectives grouped by time: each joins the strongest one that its own window lies in."""
    groups: list[list[tuple[Goal, Interval]]] = []
    for goal, interval in sorted(found, key=lambda pair: (-pair[1].score, pair[0].id)):
        for group in groups:
            lead = group[0][1]
            if interval.overlap(lead) >= settings.same_episode * min(interval.length, lead.length):
                group.append((goal, interval))
                break
        else:
            groups.append([(goal, interval)])
    return tuple(Episode(_consensus(group), tuple(group)) for group in groups)


def _consensus(group: Sequence[tuple[Goal, Interval]]) -> Interval:
    """Weighted median of starts and of ends over the members that agree with the strongest."""
    lead = group[0][1]
    alike = [
        interval
        for _, interval in group
        if lead.overlap(interval) >= 0.6 * (lead.length + interval.length - lead.overlap(interval))
    ] or [lead]
    start = weighted_median([(interval.start, interval.score) for interval in alike])
    end = weighted_median([(interval.end, interval.score) for interval in alike])
    return Interval(start, end, lead.score) if end > start else lead


def weighted_median(pairs: Sequence[tuple[float, float]]) -> float:
    """The smallest value at which half of the weight is reached."""
    ordered = sorted(pairs)
    half = sum(weight for _, weight in ordered) / 2
    reached = 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= half:
            return value
    return ordered[-1][0]
