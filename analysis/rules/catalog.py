"""The knowledge base: rules, conflicts and the words of each recommendation, read from YAML.

Input: the files under rules/data and, if a user has some, rules of their own in the same form. Output: Catalog.
`explain(id)` tells one entry as text, for `tailwise explain KB-09`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from analysis.rules.rule import ENGINES, OPS, Against, Comparison, Fact, Rule, Tree, facts_of
from ingest.documents import Entry, read_document, scalar_text, suggestion

FILES = ("queue.yaml", "first_token.yaml", "decode.yaml", "around.yaml", "cost.yaml")
_RULE_KEYS = (
    "id",
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
SHARE = "_share"
ENGINE_LABELS = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT"}  # of one width with the others
FACT_WORDS = {  # what its name does not say by itself
    "candidate": "the likely cause",
    "metric": "the metric of the objective",
    "kind": "the kind of the objective",
    "queue_share": "the share of queue in the time",
    "prefill_share": "the share of prefill in the time",
    "kv_p90": "P90 of the use of the KV cache",
    "cached_ratio": "the cached share of the input",
    "load_correlation": "the correlation of the figure with the load",
    "availability_breached": "availability is breached",
}
MIN_BAD = 30  # the support that the knowledge base asks of every rule on latency


@dataclass(frozen=True)
class Advice:
    """Words of one recommendation of the vocabulary."""

    id: str
    title: str


@dataclass(frozen=True)
class Conflict:
    """An advice that must not, or not alone, be followed while something else holds."""

    against: tuple[str, ...]
    when: Tree | Comparison
    why: str
    only_warn: bool


@dataclass(frozen=True)
class Catalog:
    """All rules in the order of their ids, all conflicts, all words."""

    rules: tuple[Rule, ...]
    conflicts: tuple[Conflict, ...]
    advice: Mapping[str, Advice]

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
        rules += read_rules(folder.joinpath(name).read_text(encoding="utf-8"), name, tuple(advice))
    conflicts = read_document(folder.joinpath("conflicts.yaml").read_text(encoding="utf-8"), "conflicts.yaml")
    return Catalog(
        tuple(sorted(rules, key=lambda rule: rule.id)),
        tuple(_conflict(entry, tuple(advice)) for entry in conflicts.entries("conflicts")),
        advice,
    )


def with_rules(catalog: Catalog, text: str, file: str) -> Catalog:
    """The catalog with a user's rules; one with a known id takes its place.

    Raises:
        ConfigError: a rule breaks the form; the message has file and line.
    """
    own = read_rules(text, file, tuple(catalog.advice))
    replaced = {rule.id for rule in own}
    rules = [rule for rule in catalog.rules if rule.id not in replaced] + own
    return Catalog(tuple(sorted(rules, key=lambda rule: rule.id)), catalog.conflicts, catalog.advice)


def read_rules(text: str, file: str, known: Sequence[str]) -> list[Rule]:
    """Rules of a YAML text whose key `rules` holds a list.

    Raises:
        ConfigError: a key, an operator or a recommendation is not known, or a needed key is missing.
    """
    document = read_document(text, file)
    document.only(("rules",))
    return [_rule(entry, known) for entry in document.entries("rules")]


def _rule(entry: Entry, known: Sequence[str]) -> Rule:
    entry.only(_RULE_KEYS)
    recommends = _texts(entry, "recommends")
    for name in recommends:
        if name not in known:
            raise entry.error(f'recommendation "{name}" is not known. {suggestion(name, known)}', "recommends")
    actions = entry.mapping("actions")
    if actions is not None:
        actions.only(ENGINES)
    return Rule(
        id=entry.needed("id"),
        title=entry.needed("title"),
        finds=entry.needed("finds"),
        recommends=recommends,
        stages=_texts(entry, "stages"),
        needs=_texts(entry, "needs"),
        when=_tree(entry, entry.values.get("when"), "when"),
        unless=tuple(_against(entry, part) for part in entry.values.get("unless") or ()),
        min_bad=int(entry.text("min_bad") or MIN_BAD),
        priority=int(entry.text("priority") or 3),
        effort=int(entry.text("effort") or 2),
        actions={name: " ".join(actions.needed(name).split()) for name in ENGINES if name in actions.values}
        if actions
        else {},
        reported_effect=_prose(entry, "reported_effect"),
        precondition=_prose(entry, "precondition"),
        trade_off=_prose(entry, "trade_off"),
        verify=_prose(entry, "verify"),
        source=_prose(entry, "source"),
    )


def _prose(entry: Entry, key: str) -> str:
    return " ".join((entry.text(key) or "").split())


def _texts(entry: Entry, key: str) -> tuple[str, ...]:
    given = entry.values.get(key)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise entry.error(f"{key} takes a list", key)
    return tuple(scalar_text(value) for value in given)


def _against(entry: Entry, part: Any) -> Against:
    if not isinstance(part, dict) or not {"when", "why"} <= set(part):
        raise entry.error("each entry of unless needs when and why", "unless")
    return Against(
        _tree(entry, part["when"], "unless"), " ".join(str(part["why"]).split()), bool(part.get("only_warn", False))
    )


def _conflict(entry: Entry, known: Sequence[str]) -> Conflict:
    entry.only(("against", "when", "why", "only_warn"))
    against = _texts(entry, "against")
    for name in against:
        if name not in known:
            raise entry.error(f'recommendation "{name}" is not known. {suggestion(name, known)}', "against")
    return Conflict(
        against,
        _tree(entry, entry.values.get("when"), "when"),
        " ".join(entry.needed("why").split()),
        entry.text("only_warn") == "true",
    )


def _tree(entry: Entry, given: Any, key: str) -> Tree | Comparison:
    if not isinstance(given, dict):
        raise entry.error(f"{key} takes {{fact, op, value}}, or all, any or not of such", key)
    for kind in ("all", "any", "not"):
        if kind in given:
            parts = given[kind] if isinstance(given[kind], list) else [given[kind]]
            if kind == "not" and len(parts) != 1:
                raise entry.error("not takes one condition", key)
            return Tree(kind, tuple(_tree(entry, part, key) for part in parts))
    missing = {"fact", "op", "value"} - set(given)
    if missing:
        raise entry.error(f"a condition lacks {', '.join(sorted(missing))}", key)
    if given["op"] not in OPS:
        raise entry.error(f'op "{given["op"]}" is not known. {suggestion(str(given["op"]), OPS)}', key)
    return Comparison(str(given["fact"]), str(given["op"]), _value(given["value"]))


def _value(given: Any) -> Fact | tuple[str, ...]:
    if isinstance(given, list):
        return tuple(scalar_text(value) for value in given)
    if isinstance(given, bool):
        return given
    if isinstance(given, (int, float)):
        return float(given)
    return str(given)


def explain(identity: str, catalog: Catalog | None = None) -> str | None:
    """An entry of the knowledge base, or a recommendation, as text; None if neither has this id."""
    catalog = catalog or built_in()
    rule = catalog.rule(identity)
    if rule is None:
        return _explain_advice(identity, catalog)
    lines = [f"{rule.id}  {rule.title}", "", f"Finds       {rule.finds}"]
    lines.append(f"Advises     {', '.join(f'{name} ({catalog.advice[name].title})' for name in rule.recommends)}")
    lines.append(f"Tried for   {', '.join(rule.stages) or 'every stage'}; {_support(rule)}")
    lines.append(f"Evidence    {says(rule.when, outer=True)}")
    lines += [f"Not if      {says(part.when, outer=True)}: {part.why}" for part in rule.unless]
    lines += [f"{ENGINE_LABELS[engine]:<11} {text}" for engine, text in rule.actions.items()]
    for label, text in (
        ("Reported", rule.reported_effect),
        ("Before", rule.precondition),
        ("Trade-off", rule.trade_off),
        ("Verify", rule.verify),
        ("Source", rule.source),
    ):
        if text:
            lines.append(f"{label:<11} {text}")
    if rule.needs:
        lines.append(f"Needs       {', '.join(rule.needs)}")
    return "\n".join(lines)


def _support(rule: Rule) -> str:
    return f"at least {rule.min_bad} bad requests" if rule.min_bad else "no minimum of bad requests"


def _explain_advice(identity: str, catalog: Catalog) -> str | None:
    advice = catalog.advice.get(identity)
    if advice is None:
        return None
    behind = [rule for rule in catalog.rules if identity in rule.recommends]
    lines = [f"{advice.id}  {advice.title}", ""]
    lines += [f"{rule.id}  {rule.title}: {rule.finds}" for rule in behind]
    return "\n".join(lines)


def says(tree: Tree | Comparison, *, outer: bool = False) -> str:
    """A condition in words; the outermost one stands without brackets."""
    if isinstance(tree, Comparison):
        words = {
            "eq": "is",
            "ne": "is not",
            "ge": "≥",
            "gt": ">",
            "le": "≤",
            "lt": "<",
            "in": "is one of",
            "not_in": "is none of",
        }
        if isinstance(tree.value, bool):
            claim = FACT_WORDS.get(tree.fact, _plain(tree.fact))
            return claim if (tree.op == "eq") == tree.value else f"not ({claim})"
        if (tree.fact, tree.op, tree.value) == ("candidate", "eq", "none"):
            return "no cause is likely"
        return f"{_fact_words(tree.fact)} {words[tree.op]} {_value_words(tree.fact, tree.value)}"
    inner = [says(part) for part in tree.parts]
    if tree.kind == "not":
        return f"not ({inner[0]})"
    joined = f" {'and' if tree.kind == 'all' else 'or'} ".join(inner)
    return f"({joined})" if len(inner) > 1 and not outer else joined


def _fact_words(fact: str) -> str:
    """A fact as a reader says it: the share of queue, batch growth."""
    if fact in FACT_WORDS:
        return FACT_WORDS[fact]
    return f"the share of {_plain(fact[: -len(SHARE)])}" if fact.endswith(SHARE) else f"the {_plain(fact)}"


def _value_words(fact: str, value: Fact | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, int | float):
        return f"{value * 100:g} %" if fact.endswith(SHARE) or fact == "cached_ratio" else f"{value:g}"
    return _plain(str(value))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def all_facts(catalog: Catalog) -> tuple[str, ...]:
    """Every fact that some rule or conflict reads."""
    names = [
        name
        for rule in catalog.rules
        for name in (*facts_of(rule.when), *(f for a in rule.unless for f in facts_of(a.when)))
    ]
    names += [name for conflict in catalog.conflicts for name in facts_of(conflict.when)]
    return tuple(sorted(set(names)))
