"""Rules from YAML: what breaks the form is told with file, line and remedy."""

from __future__ import annotations

import pytest

from analysis.rules.catalog import built_in
from analysis.rules.reading import read_rule
from analysis.rules.rule import Comparison, Rule, Tree
from ingest.documents import read_document
from ingest.errors import ConfigError

OWN = """
rules:
  - id: OUR-1
    title: Ask the gateway team
    finds: The gateway takes the time.
    recommends: [connection_reuse]
    stages: [gateway]
    when:
      all:
        - {fact: stage, op: eq, value: gateway}
        - {fact: queue_share, op: lt, value: 20%}
        - {fact: tpot_at_risk, op: eq, value: false}
    unless:
      - when: {fact: attempts_per_request, op: gt, value: 1.2}
        why: Retries make that time.
        only_warn: true
    priority: 1
"""


def read(text: str) -> Rule:
    (entry,) = read_document(text, "ours.yaml").entries("rules")
    return read_rule(entry, tuple(built_in().advice))


def test_a_rule_is_read_with_its_limits_as_numbers() -> None:
    rule = read(OWN)
    assert rule.when == Tree(
        "all",
        (
            Comparison("stage", "eq", "gateway"),
            Comparison("queue_share", "lt", 0.2),
            Comparison("tpot_at_risk", "eq", False),
        ),
    )
    assert (rule.unless[0].only_warn, rule.min_bad, rule.priority, rule.effort) == (True, 30, 1, 2)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("connection_reuse", "conection_reuse", 6, 'recommendation "conection_reuse" is not known'),
        ("[connection_reuse]", "[]", 6, "recommends is missing"),
        ("[connection_reuse]", "connection_reuse", 6, "recommends takes a list"),
        ("[gateway]", "[gatway]", 7, 'Did you mean "gateway"?'),
        ("op: eq, value: gateway", "op: equals, value: gateway", 10, 'op "equals" is not known'),
        ("value: gateway", "values: gateway", 10, 'key "values" is not known'),
        (", value: gateway", "", 10, "a condition lacks value"),
        ("fact: queue_share", "fact: que_share", 11, 'Did you mean "queue_share"?'),
        ("value: 20%", "value: much", 11, "Write a number, or a share such as 30%"),
        ("value: 20%", "value: [1, 2]", 11, "value takes one value"),
        ("op: lt, value: 20%", "op: in, value: [1]", 11, "queue_share is a number"),
        ("value: gateway", "value: gatway", 10, 'stage is never "gatway"'),
        ("op: eq, value: gateway", "op: gt, value: gateway", 10, "stage is a word"),
        ("value: false", "value: 0", 12, "tpot_at_risk is true or false"),
        ("all:", "al:", 9, 'Did you mean "all"?'),
        ("finds:", "find:", 5, 'key "find" is not known'),
        ("    title: Ask the gateway team\n", "", 3, "title is missing"),
        ("why: Retries", "wy: Retries", 13, "each entry of unless needs when and why"),
        ("only_warn: true", "only_warn: maybe", 16, "Write true or false"),
        ("priority: 1", "priority: 7", 17, "Write a whole number from 1 to 3"),
        ("priority: 1", "min_bad: many", 17, "Write a whole number, 0 or more"),
    ],
)
def test_a_slip_in_a_rule_is_told_with_file_and_line(old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(OWN.replace(old, new))
    assert caught.value.message.startswith(f'ours.yaml, line {line}, "OUR-1": ')
    assert message in caught.value.message


def test_a_rule_without_evidence_is_refused() -> None:
    text = OWN[: OWN.index("    when:")]
    with pytest.raises(ConfigError, match="when is missing"):
        read(text)
