"""Rules from YAML text, every key, id, fact and value checked.

Input: the text of a file, the recommendations that there are. Output: Rule and Conflict records. What could never hold,
or would be silently ignored, is an error with its line: an unknown key, a fact that nothing computes, a value that a
fact never takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis import durations
from analysis.errors import ObjectivesError
from analysis.rules.rule import ENGINES, NUMERIC_OPS, OPS, Against, Comparison, Fact, Rule, Tree
from analysis.rules.vocabulary import FLAGS, KNOWN_FACTS, SEGMENT, STAGE_VALUES, TEXTS, is_fact, is_text
from ingest.documents import Entry, scalar_text, suggestion

OVERRIDE = "override"
_RULE_KEYS = (
    "id",
    OVERRIDE,
    "title",
    "finds",
    "recommends",
    "stages",
    "needs",
    "when",
    "unless",
    "min_bad",
    "priority",
    "effort",
    "actions",
    "reported_effect",
    "precondition",
    "trade_off",
    "verify",
    "source",
)
_CONDITION_KEYS = ("fact", "op", "value")
_TREE_KEYS = ("all", "any", "not")
MIN_BAD = 30  # the support that the knowledge base asks of every rule on latency
PRIORITIES, EFFORTS = (1, 3), (1, 5)  # first and last


@dataclass(frozen=True)
class Conflict:
    """An advice that must not, or not alone, be followed while something else holds."""

    against: tuple[str, ...]
    when: Tree | Comparison
    why: str
    only_warn: bool


def read_rule(entry: Entry, known: Sequence[str]) -> Rule:
    """One rule.

    Args:
        known: ids of the recommendations that it may name.

    Raises:
        ConfigError: it breaks the form; the message has file and line.
    """
    entry.only(_RULE_KEYS)
    identity = entry.needed("id")
    recommends = recommendations(entry, "recommends", known)
    if not recommends:
        raise entry.error(f"recommends is missing. Known: {', '.join(sorted(known))}", "recommends")
    actions = entry.mapping("actions")
    if actions is not None:
        actions.only(ENGINES)
    if entry.values.get("when") is None:
        raise entry.error("when is missing. Write when: {fact: stage, op: eq, value: queue}, or all, any, not of such")
    return Rule(
        id=identity,
        title=entry.needed("title"),
        finds=" ".join(entry.needed("finds").split()),
        recommends=recommends,
        stages=_stages(entry),
        needs=_texts(entry, "needs"),
        when=_tree(entry, entry.values.get("when"), "when"),
        unless=_unless(entry),
        min_bad=_whole(entry, "min_bad", MIN_BAD),
        priority=_level(entry, "priority", 3, PRIORITIES),
        effort=_level(entry, "effort", 2, EFFORTS),
        actions={name: " ".join(actions.needed(name).split()) for name in ENGINES if name in actions.values}
        if actions
        else {},
        reported_effect=_prose(entry, "reported_effect"),
        precondition=_prose(entry, "precondition"),
        trade_off=_prose(entry, "trade_off"),
        verify=_prose(entry, "verify"),
        source=_prose(entry, "source"),
    )


def read_conflict(entry: Entry, known: Sequence[str]) -> Conflict:
    """One conflict of advice with a state."""
    entry.only(("against", "when", "why", "only_warn"))
    return Conflict(
        recommendations(entry, "against", known),
        _tree(entry, entry.values.get("when"), "when"),
        " ".join(entry.needed("why").split()),
        _flag(entry, "only_warn"),
    )


def read_number(entry: Entry, key: str) -> float:
    """A number, or a share written as 30%.

    Raises:
        ConfigError: neither.
    """
    try:
        return float(durations.ratio(entry.needed(key)))
    except ObjectivesError as error:
        raise entry.error(f"{key}: {error.message}. Write a number, or a share such as 30%", key) from error


def is_override(entry: Entry) -> bool:
    """Whether a rule says that it takes the place of a built-in one."""
    return _flag(entry, OVERRIDE)


def recommendations(entry: Entry, key: str, known: Sequence[str]) -> tuple[str, ...]:
    """Ids of recommendations, all known."""
    names = _texts(entry, key)
    for name in names:
        if name not in known:
            raise entry.error(f'recommendation "{name}" is not known. {suggestion(name, known)}', key)
    return names


def _stages(entry: Entry) -> tuple[str, ...]:
    stages = _texts(entry, "stages")
    for stage in stages:
        if stage not in STAGE_VALUES:
            raise entry.error(f'stage "{stage}" is not known. {suggestion(stage, STAGE_VALUES)}', "stages")
    return stages


def _unless(entry: Entry) -> tuple[Against, ...]:
    given = entry.values.get("unless")
    if given is None:
        return ()
    if not isinstance(given, list):
        raise entry.error("unless takes a list of {when, why}", "unless")
    found = []
    for part in given:
        if not isinstance(part, dict) or not {"when", "why"} <= set(part):
            raise entry.error("each entry of unless needs when and why", "unless")
        inner = Entry(entry.file, part, entry.name, (*entry.path, "unless"))
        inner.only(("when", "why", "only_warn"))
        found.append(
            Against(
                _tree(inner, part["when"], "when"), " ".join(inner.needed("why").split()), _flag(inner, "only_warn")
            )
        )
    return tuple(found)


def _prose(entry: Entry, key: str) -> str:
    return " ".join((entry.text(key) or "").split())


def _texts(entry: Entry, key: str) -> tuple[str, ...]:
    given = entry.values.get(key)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise entry.error(f"{key} takes a list", key)
    for value in given:
        if isinstance(value, (dict, list)) or value is None:
            raise entry.error(f"{key} takes a list of names", key)
    return tuple(scalar_text(value) for value in given)


def _flag(entry: Entry, key: str) -> bool:
    text = entry.text(key)
    if text not in (None, "true", "false"):
        raise entry.error(f'{key} is "{text}". Write true or false', key)
    return text == "true"


def _whole(entry: Entry, key: str, usual: int) -> int:
    text = entry.text(key)
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit()):
        raise entry.error(f'{key} is "{text}". Write a whole number, 0 or more', key)
    return int(text)


def _level(entry: Entry, key: str, usual: int, ends: tuple[int, int]) -> int:
    level = _whole(entry, key, usual)
    if not ends[0] <= level <= ends[1]:
        raise entry.error(f"{key} is {level}. Write a whole number from {ends[0]} to {ends[1]}", key)
    return level


def _tree(entry: Entry, given: Any, key: str) -> Tree | Comparison:
    if not isinstance(given, dict):
        raise entry.error(f"{key} takes {{fact, op, value}}, or all, any or not of such", key)
    here = Entry(entry.file, given, entry.name, (*entry.path, key))
    for kind in _TREE_KEYS:
        if kind in given:
            here.only((kind,))
            parts = given[kind] if isinstance(given[kind], list) else [given[kind]]
            if not parts:
                raise here.error(f"{kind} holds no condition", kind)
            if kind == "not" and len(parts) != 1:
                raise here.error("not takes one condition", kind)
            return Tree(kind, tuple(_tree(here, part, kind) for part in parts))  # type: ignore[arg-type]
    here.only((*_CONDITION_KEYS, *_TREE_KEYS))
    missing = set(_CONDITION_KEYS) - set(given)
    if missing:
        raise here.error(f"a condition lacks {', '.join(sorted(missing))}")
    fact, op = here.needed("fact"), here.needed("op")
    if op not in OPS:
        raise here.error(f'op "{op}" is not known. {suggestion(op, OPS)}', "op")
    if not is_fact(fact):
        more = f"{suggestion(fact, KNOWN_FACTS)} {SEGMENT}<dimension> is one too"
        raise here.error(f'fact "{fact}" is not known. {more}', "fact")
    return Comparison(fact, op, _value(here, fact, op))


def _value(entry: Entry, fact: str, op: str) -> Fact | tuple[str, ...]:
    """The value that a fact is compared with, of the fact's own kind."""
    given = entry.values.get("value")
    if fact in FLAGS:
        if op not in ("eq", "ne") or not isinstance(given, bool):
            raise entry.error(f"{fact} is true or false: write op: eq and value: true", "value")
        return given
    if is_text(fact):
        if op in NUMERIC_OPS:
            raise entry.error(f"{fact} is a word: write op: eq, ne, in or not_in", "op")
        values = _texts(entry, "value") if isinstance(given, list) else (entry.needed("value"),)
        known = TEXTS.get(fact, ())
        for value in values:
            if known and value not in known:
                raise entry.error(f'{fact} is never "{value}". {suggestion(value, known)}', "value")
        return values if isinstance(given, list) else values[0]
    if op in ("in", "not_in"):
        raise entry.error(f"{fact} is a number: write op: ge, gt, le, lt, eq or ne", "op")
    return read_number(entry, "value")
