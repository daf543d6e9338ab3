"""Objectives judged: verdicts with counts, intervals and windows.

Input: a measured and priced frame, the objectives, the range that is analyzed, replica hours.
Output: one ObjectiveResult per objective, in the order of the file.

A window with fewer than `min_requests` judged requests, or, for a target, fewer than 1 / (1 - target), is skipped.
breached: a judged window is; met: none is; too_few: none could be judged; unknown: no request has the figure;
endangered: met, and a burn rate is above its factor in the long and the short window. The point estimate decides.
Source: design, section 6; metric definitions, sections 3, 4 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from analysis.aggregates.blocks import BLOCK_NS, MIN_BLOCKS, share_interval_by_blocks
from analysis.aggregates.error_budget import budget_spent, burn_rates, hourly, period_budget
from analysis.aggregates.objective_words import (
    bounds_of,
    clauses_of,
    needed_requests,
    requests_needed,
    sentence,
    threshold_of,
    threshold_text_of,
)
from analysis.aggregates.statistics import rank, share_interval
from analysis.aggregates.tally import Case, Scene, read_by, scene_of, tally
from analysis.aggregates.verdicts import (
    BAD,
    EXCLUDED,
    GOOD,
    UNKNOWN,
    good_column,
    judges_requests,
    last_instant,
    verdict_expr,
)
from analysis.aggregates.windows import span_of, window_bounds
from analysis.dimensions import matches
from analysis.fleet import Fleet
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Unit
from analysis.objectives import Objective, Objectives
from analysis.result import Interval, ObjectiveResult, WindowVerdict
from ingest.selection import to_iso

MOST_WINDOWS = 2000  # in a result: a week of five-minute windows; all of them are judged and counted
BREACHED, MET, TOO_FEW, ENDANGERED = "breached", "met", "too_few", "endangered"


def judge(
    frame: pl.DataFrame,
    objectives: Objectives,
    *,
    start_ns: int | None = None,
    end_ns: int | None = None,
    replica_hours: pl.DataFrame | None = None,
    fleet: Fleet | None = None,
    earlier: pl.DataFrame | None = None,
    kept: Callable[[Objective], pl.DataFrame] | None = None,
    told: Collection[str] | None = None,
    known: Sequence[ObjectiveResult] = (),
) -> tuple[ObjectiveResult, ...]:
    """One result per objective, in the order given.

    Args:
        frame: measured and priced requests of the selection.
        objectives: with the settings they are judged under.
        start_ns, end_ns: the range as selected; an open side ends with the data.
        replica_hours: for figures of the fleet; without them those are unknown.
        fleet: the fleet file, for `mfu`.
        earlier: measured requests before the range, for burn rates and budgets of a longer period.
        kept: counts of requests that are gone, of an objective; for the same.
        told: ids of the objectives of which all is told, None for every one; of the others those fields alone that the
            causes of one objective ask of all: counts, windows and verdicts, without sureness, course and budget.
        known: results of this very frame, taken for objectives that are not told.
    """
    span = span_of(frame, start_ns, end_ns)
    until = last_instant(frame)
    if any("is_good" in read.meta.root_names() for item in objectives.items for read in read_by(item)):
        frame = with_good(frame, objectives, until)
    case = Case(frame, objectives.settings, span, until, replica_hours, fleet, earlier, kept)
    before = {result.id: result for result in known}
    found: list[ObjectiveResult] = []
    for item in objectives.items:
        is_told = told is None or item.id in told
        kept_result = None if is_told else before.get(item.id)
        found.append(kept_result or _judge_one(case, item, is_told=is_told))
    return tuple(found)


def good_objectives(objectives: Objectives) -> tuple[Objective, ...]:
    """The objectives that define a good request: the joint ones, else all that limit a figure of a request.

    A percentile limits it as a target of the same share would, so that a failed request is not good.
    """
    joint = tuple(item for item in objectives.items if item.joint)
    limiting = (
        replace(item, target=item.target or float(item.percentile or 0), statistic=None)
        for item in objectives.items
        if item.per_request and (item.target is not None or item.percentile is not None)
    )
    return joint or tuple(limiting)


def share_if_all_kept(defining: tuple[Objective, ...]) -> float | None:
    """Share of good requests that is sure if each defining objective just reaches its target; None if that is none.

    Objectives on the same requests may be missed by different ones of them, so their budgets add up.
    """
    shares: list[float] = []
    for where in {item.where for item in defining}:
        budgets = [1 - (item.target or 0) for item in defining if item.where in ((), where)]
        shares.append(1 - math.fsum(budgets))
    lowest = min(shares, default=0.0)
    return lowest if lowest > 0 else None


def with_good(frame: pl.DataFrame, objectives: Objectives, until: int | None) -> pl.DataFrame:
    """The frame with `is_good` and `good_verdict`: whether a request keeps every objective that applies to it.

    A request is bad if any of them is broken, unknown if one cannot be said, excluded if none judges it; `is_covered`
    tells those that lie in the `where` of one, excluded or not. Of several joint objectives, the verdict of each stands beside (`verdicts.good_column`), null outside its `where`.
    """
    defining = good_objectives(objectives)
    verdicts = [pl.when(matches(item.where)).then(verdict_expr(item, objectives.settings, until)) for item in defining]
    joint = [item for item in defining if item.joint]
    if verdicts:
        told = frame.select(verdict.alias(f"{n}") for n, verdict in enumerate(verdicts))  # each is worked out once
    else:
        failed = pl.when(pl.col("is_failed")).then(pl.lit(BAD)).otherwise(pl.lit(GOOD))
        told = frame.select(pl.when(pl.col("is_valid")).then(failed).otherwise(pl.lit(EXCLUDED)).alias("0"))

    def any_is(name: str) -> pl.Expr:
        return pl.any_horizontal((pl.col(column) == name).fill_null(value=False) for column in told.columns)

    joined = (
        pl.when(any_is(BAD))
        .then(pl.lit(BAD))
        .when(any_is(UNKNOWN))
        .then(pl.lit(UNKNOWN))
        .when(any_is(GOOD))
        .then(pl.lit(GOOD))
        .otherwise(pl.lit(EXCLUDED))
    )
    verdict = told.select(joined.cast(pl.Categorical).alias("good_verdict")).to_series()
    several = enumerate(joint) if len(joint) > 1 else ()
    each = [told.get_column(f"{n}").cast(pl.Categorical).alias(good_column(item)) for n, item in several]
    covered = told.select(pl.any_horizontal(pl.all().is_not_null()).alias("is_covered")).to_series()
    return frame.with_columns(verdict, (verdict == GOOD).alias("is_good"), covered, *each)


def _judge_one(case: Case, item: Objective, *, is_told: bool) -> ObjectiveResult:
    """The result of an objective; where it is not told, without what no other objective's causes ask for."""
    scene = scene_of(case, item, is_told=is_told)
    keys = [*(["_of"] if item.per else []), *(["_window"] if item.window_s is not None else [])]
    counts, groups = tally(scene, item, keys, figures_told=is_told)
    if not keys:
        groups = [counts]
    tallies = [row for row in groups if _has_keys(row, keys)]
    if not judges_requests(item):
        _judge_together(item, counts, tallies, groups)
    windows = [_window_verdict(item, scene, row) for row in tallies]
    judged = [window for window in windows if window.verdict in (BREACHED, MET)]
    breached = [window for window in judged if window.verdict == BREACHED]
    verdict = UNKNOWN if counts["n_figure"] == 0 else _overall(judged, breached)
    cells = case.kept(item) if case.kept is not None and item.period_s is not None else None
    burns = burn_rates(scene.history, item, case.span, case.until, cells) if item.period_s is not None else []
    if verdict == MET and any(burn.firing for burn in burns):
        verdict = ENDANGERED
    found = ObjectiveResult(
        id=item.id,
        title=item.title,
        metric=item.metric,
        where={name: list(values) for name, values in item.where},
        statistic=item.statistic,
        target=item.target,
        threshold=threshold_of(item),
        threshold_text=threshold_text_of(item),
        unit=str(Unit.RATIO if item.joint else BY_ID[item.metric].unit),
        per=item.per,
        window=item.window,
        period=item.period,
        min_requests=item.min_requests,
        verdict=verdict,
        sure=None,
        good=counts[GOOD],
        bad=counts[BAD],
        unknown=counts[UNKNOWN],
        excluded=counts[EXCLUDED],
        attainment=counts["attainment"],
        interval=None,
        bounds=bounds_of(counts),
        value=counts["value"],
        windows=_shown(windows),
        worst=_worst(item, breached or judged),
        n_windows_judged=len(judged),
        n_windows_breached=len(breached),
        budget_spent=budget_spent(counts["good_votes"], counts["bad_votes"], item.target_exact),
        burn_rates=burns,
        clauses=clauses_of(scene, item),
        needed=None,
        says=sentence(item, verdict, counts, len(judged), len(breached)),
    )
    return _with_trust(found, case, item, (scene, counts, windows, cells)) if is_told else found


