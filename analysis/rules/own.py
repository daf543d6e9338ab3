"""A house's own rules, recommendations and thresholds, over those that ship.

Input: rules.yaml with `rules`, `recommendations` (id: words) and `thresholds` (`KB-06.offline_token_share: 20%`).
Output: Catalog. Nothing that ships is replaced unawares: a rule with a built-in id says `override: true`, and a
threshold names the rule and the fact whose limit it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from analysis.rules.catalog import SHIPPED, Advice, Catalog, built_in
from analysis.rules.reading import OVERRIDE, is_override, read_number, read_rule
from analysis.rules.rule import NUMERIC_OPS, Comparison, Rule, Tree
from ingest.documents import Entry, read_document, suggestion
from ingest.errors import UnreadableInput

TOP_KEYS = ("rules", "recommendations", "thresholds")
SUPPORT = "min_bad"  # the one threshold of a rule that is no fact


def read_catalog(path: Path) -> Catalog:
    """The built-in catalog under the rules of a file.

    Raises:
        UnreadableInput: no such file, or not text.
        ConfigError: a rule breaks the form; the message has file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"{path} cannot be read as text: {error}") from error
    return own_catalog(text, path.name)


@lru_cache(maxsize=8)  # each question reads its file
def own_catalog(text: str, file: str) -> Catalog:
    """The built-in catalog under the rules of a text.

    Raises:
        ConfigError: a rule breaks the form; the message has file and line.
    """
    return with_rules(built_in(), text, file)


def with_rules(catalog: Catalog, text: str, file: str) -> Catalog:
    """The catalog with a user's recommendations, rules and thresholds.

    Raises:
        ConfigError: a key, id, fact, operator, value or recommendation is not known, or a built-in rule would be
            replaced without `override: true`; the message has file and line.
    """
    document = read_document(text, file)
    document.only(TOP_KEYS)
    advice = dict(catalog.advice) | _advice(document, tuple(catalog.advice))
    own: list[Rule] = []
    for entry in document.entries("rules"):
        rule = read_rule(entry, tuple(advice))
        _check_id(entry, rule, own, catalog)
        own.append(rule)
    replaced = {rule.id.upper() for rule in own}
    rules = [rule for rule in catalog.rules if rule.id.upper() not in replaced] + own
    rules, moved = _with_thresholds(rules, document)
    parts = [f"{len(own)} rules" if len(own) != 1 else "1 rule", f"{moved} thresholds" if moved != 1 else "1 threshold"]
    source = f"{SHIPPED}, under {file}: {' and '.join(parts)}"
    return Catalog(tuple(sorted(rules, key=lambda rule: rule.id)), catalog.conflicts, advice, source)


def _advice(document: Entry, shipped: Sequence[str]) -> dict[str, Advice]:
    """Further recommendations; those that ship keep their words, for other tools know them by their ids."""
    section = document.mapping("recommendations")
    found: dict[str, Advice] = {}
    if section is None:
        return found
    for key in section.values:
        identity = str(key)
        if identity in shipped:
            raise section.error(f'recommendation "{identity}" is built in; give yours another id', key)
        found[identity] = Advice(identity, " ".join(section.needed(key).split()))
    return found


def _check_id(entry: Entry, rule: Rule, own: Sequence[Rule], catalog: Catalog) -> None:
    if any(other.id.upper() == rule.id.upper() for other in own):
        raise entry.error(f"the file has a rule {rule.id} already", "id")
    shipped = catalog.rule(rule.id)
    if shipped is not None and not is_override(entry):
        raise entry.error(
            f'{shipped.id} is a built-in rule ("{shipped.title}"). Write {OVERRIDE}: true to replace it, give yours '
            f"another id, or move one of its limits under thresholds",
            "id",
        )
    if shipped is None and is_override(entry):
        ids = [known.id for known in catalog.rules]
        raise entry.error(f"no built-in rule {rule.id} is there to override. {suggestion(rule.id, ids)}", OVERRIDE)


def _with_thresholds(rules: list[Rule], document: Entry) -> tuple[list[Rule], int]:
    section = document.mapping("thresholds")
    if section is None:
        return rules, 0
    by_id = {rule.id: rule for rule in rules}
    for key in section.values:
        identity, dot, fact = str(key).partition(".")
        if not dot or not fact:
            raise section.error(
                f'"{key}" is no threshold. Write rule.fact, such as KB-06.offline_token_share: 20%', key
            )
        if identity not in by_id:
            raise section.error(f'rule "{identity}" is not known. {suggestion(identity, list(by_id))}', key)
        by_id[identity] = _moved(by_id[identity], fact, section, key)
    return list(by_id.values()), len(section.values)


def _moved(rule: Rule, fact: str, section: Entry, key: str) -> Rule:
    value = read_number(section, key)
    if fact == SUPPORT:
        if value < 0 or value != int(value):
            raise section.error(f"{key} is a number of requests: write a whole number, 0 or more", key)
        return replace(rule, min_bad=int(value))
    limits = [part for part in comparisons(rule.when) if part.op in NUMERIC_OPS]
    named = [part for part in limits if part.fact == fact]
    if not named:
        known = [SUPPORT, *dict.fromkeys(part.fact for part in limits)]
        raise section.error(f'{rule.id} has no limit on "{fact}". {suggestion(fact, known)}', key)
    if len(named) > 1:
        raise section.error(
            f"{rule.id} compares {fact} {len(named)} times; replace the rule with {OVERRIDE}: true", key
        )
    return replace(rule, when=_with_limit(rule.when, fact, value))


def comparisons(tree: Tree | Comparison) -> list[Comparison]:
    """The conditions of a tree, in order."""
    if isinstance(tree, Comparison):
        return [tree]
    return [found for part in tree.parts for found in comparisons(part)]


def _with_limit(tree: Tree | Comparison, fact: str, value: float) -> Tree | Comparison:
    if isinstance(tree, Comparison):
        return replace(tree, value=value) if tree.fact == fact and tree.op in NUMERIC_OPS else tree
    return replace(tree, parts=tuple(_with_limit(part, fact, value) for part in tree.parts))
