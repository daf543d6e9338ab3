"""Explanations of one episode: for every objective its stages, and the changes that reach its bad requests.

Input: Scene and goals. Output: per goal a list of Explanation, best first.
The order of thought: stages outside the engine and failures are explained by where they sit; for the engine's stages
the slice of who suffers is only the pool, so they are explained by what changed that requests cannot cause themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from analysis.causes import cost_causes
from analysis.causes.attribution import parts
from analysis.causes.candidates import cache, cold, memory, outer, replicas, seats, skew, speed, stalls, work
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.candidates.concurrency import moves_with_concurrency
from analysis.causes.goal import Goal, population
from analysis.causes.rows import ENGINE, hides_the_wait
from analysis.causes.scene import Scene
from analysis.causes.settings import CauseSettings
from analysis.causes.shift import columns_of, shift_of
from analysis.causes.stage import Excess, Normals, leading_stage, normals, tail_excess
from analysis.causes.window import Interval
from analysis.result import Shift
from ingest.schema import STAGES

SAME_CAUSE = {"cost_cache": "cache_lost", "cost_input": "input_growth", "cost_output": "output_growth"}
AGREED = 1.5  # objectives that speak for a change, each by its part
NEAR = 0.6  # of the largest part: too little to tell two changes apart on one objective's own requests
NOT_TOLD = Shift("", "", None, None, None, 0, 0, [], "")  # of an objective of which no finding is asked for
STAGE_OF_KIND = {"failure": "error", "cancel": "client", "degraded": None, "cold": "queue"}
Key = tuple[str, tuple[tuple[str, str], ...]]  # of a candidate


@dataclass(frozen=True)
class Explanation:
    """One cause of one objective's breach; `candidate` is None where only the stage is known.

    score: strength of the change times its coverage of the bad requests.
    part: of the objective's excess that it explains, beside the others; 1 where it stands alone.
    suffices: whether the objective would be broken without the others as well.
    """

    stage: str
    candidate: Candidate | None
    score: float
    part: float = 1.0
    suffices: bool = False
    agreed: bool = False  # taken from what the other objectives of the episode agree on


@dataclass(frozen=True)
class Explained:
    goal: Goal
    interval: Interval
    inside: pl.DataFrame
    normal: pl.DataFrame
    excess: Excess | None
    explanations: tuple[Explanation, ...]
    shift: Shift


@dataclass(frozen=True)
class Ranked:
    """A change of the engine with its strength, and its part of one objective's excess."""

    candidate: Candidate
    score: float
    part: float
    suffices: bool

    def at(self, stage: str, whole: float = 1.0) -> Explanation:
        """As an explanation of a stage that holds this much of the excess."""
        return Explanation(stage, self.candidate, self.score, self.part * whole, self.suffices)