def _with_trust(
    found: ObjectiveResult,
    case: Case,
    item: Objective,
    behind: tuple[Scene, dict[str, Any], list[WindowVerdict], pl.DataFrame | None],
) -> ObjectiveResult:
    """The result with how sure it is, its course in time and the budget of its period."""
    scene, counts, windows, cells = behind
    judged = [window for window in windows if window.verdict in (BREACHED, MET)]
    breached = [window for window in judged if window.verdict == BREACHED]
    budget = period_budget(scene.history, item, case.span, case.until, found.burn_rates, cells)
    blocks = block_interval(scene.rows) if item.target is not None else None
    has_keys = item.per is not None or item.window_s is not None
    return replace(
        found,
        sure=_overall_sure(found.verdict, judged, breached) if has_keys else _both_sure(item, windows[0], blocks),
        interval=_interval(item, counts),
        value=found.value if item.per is None else (found.worst.value if found.worst else None),
        needed=requests_needed(item, found.verdict, found.worst),
        hours=hourly(scene.rows) if item.target is not None else [],
        block_interval=blocks,
        burn_exhausted_at=None if budget is None else budget.exhausted_at,
        period_good=None if budget is None else budget.good,
        period_bad=None if budget is None else budget.bad,
        period_budget_spent=None if budget is None else budget.spent,
        period_start=None if budget is None else budget.start,
        period_rolled=None if budget is None else budget.rolled,
        period_days=[] if budget is None else budget.days,
    )


