"""Rules applied to the facts of a finding.

Input: facts, the columns that are absent, a catalog. Output: Advised (fired rules by recommendation, what speaks
against others, what could not be tested).
A recommendation is named once, by the rule with the lowest priority number that fires for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.result import Contraindication, Untested
from analysis.rules.catalog import Catalog
from analysis.rules.rule import Facts, Judged, Rule, judge_rule

MOST = 5  # a long list is no advice


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
    """Recommendations in the order to follow them, contra-indications and untested rules, each by id."""
    judged = [found for rule in catalog.rules if (found := judge_rule(rule, facts, absent)) is not None]
    fired = sorted((found for found in judged if found.state == "fires"), key=_order)
    against = _against(facts, judged, catalog)
    named: dict[str, Advised] = {}
    for found in fired:
        for identity in found.rule.recommends:
            if identity not in against:
                named.setdefault(identity, Advised(identity, found.rule, _warning(identity, found, facts, catalog)))
    untested = [Untested(found.rule.id, list(found.missing)) for found in judged if found.state == "untested"]
    return Advice(
        tuple(named.values())[:MOST],
        tuple(Contraindication(identity, against[identity]) for identity in sorted(against)),
        tuple(untested),
    )


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