class Investigation:
    """What an episode's scene says, computed once for all of its objectives."""

    def __init__(self, scene: Scene, settings: CauseSettings, stages: Sequence[str] = STAGES) -> None:
        """`stages`: those whose normal the objectives ask for."""
        self.scene = scene
        self.settings = settings
        self._stages = stages
        self._slow: dict[str, Candidate | None] = {}

    @cached_property
    def work(self) -> work.Offered:
        return work.offered(self.scene)

    @cached_property
    def engine(self) -> tuple[Candidate, ...]:
        """Changes that can slow or fill the engine."""
        scene, settings = self.scene, self.settings
        if scene.basis == "none" or not scene.normal["ok"].any():  # what nobody was served in is no normal
            return ()
        fewer = (*replicas.candidates(scene, settings), *cold.candidates(scene, settings))
        short = {
            pool for candidate in fewer for pool in candidate.reach
        }  # its survivors take more of it: no router fault
        return (
            *work.candidates(scene, self.work, settings),
            *cache.candidates(scene, self.work, settings),
            *speed.candidates(scene, self.work, settings),
            *fewer,
            *seats.candidates(scene, self.work, settings),
            *memory.candidates(scene, settings, short),
            *skew.candidates(scene, settings, short),
        )

    @cached_property
    def stalls(self) -> tuple[Candidate, ...]:
        """Changes that only the longest gap between tokens shows."""
        return () if self.scene.basis == "none" else tuple(stalls.candidates(self.scene, self.settings))

    @cached_property
    def normals(self) -> Normals:
        usual = self.scene.normal if self.scene.normal.height else self.scene.inside
        return normals(usual, self.scene.rows, self._stages)

    @cached_property
    def errors(self) -> Candidate | None:
        return outer.failures(self.scene, outer.ERRORS, self.settings)

    @cached_property
    def cancels(self) -> Candidate | None:
        return outer.failures(self.scene, outer.CANCELS, self.settings)

    def slow(self, stage: str) -> Candidate | None:
        if stage not in self._slow:
            self._slow[stage] = outer.slow_stage(self.scene, stage, self.settings)
        return self._slow[stage]

    def ranked(self, goal: Goal, judged: pl.DataFrame) -> list[Ranked]:
        """Engine candidates that matter to the bad ones of these requests, by the part that each explains."""
        scored = [(candidate, candidate.score(judged)) for candidate in self.engine]
        kept = [(candidate, score) for candidate, score in scored if score >= self.settings.min_score]
        normal = population(self.scene.rows, goal, self.scene.normal, columns=("pool",)) if kept else judged
        explained = parts(judged, normal, [candidate for candidate, _ in kept])
        found = [
            Ranked(candidate, score, part.share, goal.tolerated is not None and part.leads > goal.tolerated)
            for (candidate, score), part in zip(kept, explained, strict=True)
        ]
        return sorted(found, key=lambda one: (-round(one.part, 6), -one.score, one.candidate.key))

    def explain(self, goal: Goal, interval: Interval, *, is_told: bool = True) -> Explained:
        """Stages and causes of one objective; where no finding of it is asked for, without its shift."""
        inside = population(self.scene.rows, goal, self.scene.inside)
        normal = population(self.scene.rows, goal, self.scene.normal, columns=columns_of(goal, self.scene.rows))
        excess = None
        if goal.kind == "latency":
            excess = tail_excess(inside, normal, goal, self.settings)
            found = self._gaps(goal, inside) if goal.metric == "itl_max" else []
            found = found or self._latency(goal, inside, excess)
        elif goal.kind == "cost":
            found = self._cost(goal, inside)
        elif goal.kind == "capacity":
            found = self._capacity(goal)
        else:
            found = self._rate(goal, inside)
        shift = shift_of(goal, inside, normal) if is_told else NOT_TOLD
        return Explained(goal, interval, inside, normal.select("value", "bad", "votes"), excess, tuple(found), shift)

    def _latency(self, goal: Goal, inside: pl.DataFrame, excess: Excess | None) -> list[Explanation]:
        leading = leading_stage(excess) if excess is not None else None
        if excess is None or leading is None:
            return []
        if leading == "unattributed" and hides_the_wait(self.scene.rows.absent):
            hidden = [one.at("before_first_token", excess.share(leading)) for one in self.ranked(goal, inside)]
            if hidden:
                return hidden
        engine = max((excess.share(stage), stage) for stage in ENGINE)
        inner = sum(excess.share(stage) for stage in ENGINE)
        found: list[Explanation] = []
        if leading in ENGINE or inner >= self.settings.second_stage:
            stage = leading if leading in ENGINE else engine[1]
            found += [one.at(stage, inner) for one in self.ranked(goal, inside)]
            if not found and leading in ENGINE:
                found.append(Explanation(stage, moves_with_concurrency(self.scene, goal, stage, inside), 0.0))
        outer_stages = [
            stage
            for stage, _ in excess.stages
            if stage not in ENGINE and (stage == leading or excess.share(stage) >= self.settings.second_stage)
        ]
        around = [
            Explanation(stage, self._outer(stage), excess.share(stage), excess.share(stage)) for stage in outer_stages
        ]
        return around + found if leading not in ENGINE else found + around

    def _gaps(self, goal: Goal, inside: pl.DataFrame) -> list[Explanation]:
        """For the longest gap: stalls, where no change of speed or load reaches the same requests more strongly."""
        bad = inside.filter(pl.col("bad"))
        scored = [(candidate, candidate.score(inside)) for candidate in self.stalls]
        others = self.ranked(goal, inside) if bad.height else []
        strongest = max((one.score for one in others), default=0.0)
        if not scored or strongest >= scored[0][1]:
            return []
        stalls = [Explanation("decode", one, score) for one, score in scored if score >= self.settings.min_score]
        return [*stalls, *(one.at("decode", one.score / scored[0][1]) for one in others)]

    def _outer(self, stage: str) -> Candidate | None:
        """An outer stage's own slice; retries show as gateway time, and their cause is where the errors are."""
        if self.scene.basis == "none":
            return None  # long is not slow: nothing says what is normal
        errors = self.errors
        if stage == "gateway" and errors is not None and self._retried():
            return errors
        return self.slow(stage)

    def _retried(self) -> bool:
        attempts = pl.col("attempts") > 1
        inside, normal = self.scene.inside, self.scene.normal
        if inside["attempts"].null_count() == inside.height:
            return False
        now = float(inside.select(attempts.mean()).item() or 0.0)
        before = float(normal.select(attempts.mean()).item() or 0.0) if normal.height else 0.0
        return now > 2 * before and now > 0.005

    def _rate(self, goal: Goal, inside: pl.DataFrame) -> list[Explanation]:
        ranked = self.ranked(goal, inside)
        stage = STAGE_OF_KIND.get(goal.kind)
        if goal.kind == "cancel":
            if ranked:
                return [one.at("client") for one in ranked]
            return [Explanation("client", self.cancels, 0.0)]
        errors, capacity = self.errors, outer.capacity_share(self.scene)
        own = [Explanation("error", errors, 1.0)] if errors is not None and goal.kind != "cold" else []
        others = [one.at(stage or one.candidate.stage) for one in ranked]
        if goal.kind == "failure" and own and others:  # each kind of failure has its own cause
            own = [replace(own[0], part=1.0 - capacity)]
            others = [one.at("error", capacity) for one in ranked]
        if goal.kind == "failure" and own and capacity < 0.5:
            return own + others
        if not others and not own and goal.kind == "failure" and self.scene.basis != "none":
            refused = outer.failures(self.scene, outer.REFUSED, self.settings)
            return [Explanation("error", refused, 1.0 if refused is not None else 0.0)]
        return (others + own) or [Explanation(stage or "error", None, 0.0)]

    def _cost(self, goal: Goal, inside: pl.DataFrame) -> list[Explanation]:
        if goal.per is not None:
            spent = cost_causes.spender(self.scene, goal)
            return [Explanation(spent.stage, spent, 1.0)] if spent is not None else []
        if self.scene.basis == "none":
            return []
        if cost_causes.survivors_only(self.scene, goal):
            return [one.at(one.candidate.stage) for one in self.ranked(goal, inside)[:1]]
        cause = cost_causes.mean_cost(self.scene, goal, self.settings)
        return [Explanation(cause.stage if cause is not None else "cost_input", cause, 1.0)]

    def _capacity(self, goal: Goal) -> list[Explanation]:
        idle = cost_causes.idle_capacity(self.scene, goal, self.scene.replica_hours)
        return [Explanation("cost_capacity", idle, 1.0)]


