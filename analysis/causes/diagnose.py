"""DOOR of the package: findings of the breached and endangered objectives.

Input: measured and priced requests, judged objectives, replica hours, perhaps an earlier baseline.
Output: Findings in the order of the objectives, ranked within each; none where nothing is breached or endangered.
Source: metric definitions, section 11; design, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cache

import polars as pl

from analysis.aggregates.verdicts import verdict_column
from analysis.causes.explain import Explained, Investigation, agree, depends_on_others
from analysis.causes.figures import voted_share
from analysis.causes.finding import findings_of
from analysis.causes.goal import Goal, goals_of, population
from analysis.causes.rows import Rows, aligned, completed, main_stretch, one_of, prepare, thinned
from analysis.causes.scene import Quiet, quiet_part, scene_of
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Episode, Interval, episodes, incident_intervals
from analysis.dimensions import matches
from analysis.fleet import Fleet
from analysis.objectives import Objective
from analysis.result import Finding, ObjectiveResult
from analysis.rules.catalog import Catalog, built_in
from ingest.schema import NS_PER_S, STAGES

LEFT_OUT = 0.1  # of an incident: beyond it, its time is not among those that the normal is without


def diagnose(
    frame: pl.DataFrame,
    judged: Sequence[ObjectiveResult],
    objectives: Sequence[Objective],
    *,
    replica_hours: pl.DataFrame,
    every: Callable[[int], pl.DataFrame] | None = None,
    baseline: Callable[[int], pl.DataFrame] | None = None,
    catalog: Catalog | None = None,
    fleet: Fleet | None = None,
    settings: CauseSettings | None = None,
    only: str | None = None,
) -> tuple[Finding, ...]:
    """Findings, at least one for every breached or endangered objective whose requests say something.

    Args:
        frame: canonical request columns, metric columns in seconds, dimensions, `cost_pico`; of very many requests at
            least those that verdicts read, and `batch_size` or what it is counted from.
        judged: the objectives' verdicts over the same frame.
        objectives: their definitions, for limits that depend on the length.
        replica_hours: table of the store; may be empty.
        fleet: devices and models, for rules that ask how far a time lies above its floor.
        catalog: rules, the built-in ones if not given.
        every: gives all columns of one request in so many, where `frame` has not all of them.
        baseline: gives all columns of one request in so many of an earlier selection; called where this one has no
            unbroken part.
        only: id of the one objective whose findings are put together, the same as among those of all; the causes of the
            others of its episodes are looked for as well where they have a say in its own.
    """
    settings = settings or CauseSettings()
    broken = [result for result in judged if result.verdict in ("breached", "endangered")]
    if not broken or frame.height == 0 or only not in (None, *(result.id for result in broken)):
        return ()
    whole = main_stretch(with_flags(frame, broken, objectives), settings)
    looked_at, one_in = thinned(whole, min(result.bad for result in broken), settings)
    rows = prepare(looked_at if every is None else completed(looked_at, every(one_in)))
    if rows.frame.height == 0:
        return ()
    end_s = (rows.end_ns - rows.start_ns) / NS_PER_S
    goals = goals_of(broken, rows.start_ns, end_s)
    intervals = {
        goal.id: incident_intervals(population(rows, goal, columns=("at",)), goal, end_s, settings) for goal in goals
    }
    timed = [goal for goal in goals if goal.kind != "capacity" and goal.per is None]
    incidents = [(found.start, found.end) for goal in timed for found in intervals[goal.id]]
    quiet = quiet_part(rows, incidents, [window for goal in timed for window in goal.windows], settings)

    @cache
    def earlier() -> Rows | None:
        before = None if baseline is None else one_of(baseline(one_in), one_in)
        return (
            aligned(prepare(with_flags(before, broken, objectives)), rows)
            if before is not None and before.height
            else None
        )

    explained: list[tuple[Episode, Explained, Investigation]] = []
    runs = [(goal, interval) for goal in goals for interval in intervals[goal.id][: settings.max_runs]]
    passing, lasting = _apart(runs, quiet, {goal.id for goal in timed})
    groups = [(one, True) for one in episodes(passing, settings)]
    groups += [(one, False) for one in episodes(lasting, settings)]
    for episode, is_compared in groups:
        if only not in (None, *(goal.id for goal, _ in episode.goals)):
            continue
        calm = quiet
        if not is_compared:
            calm = Quiet(rows.frame.head(0), ())  # what breaks nearly always is not compared with itself
        if baseline is not None and not _is_calm(rows, episode.goals[0][0], quiet.frame) and earlier() is not None:
            calm = Quiet(rows.frame.head(0), ())
        before = earlier() if calm.frame.height < settings.min_normal_requests else None
        scene = scene_of(rows, episode.interval, calm, earlier=before, replica_hours=replica_hours, settings=settings)
        parts = {part for goal, _ in episode.goals if only in (None, goal.id) for part in goal.parts}
        investigation = Investigation(scene, settings, [stage for stage in STAGES if stage in parts])
        explained += [(episode, entry, investigation) for entry in _told(episode, investigation, settings, only)]
    order = {pair: place for place, pair in enumerate((goal.id, interval) for goal, interval in runs)}
    explained.sort(key=lambda item: order[item[1].goal.id, item[1].interval])
    left = {name: len(found) - settings.max_runs for name, found in intervals.items() if len(found) > settings.max_runs}
    breached = frozenset(name for goal, _ in runs for name in (goal.kind, goal.metric))
    sample = (one_in, looked_at.height) if one_in > 1 else None
    facts = (breached, fleet)
    return findings_of(explained, catalog or built_in(), settings, facts, left_out=left, sample=sample)


def _told(
    episode: Episode, investigation: Investigation, settings: CauseSettings, only: str | None
) -> Sequence[Explained]:
    """The episode's objectives explained; of one alone, the others only where what they say could change it."""
    mine = [investigation.explain(goal, interval) for goal, interval in episode.goals if only in (None, goal.id)]
    if only is None:
        return agree(mine, settings)
    if not any(depends_on_others(entry, settings) for entry in mine):
        return mine
    own = iter(mine)
    entries = [
        next(own) if goal.id == only else investigation.explain(goal, interval, is_told=False)
        for goal, interval in episode.goals
    ]
    return [entry for entry in agree(entries, settings) if entry.goal.id == only]


