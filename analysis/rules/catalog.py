"""The knowledge base: rules, conflicts and the words of each recommendation, read from YAML.

Input: the files under rules/data and, if a user has some, rules of their own. Output: Catalog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from analysis.rules.reading import Conflict, read_conflict, read_rule
from analysis.rules.rule import Rule, facts_of
from ingest.documents import read_document

FILES = ("queue.yaml", "first_token.yaml", "decode.yaml", "around.yaml", "cost.yaml")
SHIPPED = "rules of this version"


@dataclass(frozen=True)
class Advice:
    """Words of one recommendation of the vocabulary."""

    id: str
    title: str


@dataclass(frozen=True)
class Catalog:
    """All rules in the order of their ids, all conflicts, all words; `source` says where they come from."""

    rules: tuple[Rule, ...]
    conflicts: tuple[Conflict, ...]
    advice: Mapping[str, Advice]
    source: str = SHIPPED

    def rule(self, identity: str) -> Rule | None:
        wanted = identity.strip().upper()
        return next((rule for rule in self.rules if rule.id.upper() == wanted), None)


@lru_cache(maxsize=1)
def built_in() -> Catalog:
    """The catalog that ships with the project."""
    folder = resources.files("analysis.rules").joinpath("data")
    words = read_document(folder.joinpath("recommendations.yaml").read_text(encoding="utf-8"), "recommendations.yaml")
    advice = {str(name): Advice(str(name), str(title)) for name, title in words.values["recommendations"].items()}
    rules: list[Rule] = []
    for name in FILES:
        rules += _rules(folder.joinpath(name).read_text(encoding="utf-8"), name, tuple(advice))
    conflicts = read_document(folder.joinpath("conflicts.yaml").read_text(encoding="utf-8"), "conflicts.yaml")
    return Catalog(
        tuple(sorted(rules, key=lambda rule: rule.id)),
        tuple(read_conflict(entry, tuple(advice)) for entry in conflicts.entries("conflicts")),
        advice,
    )


def _rules(text: str, file: str, known: Sequence[str]) -> list[Rule]:
    document = read_document(text, file)
    document.only(("rules",))
    return [read_rule(entry, known) for entry in document.entries("rules")]


def all_facts(catalog: Catalog) -> tuple[str, ...]:
    """Every fact that some rule or conflict reads."""
    names = [
        name
        for rule in catalog.rules
        for name in (*facts_of(rule.when), *(f for a in rule.unless for f in facts_of(a.when)))
    ]
    names += [name for conflict in catalog.conflicts for name in facts_of(conflict.when)]
    return tuple(sorted(set(names)))
