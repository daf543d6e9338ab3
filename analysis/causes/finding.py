"""Explanations as findings: words, figures, exemplars, recommendations.

Input: explained objectives of all episodes. Output: Finding records, ranked within their objective; findings of one
cause in one episode share an `incident`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.cost_effect import CostEffects
from analysis.causes.explain import Explained, Explanation, Investigation
from analysis.causes.facts import SceneFacts
from analysis.causes.figures import steady, voted_share
from analysis.causes.goal import Goal
from analysis.causes.prediction import Predictor, served_share
from analysis.causes.rows import Rows
from analysis.causes.scene import Scene
from analysis.causes.segment import moves_together, within
from analysis.causes.series import series_of
from analysis.causes.settings import CauseSettings
from analysis.causes.shift import figure_in
from analysis.causes.stage import Rescue, rescue
from analysis.causes.window import Episode, Interval
from analysis.fleet import Fleet
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better
from analysis.result import Evidence, Finding, Prediction, Recommendation
from analysis.rules.catalog import Catalog
from analysis.rules.recommend import Advice, Advised, Effect, advise, ranked

STAGE_WORDS = {
    "error": "failed requests",
    "client": "requests given up by the caller",
    "cost_input": "spend on input",
    "cost_output": "spend on output",
    "cost_cache": "lost cache discount",
    "cost_model": "choice of model",
    "cost_capacity": "idle capacity",
    "before_first_token": "time before the first token",
    "after_first_token": "time after the first token",
}
EXEMPLARS = 5
MINUTE_S = 60.0
WORTH_SAYING = 0.02  # part of the whole excess; less is noise of clocks and rounding


def findings_of(
    explained: Sequence[tuple[Episode, Explained, Investigation]],
    catalog: Catalog,
    settings: CauseSettings,
    about: tuple[frozenset[str], Fleet | None],
    *,
    left_out: Mapping[str, int] | None = None,
    sample: tuple[int, int] | None = None,
) -> tuple[Finding, ...]:
    """All findings, in the order given, ranked within each objective.

    A further run of breached windows has findings of its own, unless its cause and segment are those of an earlier one:
    then that one has a further window.

    Args:
        about: kinds and metrics of all objectives that broke, told here or not, and the fleet file.
        left_out: per objective, how many weaker runs were not looked into.
        sample: where not all requests were looked into: one in how many, and how many that makes.
    """
    shared = {id(investigation): SceneFacts(investigation, *about) for _, _, investigation in explained}
    found: dict[tuple[str, object], Finding] = {}
    ranks: Counter[str] = Counter()
    for episode, entry, investigation in explained:
        saved = _rescue(entry, investigation, settings)
        predictor = Predictor(entry, investigation.scene)
        for explanation in _chosen(entry.explanations, settings):
            candidate = explanation.candidate
            key = (entry.goal.id, candidate.key if candidate is not None else explanation.stage)
            if key in found:
                again = _instants(_window(episode, entry, candidate), investigation.scene.rows)
                found[key] = replace(found[key], windows=sorted({*found[key].windows, again}))
                continue
            facts = shared[id(investigation)].of(entry, explanation, saved)
            advice = advise(facts, _absent(investigation, catalog), catalog)
            ranks[entry.goal.id] += 1
            around = (episode, investigation, saved, advice, catalog, predictor)
            found[key] = _finding(ranks[entry.goal.id], explanation, entry, around)
    told = (_with_rest(finding, (left_out or {}).get(finding.objective, 0)) for finding in found.values())
    return tuple(told if sample is None else (_with_sample(finding, *sample) for finding in told))


def _with_rest(finding: Finding, n: int) -> Finding:
    """The finding with a word on the runs of its objective that were not looked into."""
    if n == 0 or finding.rank > 1:
        return finding
    rest = Evidence("further runs of breached windows, weaker than these and not looked into", float(n), None, "count")
    return replace(finding, evidence=[*finding.evidence, rest])


def _with_sample(finding: Finding, one_in: int, n: int) -> Finding:
    """The finding with a word on the requests that it rests on; its counts are of these."""
    said = Evidence(f"requests in which causes were searched: one in {one_in} of all", float(n), None, "count")
    return replace(finding, evidence=[*finding.evidence, said])


def _absent(investigation: Investigation, catalog: Catalog) -> frozenset[str]:
    """What the rules need and no request carries."""
    rows = investigation.scene.rows
    return frozenset(name for rule in catalog.rules for name in rule.needs if rows.lacks(name))


def _chosen(explanations: Sequence[Explanation], settings: CauseSettings) -> list[Explanation]:
    """The first, and further ones with a cause of their own that explain a third of what it does, or that suffice."""
    if not explanations:
        return []
    first = explanations[0]
    rest = [
        item
        for item in explanations[1:]
        if item.candidate is not None
        and (first.candidate is None or item.candidate.key != first.candidate.key)
        and (first.agreed or item.suffices or item.part >= first.part / 3)
    ]
    return [first, *rest][: settings.max_findings]


def _rescue(entry: Explained, investigation: Investigation, settings: CauseSettings) -> Rescue | None:
    if entry.goal.kind != "latency":
        return None
    return rescue(entry.inside.filter(pl.col("bad")), entry.goal, investigation.normals, settings)


def _finding(
    rank: int,
    explanation: Explanation,
    entry: Explained,
    around: tuple[Episode, Investigation, Rescue | None, Advice, Catalog, Predictor],
) -> Finding:
    episode, investigation, saved, advice, catalog, predictor = around
    goal, scene, candidate = entry.goal, investigation.scene, explanation.candidate
    segment = dict(candidate.segment) if candidate is not None else {}
    bad = entry.inside.filter(pl.col("bad"))
    window = _window(episode, entry, candidate)
    share = dict(saved.shares).get(explanation.stage) if saved is not None else None
    title = _title(explanation, entry)
    figure = figure_in(entry.shift, goal)
    return Finding(
        objective=goal.id,
        verdict=goal.judged.verdict,
        rank=rank,
        stage=explanation.stage,
        cause=candidate.cause if candidate is not None else None,
        segment=segment,
        moves_together=moves_together(scene.inside, candidate.segment, scene.rows.dimensions) if candidate else {},
        window=_instants(window, scene.rows),
        title=title,
        says=_says(explanation, entry, goal.judged.says),
        recommendations=_recommendations(advice.advised, explanation, (goal, scene, catalog, predictor)),
        contraindicated=list(advice.contraindicated),
        untested=list(advice.untested),
        evidence=[
            replace(item, value=steady(item.value), baseline=steady(item.baseline))
            for item in _evidence(explanation, entry, saved)
        ],
        share_of_bad=_steady(share),
        structural_share=_steady(saved.structural if saved is not None else None),
        confidence=_confidence(explanation, entry),
        exemplars=_exemplars(bad, explanation),
        incident=_incident(explanation, window, scene.rows),
        n_bad=bad.height,
        windows=[_instants(window, scene.rows)],
        n_over=saved.n if saved is not None else None,
        shift=entry.shift,
        series=None if figure is None else series_of(scene.rows, goal, tuple(segment.items()), figure),
    )


def _recommendations(
    advised: Sequence[Advised], explanation: Explanation, around: tuple[Goal, Scene, Catalog, Predictor]
) -> list[Recommendation]:
    """The advice, what helps most first."""
    goal, scene, catalog, predictor = around
    candidate = explanation.candidate
    predicted = [predictor.predict(item.id, candidate) for item in advised]
    effects = [
        (item, _effect(found, goal, served_share(item.id, candidate)))
        for item, (found, _) in zip(advised, predicted, strict=True)
    ]
    costs = CostEffects(scene)
    return [
        replace(
            recommendation(advised[place], explanation, catalog, predicted[place]),
            cost=costs.of(advised[place].id, candidate),
        )
        for place in ranked(effects)
    ]


def _effect(found: Prediction | None, goal: Goal, served: float) -> Effect | None:
    if found is None:
        return None
    kept = found.attainment if found.attainment is not None else served
    metric = BY_ID.get(goal.metric)
    value = found.value
    if value and metric is not None and metric.better is Better.HIGHER:
        value = 1 / value
    return Effect(kept, value)


def recommendation(
    item: Advised, explanation: Explanation, catalog: Catalog, predicted: tuple[Prediction | None, str | None]
) -> Recommendation:
    """One advice as the result carries it."""
    rule = item.rule
    why = explanation.candidate.says if explanation.candidate is not None else rule.finds
    return Recommendation(
        id=item.id,
        entry=rule.id,
        title=catalog.advice[item.id].title,
        why=f"{rule.finds} {why[:1].upper()}{why[1:]}." if explanation.candidate is not None else rule.finds,
        actions=dict(rule.actions),
        predicted=_steady_prediction(predicted[0]),
        not_predicted=predicted[1],
        reported_effect=rule.reported_effect,
        precondition=rule.precondition,
        risk=" ".join(part for part in (rule.trade_off, item.warning) if part),
        verify=rule.verify,
    )


def _steady(value: float | None) -> float | None:
    found = steady(value)
    return found if isinstance(found, float) else None


def _steady_prediction(given: Prediction | None) -> Prediction | None:
    if given is None:
        return None
    return replace(
        given,
        attainment=_steady(given.attainment),
        low=_steady(given.low),
        high=_steady(given.high),
        value=_steady(given.value),
        value_low=_steady(given.value_low),
        value_high=_steady(given.value_high),
    )


def _window(episode: Episode, entry: Explained, candidate: Candidate | None) -> Interval:
    """The time of the cause where it has one of its own, else that on which the episode's objectives agree."""
    if entry.goal.kind == "capacity" or entry.goal.per is not None:
        return entry.interval
    if candidate is not None and candidate.active is not None:
        start, end = (round(edge / MINUTE_S) * MINUTE_S for edge in candidate.active)
        return Interval(start, end, entry.interval.score)
    return episode.interval


