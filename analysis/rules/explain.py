"""An entry of the knowledge base as text, for `tailwise explain KB-09`.

Input: an id, the catalog. Output: lines of a rule or of a recommendation with the rules behind it.
"""

from __future__ import annotations

from analysis.rules.catalog import Catalog, built_in
from analysis.rules.rule import Comparison, Fact, Rule, Tree
from analysis.rules.vocabulary import SEGMENT

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


def explain(identity: str, catalog: Catalog | None = None) -> str | None:
    """An entry of the knowledge base, or a recommendation, as text; None if neither has this id."""
    catalog = catalog or built_in()
    rule = catalog.rule(identity)
    if rule is None:
        return _explain_advice(identity, catalog)
    lines = [f"{rule.id}  {rule.title}", "", f"Finds       {rule.finds}"]
    lines.append(f"Advises     {', '.join(f'{name} ({catalog.advice[name].title})' for name in rule.recommends)}")
    lines.append(f"Tried for   {', '.join(rule.tried_for) or 'every stage'}; {_support(rule)}")
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
    if fact.startswith(SEGMENT):
        return f"the {_plain(fact[len(SEGMENT) :])} of the segment"
    return f"the share of {_plain(fact[: -len(SHARE)])}" if fact.endswith(SHARE) else f"the {_plain(fact)}"


def _value_words(fact: str, value: Fact | tuple[str, ...]) -> str:
    if fact.startswith(SEGMENT):  # a name of the house, not a word of ours
        return ", ".join(value) if isinstance(value, tuple) else str(value)
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, int | float):
        return f"{value * 100:g} %" if fact.endswith(SHARE) or fact == "cached_ratio" else f"{value:g}"
    return _plain(str(value))


def _plain(name: str) -> str:
    return name.replace("_", " ")
