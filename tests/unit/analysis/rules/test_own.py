"""Rules, recommendations and thresholds of a house."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.rules.catalog import built_in
from analysis.rules.own import read_catalog, with_rules
from analysis.rules.recommend import advise
from analysis.rules.rule import Fact, judge_rule
from ingest.errors import ConfigError, UnreadableInput

RULE = """
rules:
  - id: OUR-1
    title: Ask the gateway team
    finds: The gateway takes the time.
    recommends: [ask_team]
    when: {fact: segment.region, op: eq, value: us-east}
recommendations: {ask_team: Ask the team}
"""


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        with_rules(built_in(), text, "ours.yaml")
    return caught.value.message


def test_a_rule_of_a_house_joins_the_others_and_advises() -> None:
    catalog = with_rules(built_in(), RULE, "ours.yaml")
    facts: dict[str, Fact] = {"stage": "gateway", "candidate": "another", "segment.region": "us-east", "n_bad": 30.0}
    advice = advise(facts, frozenset(), catalog)
    assert len(catalog.rules) == len(built_in().rules) + 1
    assert [(item.id, item.rule.id) for item in advice.advised if item.rule.id == "OUR-1"] == [("ask_team", "OUR-1")]
    assert catalog.advice["ask_team"].title == "Ask the team"
    assert catalog.source == "rules of this version, under ours.yaml: 1 rule and 0 thresholds"
    assert advise({**facts, "segment.region": "eu"}, frozenset(), catalog).advised == ()


def test_a_built_in_rule_is_replaced_only_if_that_is_said() -> None:
    text = RULE.replace("OUR-1", "KB-16")
    assert refused(text).startswith('ours.yaml, line 3, "KB-16": KB-16 is a built-in rule ("Repair the path between')
    replaced = with_rules(built_in(), text.replace("KB-16", "KB-16\n    override: true"), "ours.yaml")
    rule = replaced.rule("KB-16")
    assert rule is not None
    assert (len(replaced.rules), rule.title) == (len(built_in().rules), "Ask the gateway team")


def test_a_threshold_moves_the_limit_of_a_built_in_rule() -> None:
    facts: dict[str, Fact] = {
        "stage": "queue", "candidate": "traffic_growth", "offline_token_share": 0.1, "n_bad": 40.0,
    }  # fmt: skip
    states = []
    for text in ("", "thresholds: {KB-06.offline_token_share: 20%}", "thresholds: {KB-06.min_bad: 50}"):
        rule = with_rules(built_in(), text, "ours.yaml").rule("KB-06")
        assert rule is not None
        judged = judge_rule(rule, facts, frozenset())
        states.append(judged.state if judged is not None else None)
    assert states == ["fires", "silent", "too_few"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule: []", 'ours.yaml, line 1: key "rule" is not known. Known: recommendations, rules, thresholds. Did you'),
        (RULE + "thresholds:\n  KB-6.queue_share: 1\n", 'ours.yaml, line 10, "thresholds": rule "KB-6" is not known'),
        ("thresholds: {KB-06: 1}", '"KB-06" is no threshold. Write rule.fact'),
        ("thresholds: {KB-06.kv_p90: 1}", 'KB-06 has no limit on "kv_p90". Known: min_bad, offline_token_share.'),
        ("thresholds: {KB-06.candidate: 1}", 'KB-06 has no limit on "candidate"'),
        ("thresholds: {KB-06.offline_token_share: much}", "Write a number, or a share such as 30%"),
        ("thresholds: {KB-06.min_bad: 1.5}", "write a whole number, 0 or more"),
        ("recommendations: {scale_out: More}", 'recommendation "scale_out" is built in; give yours another id'),
        (RULE.replace("OUR-1", "OUR-1\n    override: true"), "no built-in rule OUR-1 is there to override"),
        (RULE.replace("recommendations", "  - id: our-1\n    title: t\n    finds: f\n    recommends: [scale_out]\n"
                      "    when: {fact: stage, op: eq, value: queue}\nrecommendations"), "the file has a rule our-1 already"),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_its_remedy(text: str, message: str) -> None:
    assert message in refused(text)


def test_a_file_that_is_none_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="cannot be read as text"):
        read_catalog(tmp_path / "absent.yaml")
    (tmp_path / "rules.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableInput, match="cannot be read as text"):
        read_catalog(tmp_path / "rules.yaml")
