"""Rules applied to the facts of a finding.

Input: facts, the columns that are absent, a catalog. Output: Advised (fired rules by recommendation, what speaks
against others, what could not be tested).
A recommendation is named once, by the rule with the lowest priority number that fires for it. Which of them to follow
first is decided by what each is predicted to do on this traffic (`ranked`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.result import Contraindication, Untested
from analysis.rules.catalog import Catalog
from analysis.rules.rule import Facts, Judged, Rule, judge_rule

MOST = 5  # a long list is no advice
ALIKE = 0.05  # of a value: windows differ by about this much for reasons that no prediction sees
ALIKE_SHARE = 0.01  # of the requests


@dataclass(frozen=True)
class Advised:
    """One recommendation with the rule that stands behind it."""

    id: str
    rule: Rule
    warning: str


@dataclass(frozen=True)
class Advice:
    """What the rules say of one finding."""

    advised: tuple[Advised, ...]
    contraindicated: tuple[Contraindication, ...]
    untested: tuple[Untested, ...]


def advise(facts: Facts, absent: frozenset[str], catalog: Catalog) -> Advice:
    """Recommendations by priority and effort, contra-indications and untested rules, each by id."""
    judged = [found for rule in catalog.rules if (found := judge_rule(rule, facts, absent)) is not None]
    fired = sorted((found for found in judged if found.state == "fires"), key=_order)
    against = _against(facts, judged, catalog)
    named: dict[str, Advised] = {}
    for found in fired:
        for identity in found.rule.recommends:
            if identity not in against:
                named.setdefault(identity, Advised(identity, found.rule, _warning(identity, found, facts, catalog)))
    untested = [
        Untested(found.rule.id, list(found.missing), found.rule.title) for found in judged if found.state == "untested"
    ]
    return Advice(
        tuple(named.values()),
        tuple(
            Contraindication(identity, against[identity], catalog.advice[identity].title)
            for identity in sorted(against)
        ),
        tuple(untested),
    )


@dataclass(frozen=True)
class Effect:
    """What a recommendation is predicted to do, as far as it decides the order.

    kept: share of the objective's requests that are served and, where that is known, within the limit.
    excess: value after it, so that less is better; None where only the share is known.
    """

    kept: float
    excess: float | None


def ranked(effects: Sequence[tuple[Advised, Effect | None]]) -> tuple[int, ...]:
    """Places of the recommendations to give, best first, at most MOST.

    By predicted effect, then by risk (a warning), effort and priority; what has no prediction comes after what has, by
    risk, priority and effort.
    Effects that differ by less than a prediction can tell count as equal.
    """
    order = sorted(range(len(effects)), key=lambda place: (*_rank(*effects[place]), place))
    return tuple(order[:MOST])


def _rank(item: Advised, effect: Effect | None) -> tuple[bool, int, int, bool, int, int]:
    after = (bool(item.warning), item.rule.effort, item.rule.priority)
    if effect is None:  # what undoes the cause before what relieves, both before general advice
        return (True, 0, 0, bool(item.warning), item.rule.priority, item.rule.effort)
    steps = round(math.log(effect.excess) / ALIKE) if effect.excess is not None and effect.excess > 0 else 0
    return (False, -round(effect.kept / ALIKE_SHARE), steps, *after)


def _order(found: Judged) -> tuple[int, int, str]:
    return (found.rule.priority, found.rule.effort, found.rule.id)


def _against(facts: Facts, judged: Sequence[Judged], catalog: Catalog) -> dict[str, str]:
    """Recommendations that must not be given, with the first reason."""
    found: dict[str, str] = {}
    for conflict in catalog.conflicts:
        if not conflict.only_warn and conflict.when.holds(facts) is True:
            for identity in conflict.against:
                found.setdefault(identity, conflict.why)
    for entry in judged:
        if entry.state == "withheld":
            found.setdefault(entry.rule.recommends[0], entry.why)
    return found


def _warning(identity: str, found: Judged, facts: Facts, catalog: Catalog) -> str:
    warnings = [found.warning] if found.warning else []
    for conflict in catalog.conflicts:
        if conflict.only_warn and identity in conflict.against and conflict.when.holds(facts) is True:
            warnings.append(conflict.why)
    return " ".join(dict.fromkeys(warnings))