Runs = list[tuple[Goal, Interval]]


def _apart(runs: Runs, quiet: Quiet, timed: Set[str]) -> tuple[Runs, Runs]:
    """Runs that the normal is without, and those that last nearly always, in which the normal itself lies."""
    passing: Runs = []
    lasting: Runs = []
    for goal, interval in runs:
        is_in_normal = goal.id in timed and quiet.covered(interval.start, interval.end) > LEFT_OUT
        (lasting if is_in_normal else passing).append((goal, interval))
    return passing, lasting


def _is_calm(rows: Rows, goal: Goal, frame: pl.DataFrame) -> bool:
    """Whether the objective is kept there; a rest that breaks it too is no normal to compare with."""
    share = voted_share(population(rows, goal, frame, columns=("votes",)), "bad") or 0.0
    return goal.tolerated is None or share <= goal.tolerated


def with_flags(frame: pl.DataFrame, broken: Sequence[ObjectiveResult], objectives: Sequence[Objective]) -> pl.DataFrame:
    """The frame with `in:<id>`, and with `bad:<id>` (null where not judged) for targets and for limits that are no
    single number."""
    by_id = {objective.id: objective for objective in objectives}
    flags = []
    for result in broken:
        if result.id in by_id and by_id[result.id].where:
            flags.append(frame.select(matches(by_id[result.id].where).alias(f"in:{result.id}")).to_series())
        if result.id in by_id and (result.target is not None or result.clauses or isinstance(result.threshold, str)):
            verdict = verdict_column(frame, by_id[result.id])
            flags.append(
                verdict.replace_strict({"bad": True, "good": False}, default=None, return_dtype=pl.Boolean).alias(
                    f"bad:{result.id}"
                )
            )
    return frame.with_columns(flags) if flags else frame