def _instants(interval: Interval, rows: Rows) -> tuple[str, str]:
    return _iso(rows.start_ns + int(interval.start * 1e9)), _iso(rows.start_ns + int(interval.end * 1e9))


def _iso(ns: int) -> str:
    return datetime.fromtimestamp(round(ns / 1e9), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _title(explanation: Explanation, entry: Explained) -> str:
    stage = STAGE_WORDS.get(explanation.stage, explanation.stage)
    if explanation.candidate is None and entry.normal.is_empty():
        return f"Slow requests spend their time in {stage}; there is no normal to compare with"
    if explanation.candidate is None:
        return f"{stage[:1].upper()}{stage[1:]} grew; nothing that changed by itself explains it"
    says = explanation.candidate.says
    return f"{says[:1].upper()}{says[1:]}"


def _says(explanation: Explanation, entry: Explained, verdict: str) -> str:
    stage = STAGE_WORDS.get(explanation.stage, explanation.stage)
    cause = explanation.candidate.says if explanation.candidate is not None else "no change that explains it was found"
    excess = entry.excess
    part = ""
    if excess is not None and excess.share(explanation.stage) > 0:
        grown = "growth" if entry.normal.height else "time"
        part = f" ({excess.share(explanation.stage):.0%} of the {grown} among the slowest tenth)"
    return f"{verdict} The stage is {stage}{part}: {cause}.".strip()


def _evidence(explanation: Explanation, entry: Explained, saved: Rescue | None) -> list[Evidence]:
    found = list(explanation.candidate.evidence) if explanation.candidate is not None else []
    if len({one.candidate.key for one in entry.explanations if one.candidate is not None}) > 1:
        found.append(
            Evidence("part of the excess that this change explains beside the others", explanation.part, None, "ratio")
        )
    if entry.excess is not None:
        for stage, value in entry.excess.stages[:4]:
            if value >= WORTH_SAYING * entry.excess.total:
                found.append(
                    Evidence(
                        f"mean {stage} time among the slowest tenth",
                        entry.excess.inside[stage],
                        entry.excess.normal[stage] if entry.normal.height else None,
                        "s",
                        entry.excess.n,
                    )
                )
    outside = voted_share(entry.normal, "bad") if entry.normal.height and entry.goal.kind != "cost" else None
    if outside is not None and entry.goal.tolerated is not None and outside > entry.goal.tolerated:
        allowed = f"{100 * entry.goal.tolerated:.4g} %"
        found.append(
            Evidence(f"share of bad requests outside the incident (allowed: {allowed})", outside, None, "ratio")
        )
    if saved is not None:
        for stage, share in saved.shares[:3]:
            if share > 0:
                found.append(Evidence(f"bad requests that a normal {stage} saves", share, None, "ratio", saved.n))
        found.append(Evidence("bad requests that no normal stage saves", saved.structural, None, "ratio", saved.n))
    return found


def _confidence(explanation: Explanation, entry: Explained) -> str:
    if explanation.candidate is None or entry.inside.height < 60:
        return "low"
    if explanation.agreed or explanation.score < 0.1:
        return "medium"
    return "high"


def _exemplars(bad: pl.DataFrame, explanation: Explanation) -> list[str]:
    """Bad requests of the segment in which the stage took longest."""
    candidate: Candidate | None = explanation.candidate
    chosen = bad
    if candidate is not None and candidate.segment:
        inside = bad.filter(within([pair for pair in candidate.segment if pair[0] in bad.columns]))
        chosen = inside if inside.height else bad
    column = f"t_{explanation.stage}" if f"t_{explanation.stage}" in bad.columns else "value"
    name = pl.coalesce("trace_id", "request_key")
    return (
        chosen.sort([column, "request_key"], descending=[True, False], nulls_last=True)
        .head(EXEMPLARS)
        .select(name)
        .to_series()
        .to_list()
    )


def _incident(explanation: Explanation, interval: Interval, rows: Rows) -> str | None:
    if explanation.candidate is None:
        return None
    text = f"{explanation.candidate.key}|{rows.start_ns + int(interval.start * 1e9)}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