def _judge_together(
    item: Objective, counts: dict[str, Any], tallies: list[dict[str, Any]], groups: list[dict[str, Any]]
) -> None:
    """Counts of a sum or a ratio: requests that have the figure are good where what they add up to keeps the limit.

    Requests of a window or a value that was not judged, or of none, stay excluded; those without the figure, unknown.
    """
    for row in tallies:
        place = {MET: GOOD, BREACHED: BAD, UNKNOWN: UNKNOWN}.get(verdict_of(item, row))
        if place is not None:
            row[place], row[EXCLUDED] = row[place] + row[EXCLUDED], 0
    counts |= {name: sum(row[name] for row in groups) for name in (GOOD, BAD, UNKNOWN, EXCLUDED)}


def _has_keys(row: dict[str, Any], keys: Sequence[str]) -> bool:
    return all(row[key] is not None for key in keys)


def _window_verdict(item: Objective, scene: Scene, row: dict[str, Any]) -> WindowVerdict:
    interval = _interval(item, row)
    verdict = verdict_of(item, row)
    bounds: tuple[int | None, int | None] = (scene.span.start_ns, scene.span.end_ns)
    if item.window_s is not None and row.get("_window") is not None:
        bounds = window_bounds(row["_window"], item.window_s, scene.origin_ns)
    return WindowVerdict(
        start=None if bounds[0] is None else to_iso(bounds[0]),
        end=None if bounds[1] is None else to_iso(bounds[1]),
        verdict=verdict,
        n=row["n"],
        good=row[GOOD],
        bad=row[BAD],
        unknown=row[UNKNOWN],
        excluded=row[EXCLUDED],
        attainment=row["attainment"],
        value=row["value"],
        interval=interval,
        sure=_sure(item, row, verdict),
        of=row.get("_of"),
    )


def verdict_of(item: Objective, row: dict[str, Any]) -> str:
    """Verdict of counts: `n_figure` requests have the figure, `n` are judged, of which good and bad.

    `good_votes` and `bad_votes` weigh them where sampling rates differ; counts of roll-ups have none.
    """
    good, bad = (row.get(f"{name}_votes", row[name]) for name in (GOOD, BAD))
    if row["n_figure"] == 0:
        return UNKNOWN
    if row["n"] < needed_requests(item):
        return TOO_FEW
    if item.target_exact is not None:
        kept = good >= item.target_exact * (good + bad)
    elif item.percentile is not None and item.conditions[0].metric.better is Better.LOWER:
        kept = good >= rank(item.percentile, good + bad)  # P95 <= L says the same as "rank many are within L"
    else:
        kept = _within(item, row["value"])
    return MET if kept else BREACHED


def _within(item: Objective, value: float) -> bool:
    limit = item.conditions[0].threshold.constant
    if limit is None:
        raise ValueError(f"{item.id} has no single limit")
    return value <= limit if item.conditions[0].metric.better is Better.LOWER else value >= limit


