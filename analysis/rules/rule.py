"""A rule of the knowledge base: what it looks for, what it advises, and what speaks against it.

Input: facts of a finding, a flat mapping computed once. Output: Judged (fires, silent, untested, too few) per rule.
Evidence is a tree of all / any / not over {fact, op, value}. A fact that is not known makes a test unknown, never
false: a rule on a missing column is untested, not silent and not fired.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Fact = float | str | bool | None
Facts = Mapping[str, Fact]
Op = Literal["eq", "ne", "ge", "gt", "le", "lt", "in", "not_in"]
ENGINES = ("vllm", "sglang", "tensorrt_llm")

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
}
NUMERIC_OPS = tuple(_NUMERIC)
OPS: tuple[str, ...] = ("eq", "ne", "in", "not_in", *_NUMERIC)

HIDDEN = {  # stages that one time holds, where nothing measured them apart
    "before_first_token": ("queue", "prefill"),
    "after_first_token": ("decode",),
    "model": ("queue", "prefill", "decode"),
}


@dataclass(frozen=True)
class Comparison:
    """One comparison of a fact."""

    fact: str
    op: str
    value: Fact | tuple[str, ...]

    def holds(self, facts: Facts) -> bool | None:
        seen = facts.get(self.fact)
        if seen is None:
            return None
        if self.op in ("in", "not_in"):
            listed = self.value if isinstance(self.value, tuple) else (str(self.value),)
            return (str(seen) in listed) == (self.op == "in")
        if self.op in ("eq", "ne"):
            return (seen == self.value) == (self.op == "eq")
        if isinstance(seen, str) or isinstance(self.value, (str, tuple)) or self.value is None:
            return None
        return _NUMERIC[self.op](float(seen), float(self.value))


@dataclass(frozen=True)
class Tree:
    """all, any or not of further trees and tests; three-valued."""

    kind: Literal["all", "any", "not"]
    parts: tuple[Tree | Comparison, ...]

    def holds(self, facts: Facts) -> bool | None:
        seen = [part.holds(facts) for part in self.parts]
        if self.kind == "not":
            return None if seen[0] is None else not seen[0]
        decisive = self.kind == "any"
        if decisive in seen:
            return decisive
        return None if None in seen else not decisive


def facts_of(tree: Tree | Comparison) -> tuple[str, ...]:
    """Names of the facts that a tree reads, in order of first mention."""
    if isinstance(tree, Comparison):
        return (tree.fact,)
    return tuple(dict.fromkeys(name for part in tree.parts for name in facts_of(part)))


@dataclass(frozen=True)
class Against:
    """A condition under which an advice is withheld, or given with a warning, and why."""

    when: Tree | Comparison
    why: str
    only_warn: bool = False


@dataclass(frozen=True)
class Rule:
    """One entry of the knowledge base.

    recommends: ids of the vocabulary, best first.
    stages: stages of a finding that it is tried for; empty: all.
    needs: columns of the requests (or, where no column exists, what to log) without which it cannot be tested.
    min_bad: bad requests that it wants to see, sampling counted in; 0 for objectives on cost and rates.
    priority: 1 undoes the cause, 2 relieves the symptom, 3 is general advice.
    """

    id: str
    title: str
    finds: str
    recommends: tuple[str, ...]
    stages: tuple[str, ...]
    needs: tuple[str, ...]
    when: Tree | Comparison
    unless: tuple[Against, ...]
    min_bad: int
    priority: int
    effort: int
    actions: Mapping[str, str]
    reported_effect: str
    precondition: str
    trade_off: str
    verify: str
    source: str

    def applies(self, stage: str) -> bool:
        return not self.stages or stage in self.tried_for

    @property
    def tried_for(self) -> tuple[str, ...]:
        """Its stages, then the times that hold one of them where nothing measured them apart."""
        held = [time for time, parts in HIDDEN.items() if time not in self.stages and set(parts) & set(self.stages)]
        return (*self.stages, *held)


@dataclass(frozen=True)
class Judged:
    """What one rule says of one finding."""

    rule: Rule
    state: Literal["fires", "silent", "withheld", "untested", "too_few"]
    missing: tuple[str, ...] = ()
    why: str = ""
    warning: str = ""


def judge_rule(rule: Rule, facts: Facts, absent: frozenset[str]) -> Judged | None:
    """The rule's answer, or None where the finding's stage is none of its own."""
    if not rule.applies(str(facts.get("stage"))):
        return None
    missing = tuple(name for name in rule.needs if name in absent)
    found = rule.when.holds(facts)
    if found is not True:
        if missing:
            return Judged(rule, "untested", missing)
        if found is None:
            return Judged(rule, "untested", tuple(name for name in facts_of(rule.when) if facts.get(name) is None))
        return Judged(rule, "silent")
    bad = facts.get("n_bad")
    if isinstance(bad, (int, float)) and bad < rule.min_bad:
        return Judged(rule, "too_few", why=f"{bad:.0f} bad requests, {rule.min_bad} are needed")
    warnings = []
    for against in rule.unless:
        if against.when.holds(facts) is True:
            if not against.only_warn:
                return Judged(rule, "withheld", why=against.why)
            warnings.append(against.why)
    return Judged(rule, "fires", warning=" ".join(warnings))
