"""What became of the recommendations of an earlier selection.

Input: the earlier findings with their objectives, the earlier requests where they are still there, the requests and
verdicts of now. Output: FollowUp: per earlier recommendation what was predicted, what the same figure is now, whether the
evidence of its rule still holds, and whether it was followed as far as the traces show.

The figure now is that of the objective's worst window where it is broken again, else that of the window at the same place
in the week, for which the prediction was made. The rule's evidence is judged anew on the requests of that time, against
the unbroken part of the earlier selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.diagnose import with_flags
from analysis.causes.explain import Explained, Explanation, Investigation
from analysis.causes.facts import SceneFacts
from analysis.causes.goal import goal_of
from analysis.causes.remedied import UNSEEN, Sign, sign_of
from analysis.causes.rows import Rows, aligned, main_stretch, prepare
from analysis.causes.scene import Quiet, quiet_part, scene_of
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Interval
from analysis.fleet import Fleet
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better
from analysis.objectives import Objective
from analysis.result import (
    Finding,
    FollowUp,
    ObjectiveResult,
    Prediction,
    Recommendation,
    RecommendationCheck,
    WindowVerdict,
)
from analysis.rules.catalog import Catalog
from analysis.rules.rule import Rule
from ingest.schema import NS_PER_S

DAY = timedelta(days=1)
BROKEN = ("breached", "endangered")


@dataclass(frozen=True)
class Earlier:
    """An earlier selection: what was found in it, and its requests, None where they are gone."""

    title: str
    source: str  # a stored report, or worked out from its requests
    objectives: Sequence[ObjectiveResult]
    findings: Sequence[Finding]
    frame: pl.DataFrame | None


@dataclass(frozen=True)
class Present:
    """The selection of now, as `diagnose` takes it."""

    frame: pl.DataFrame
    judged: Sequence[ObjectiveResult]
    objectives: Sequence[Objective]
    findings: Sequence[Finding]
    replica_hours: pl.DataFrame
    catalog: Catalog
    fleet: Fleet | None


def follow_up(earlier: Earlier, present: Present, settings: CauseSettings | None = None) -> FollowUp:
    """Every recommendation of the earlier findings, in their order; one of an objective is told once."""
    settings = settings or CauseSettings()
    before = {result.id: result for result in earlier.objectives}
    now = {result.id: result for result in present.judged}
    asked = [finding for finding in earlier.findings if finding.recommendations and finding.objective in now]
    witness = Witness(earlier, present, [now[finding.objective] for finding in asked], settings) if asked else None
    told: set[tuple[str, str]] = set()
    checks: list[RecommendationCheck] = []
    for finding in earlier.findings:
        for item in finding.recommendations:
            if (finding.objective, item.id) in told:
                continue
            told.add((finding.objective, item.id))
            checks.append(_check(finding, item, before.get(finding.objective), now.get(finding.objective), witness))
    return FollowUp(earlier.title, earlier.source, checks)


def _check(
    finding: Finding,
    item: Recommendation,
    then: ObjectiveResult | None,
    now: ObjectiveResult | None,
    witness: Witness | None,
) -> RecommendationCheck:
    window = window_now(then, now, witness.shift) if now is not None and witness is not None else None
    seen = witness.evidence(finding, item) if witness is not None and now is not None else (None, UNSEEN)
    holds, sign = seen
    figures: ObjectiveResult | WindowVerdict | None = window or now
    return RecommendationCheck(
        objective=finding.objective,
        recommendation=item.id,
        entry=item.entry,
        title=item.title,
        stage=finding.stage,
        segment=dict(finding.segment),
        window=finding.window,
        predicted=item.predicted,
        then_attainment=then.worst.attainment if then is not None and then.worst is not None else None,
        then_value=then.worst.value if then is not None and then.worst is not None else None,
        now_verdict=now.verdict if now is not None else None,
        now_window=(window.start, window.end) if window is not None and window.start and window.end else None,
        now_attainment=figures.attainment if figures is not None else None,
        now_value=figures.value if figures is not None else None,
        outcome=outcome(item.predicted, figures, now.metric if now is not None else ""),
        evidence_holds=holds,
        followed=_followed(holds, sign),
        says=_says(holds, sign, gone=now is None),
    )


def _followed(holds: bool | None, sign: Sign) -> str:
    """By what the traces show of the change itself, else by the evidence: what still holds was not remedied."""
    if sign.is_done:
        return "followed"
    return "not_followed" if holds or sign.is_done is False else "unknown"


def _says(holds: bool | None, sign: Sign, *, gone: bool) -> str:
    if gone:
        return "This objective is no longer judged."
    evidence = {True: "The evidence of its rule still holds", False: "The evidence of its rule is gone"}
    first = "The evidence of its rule cannot be judged" if holds is None else evidence[holds]
    return f"{first}; {sign.says}."


def window_now(then: ObjectiveResult | None, now: ObjectiveResult, shift: timedelta) -> WindowVerdict | None:
    """The window that a prediction is compared with; None where the objective has no judged windows."""
    if now.verdict in BROKEN and now.worst is not None:
        return now.worst
    if then is not None and then.worst is not None and then.worst.start is not None:
        place = _moment(then.worst.start) + shift
        for window in now.windows:
            if window.start is not None and window.verdict == "met" and _moment(window.start) == place:
                return window
    return now.worst


def outcome(predicted: Prediction | None, now: ObjectiveResult | WindowVerdict | None, metric: str) -> str:
    """inside, better or worse than the predicted interval, or unknown; a figure whose own interval reaches in is inside."""
    if predicted is None or now is None:
        return "unknown"
    if predicted.attainment is not None and now.attainment is not None:
        own, low, high, higher = now.attainment, predicted.low, predicted.high, True
    elif predicted.value is not None and now.value is not None:
        better = BY_ID[metric].better if metric in BY_ID else Better.LOWER
        own, low, high, higher = now.value, predicted.value_low, predicted.value_high, better is Better.HIGHER
    else:
        return "unknown"
    least, most = now.interval if now.interval is not None else (own, own)
    if low is None or high is None:
        return "unknown"
    if min(least, own) <= high and max(most, own) >= low:
        return "inside"
    return "better" if (own > high) == higher else "worse"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class Witness:
    """What the requests of now say of earlier findings; each time span is looked at once."""

    def __init__(
        self, earlier: Earlier, present: Present, judged: Sequence[ObjectiveResult], settings: CauseSettings
    ) -> None:
        self._earlier = earlier
        self._present = present
        self._settings = settings
        unique = list({result.id: result for result in judged}.values())
        flagged = with_flags(present.frame, unique, present.objectives)
        self._rows = prepare(main_stretch(flagged, settings))
        self._then = None
        if earlier.frame is not None and earlier.frame.height:
            self._then = aligned(prepare(with_flags(earlier.frame, unique, present.objectives)), self._rows)
        self.shift = self._shift()
        self._looks: dict[Interval, tuple[Investigation, SceneFacts]] = {}
        self._judged = {result.id: result for result in unique}

    def _shift(self) -> timedelta:
        """Whole days from the earlier requests to those of now."""
        first = self._then.start_ns if self._then is not None else self._first_told()
        if first is None or self._rows.frame.height == 0:
            return 7 * DAY
        days = round((self._rows.start_ns - first) / NS_PER_S / DAY.total_seconds())
        return max(days, 0) * DAY

    def _first_told(self) -> int | None:
        starts = [w.start for result in self._earlier.objectives for w in result.windows if w.start is not None]
        return round(_moment(min(starts)).timestamp()) * NS_PER_S if starts else None

    def evidence(self, finding: Finding, item: Recommendation) -> tuple[bool | None, Sign]:
        """Whether the evidence of the recommendation's rule still holds in the finding's segment, and what changed."""
        interval = self._interval(finding)
        if interval is None or self._rows.frame.height == 0:
            return None, UNSEEN
        segment = tuple(finding.segment.items())
        inside = self._within(self._rows, interval)
        sign = UNSEEN
        if self._then is not None and finding.window is not None:
            then = self._within(self._then, _interval_of(finding.window, self._then))
            sign = sign_of(item.id, segment, then, inside)
        rule = self._present.catalog.rule(item.entry) if item.entry is not None else None
        if rule is None or inside.height < self._settings.min_support:
            return None, sign
        return self._holds(rule, finding, interval), sign

    def _interval(self, finding: Finding) -> Interval | None:
        """The time of the objective's first finding now, else the earlier one's at the same place in the week."""
        again = [found for found in self._present.findings if found.objective == finding.objective and found.window]
        if again and again[0].window is not None:
            return _interval_of(again[0].window, self._rows)
        if finding.window is None:
            return None
        start, end = (_moment(edge) + self.shift for edge in finding.window)
        return _interval_of((start.isoformat(), end.isoformat()), self._rows)

    @staticmethod
    def _within(rows: Rows, interval: Interval) -> pl.DataFrame:
        return rows.frame.filter((pl.col("at") >= interval.start) & (pl.col("at") < interval.end))

    def _holds(self, rule: Rule, finding: Finding, interval: Interval) -> bool | None:
        investigation, facts = self._look(interval)
        goal = goal_of(self._judged[finding.objective], self._rows.start_ns, interval.end)
        entry = investigation.explain(goal, interval)
        found = _of_segment(entry, investigation, finding, self._settings)
        answers = [
            rule.when.holds(facts.of(entry, Explanation(finding.stage, candidate, 0.0), None)) for candidate in found
        ]
        if True in answers:
            return True
        if any(self._rows.lacks(name) for name in rule.needs) or None in answers:
            return None
        return False

    def _look(self, interval: Interval) -> tuple[Investigation, SceneFacts]:
        if interval not in self._looks:
            nothing = Quiet(self._rows.frame.head(0), ())
            calm, earlier = nothing, self._calm()
            if earlier is None:
                calm = quiet_part(self._rows, [(interval.start, interval.end)], [], self._settings)
            scene = scene_of(
                self._rows,
                interval,
                calm,
                earlier=earlier,
                replica_hours=self._present.replica_hours,
                settings=self._settings,
            )
            investigation = Investigation(scene, self._settings)
            broken = frozenset(r.metric for r in self._present.judged if r.verdict in BROKEN)
            self._looks[interval] = (investigation, SceneFacts(investigation, broken, self._present.fleet))
        return self._looks[interval]

    def _calm(self) -> Rows | None:
        """The earlier requests outside the times of their findings."""
        then = self._then
        if then is None:
            return None
        spans = {_interval_of(f.window, then) for f in self._earlier.findings if f.window is not None}
        quiet = quiet_part(then, sorted((span.start, span.end) for span in spans), [], self._settings)
        return replace(then, frame=quiet.frame) if quiet.frame.height >= self._settings.min_normal_requests else None


def _of_segment(
    entry: Explained, investigation: Investigation, finding: Finding, settings: CauseSettings
) -> list[Candidate | None]:
    """Changes that are there now and sit where the earlier one sat; none, where the earlier one had no cause."""
    if finding.cause is None:
        return [None]
    found: list[Candidate | None] = [item.candidate for item in entry.explanations]
    found += [*investigation.engine, investigation.errors, investigation.cancels]
    chosen: Mapping[tuple[str, tuple[tuple[str, str], ...]], Candidate] = {
        candidate.key: candidate
        for candidate in found
        if candidate is not None and dict(candidate.segment) == finding.segment and _is_material(candidate, settings)
    }
    return list(chosen.values())


def _is_material(candidate: Candidate, settings: CauseSettings) -> bool:
    """Whether a slower stage is slower by more than chance: its slice is found for any excess."""
    ratio = candidate.facts.get("stage_ratio")
    return not isinstance(ratio, float) or ratio >= settings.growth


def _interval_of(window: tuple[str, str], rows: Rows) -> Interval:
    start, end = ((_moment(edge).astimezone(UTC).timestamp() - rows.start_ns / NS_PER_S) for edge in window)
    return Interval(start, end, 0.0)