def agree(explained: Sequence[Explained], settings: CauseSettings) -> list[Explained]:
    """Objectives with weak or no evidence of their own take what the others of the episode agree on."""
    support: dict[Key, float] = {}
    known: dict[Key, Candidate] = {}
    for entry in explained:
        for key, candidate, weight in _votes(entry, settings):
            known[key] = candidate
            support[key] = support.get(key, 0.0) + weight
    if not support:
        return list(explained)
    best = min(support, key=lambda key: (-support[key], key))
    return [_agreeing(entry, known[best], support[best], settings) for entry in explained]


def depends_on_others(entry: Explained, settings: CauseSettings) -> bool:
    """Whether what the other objectives of the episode say could change this one: `agree` leaves it as it is if not."""
    found = entry.explanations
    if not found or entry.goal.kind == "capacity":
        return False
    top = found[0]
    if entry.goal.kind == "cost":
        return top.candidate is not None and top.candidate.id in SAME_CAUSE
    if top.candidate is None or top.candidate.id == "concurrency":
        return True
    if top.stage not in (*ENGINE, "client", "error"):
        return False
    others = [one for one in found if one.candidate is not None and one.candidate.key != top.candidate.key]
    return _is_weak(top, settings) or any(one.part >= NEAR * top.part for one in others)


def _is_weak(top: Explanation, settings: CauseSettings) -> bool:
    """Whether the evidence is so weak that the others' may stand for it."""
    return top.score < 2 * settings.min_score and (top.candidate is None or top.candidate.id != "errors")


def _votes(entry: Explained, settings: CauseSettings) -> list[tuple[Key, Candidate, float]]:
    """What one objective says for each change: its part against the largest one, less where all are weak."""
    top = max((found.score for found in entry.explanations), default=0.0)
    largest = max((found.part for found in entry.explanations), default=0.0)
    if top <= 0 or largest <= 0:
        return []
    weight = min(1.0, top / (4 * settings.min_score)) / largest
    return [
        (found.candidate.key, found.candidate, found.part * weight)
        for found in entry.explanations
        if found.candidate is not None
        and found.candidate.id != "concurrency"
        and not found.candidate.stage.startswith("cost_")
    ]


def _agreeing(entry: Explained, leader: Candidate, support: float, settings: CauseSettings) -> Explained:
    found = list(entry.explanations)
    if not found or entry.goal.kind == "capacity":
        return entry
    top = found[0]
    if top.stage in ENGINE and leader.stage not in ENGINE:
        return entry  # a slow service around the model does not fill the engine
    if entry.goal.kind == "cost":
        alike = top.candidate is not None and SAME_CAUSE.get(top.candidate.id) == leader.id
        if top.candidate is None or not alike:
            return entry
        return _with(entry, [replace(top, candidate=replace(top.candidate, segment=leader.segment)), *found[1:]])
    if top.candidate is None or top.candidate.id == "concurrency":
        replaced = Explanation(top.stage, leader, 0.0, agreed=True)
        return _with(entry, [replaced, *found[1:]])
    if top.candidate.key == leader.key or top.stage not in (*ENGINE, "client", "error"):
        return entry
    own = next((item for item in found if item.candidate is not None and item.candidate.key == leader.key), None)
    near = own is not None and own.part >= NEAR * top.part
    if support >= AGREED and (near or _is_weak(top, settings)):
        rest = [item for item in found if item.candidate is None or item.candidate.key != leader.key]
        taken = replace(own or top, stage=top.stage, candidate=leader, score=own.score if own else 0.0, agreed=True)
        return _with(entry, [taken, *rest])
    return entry


def _with(entry: Explained, explanations: list[Explanation]) -> Explained:
    return replace(entry, explanations=tuple(explanations))