def _interval(item: Objective, row: dict[str, Any]) -> Interval | None:
    if item.target is not None:
        good, judged = row["effective"]
        return share_interval(good, judged, item.target)
    low, high = row["low"], row["high"]
    return None if low is None or high is None else (low, high)


def _sure(item: Objective, row: dict[str, Any], verdict: str) -> bool | None:
    """Whether the whole interval lies on the verdict's side; None where nothing was judged, or is no estimate."""
    if verdict not in (BREACHED, MET):
        return None
    interval = _interval(item, row)
    if _hangs_on_unknown(item, row, verdict):
        return False
    if item.target is not None:
        if interval is None:
            return None
        return interval[0] >= item.target if verdict == MET else interval[1] < item.target
    if item.percentile is not None and item.conditions[0].threshold.constant is None:
        good, judged = row["effective"]
        share = share_interval(good, judged, float(item.percentile))
        if share is None:
            return None
        return share[0] >= item.percentile if verdict == MET else share[1] < item.percentile
    if interval is None:
        return False if item.percentile is not None or item.statistic == "mean" else None
    sides = {_within(item, end) for end in interval}
    return sides == {verdict == MET}


def _hangs_on_unknown(item: Objective, row: dict[str, Any], verdict: str) -> bool:
    """Whether the requests that lack the figure could turn the verdict: all good in a breach, all bad where it is met."""
    share = item.target_exact if item.target_exact is not None else item.percentile
    good, bad, unknown = (row.get(f"{name}_votes", row[name]) for name in (GOOD, BAD, UNKNOWN))
    if share is None or not unknown or good + bad == 0:
        return False
    kept = good if verdict == MET else good + unknown
    return bool(kept >= share * (good + bad + unknown)) == (verdict == BREACHED)


def _overall(judged: list[WindowVerdict], breached: list[WindowVerdict]) -> str:
    if not judged:
        return TOO_FEW
    return BREACHED if breached else MET


def _overall_sure(verdict: str, judged: list[WindowVerdict], breached: list[WindowVerdict]) -> bool | None:
    """A breach is sure if one window is; that nothing is breached, if all are."""
    windows = breached if verdict == BREACHED else judged
    known = [window.sure for window in windows if window.sure is not None]
    if not known or verdict not in (BREACHED, MET, ENDANGERED):
        return None
    return any(known) if verdict == BREACHED else all(known)


def _shown(windows: list[WindowVerdict]) -> list[WindowVerdict]:
    """All windows, or of very many the breached ones, then the judged ones, then the others, in their order."""
    if len(windows) <= MOST_WINDOWS:
        return windows
    order = {BREACHED: 0, MET: 1}
    ranked = sorted(range(len(windows)), key=lambda i: (order.get(windows[i].verdict, 2), i))
    return [windows[i] for i in sorted(ranked[:MOST_WINDOWS])]


def _both_sure(item: Objective, window: WindowVerdict, blocks: Interval | None) -> bool | None:
    """Sure only if the interval by blocks of ten minutes lies on the verdict's side too: incidents cluster."""
    if not window.sure or blocks is None or item.target is None:
        return window.sure
    return blocks[0] >= item.target if window.verdict == MET else blocks[1] < item.target


def block_interval(rows: pl.DataFrame) -> Interval | None:
    """Interval of attainment by blocks; None with fewer than 20 blocks of ten minutes."""
    timed = rows.select("started_ns", "_verdict", "votes").filter(pl.col("_verdict").is_in([GOOD, BAD]))
    blocks = timed.get_column("started_ns") // BLOCK_NS
    if timed.is_empty() or blocks.null_count() or blocks.n_unique() < MIN_BLOCKS:
        return None
    verdict, votes = timed.get_column("_verdict"), timed.get_column("votes")
    return share_interval_by_blocks((verdict == GOOD) * votes, (verdict == BAD) * votes, blocks)


def _worst(item: Objective, windows: list[WindowVerdict]) -> WindowVerdict | None:
    """The judged window furthest on the bad side; the earliest of equals."""
    by_share = item.target is not None or item.conditions[0].threshold.constant is None
    lower_is_worse = by_share or item.conditions[0].metric.better is Better.HIGHER
    worst: WindowVerdict | None = None
    for window in windows:
        value = window.attainment if by_share else window.value
        best = None if worst is None else (worst.attainment if by_share else worst.value)
        if value is None:
            continue
        if best is None or (value < best if lower_is_worse else value > best):
            worst = window
    return worst
