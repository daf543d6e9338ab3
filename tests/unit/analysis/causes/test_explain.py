"""Agreement of the objectives of one episode."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.explain import NOT_TOLD, Explained, Explanation, agree, depends_on_others
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Interval
from tests.unit.analysis.causes.goals import a_goal

SETTINGS, GOAL = CauseSettings(), a_goal()
KINDS = ("traffic_growth", "replica_slow", "concurrency", "errors", "cost_input", "input_growth")
STAGES = ("queue", "prefill", "client", "error", "retrieval")


def explained(seed: int) -> Explained:
    """An objective with up to three explanations of any strength."""
    draw = random.Random(seed)
    found: list[Explanation] = []
    for _ in range(draw.randrange(4)):
        kind, stage = draw.choice(KINDS), draw.choice(STAGES)
        candidate = Candidate(kind, "load", stage, draw.choice(((), (("model", "m"),))), {}, "grew", ())
        score, part = draw.choice((0.0, 0.05, 0.07, 0.3, 1.0)), draw.choice((0.0, 0.2, 0.5, 1.0))
        found.append(Explanation(stage, draw.choice((candidate, candidate, None)), score, part))
    goal = replace(GOAL, kind=draw.choice(("latency", "failure", "cost", "capacity")))
    nothing = pl.DataFrame()
    return Explained(goal, Interval(0.0, 1.0, 1.0), nothing, nothing, None, tuple(found), NOT_TOLD)


def test_an_objective_that_does_not_depend_on_the_others_is_left_as_it_is_by_any_of_them() -> None:
    alone = together = 0
    for seed in range(3000):
        entry, *others = (explained(7 * seed + place) for place in range(4))
        (after, *_) = agree([entry, *others], SETTINGS)
        if not depends_on_others(entry, SETTINGS):
            assert after.explanations == entry.explanations
            alone += 1
        together += after.explanations != entry.explanations
    assert min(alone, together) > 100  # both kinds were there
