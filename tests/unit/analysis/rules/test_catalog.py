"""The knowledge base as it ships."""

from __future__ import annotations

from pathlib import Path

from analysis.rules.catalog import all_facts, built_in
from analysis.rules.rule import ENGINES
from analysis.rules.vocabulary import is_fact
from tests.support.shared import shared


def test_every_entry_of_the_knowledge_base_is_there() -> None:
    ids = {rule.id for rule in built_in().rules}
    assert {f"KB-{number:02d}" for number in range(1, 49)} <= ids


def test_every_rule_names_actions_for_each_engine_and_how_to_verify_them() -> None:
    incomplete = [
        rule.id
        for rule in built_in().rules
        if set(rule.actions) != set(ENGINES) or not rule.verify or not rule.trade_off or not rule.reported_effect
    ]
    assert incomplete == []


def test_every_recommendation_of_the_vocabulary_has_words_and_none_is_renamed() -> None:
    text = shared("incidents/VOCABULARY.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in text.split("## Recommendations")[1].splitlines() if line.startswith("| `")]
    assert set(listed) <= set(built_in().advice)


def test_every_fact_that_a_rule_reads_is_one_that_there_is() -> None:
    assert [name for name in all_facts(built_in()) if not is_fact(name)] == []


def test_the_data_lies_beside_the_code_and_holds_no_other_file() -> None:
    folder = Path(__file__).resolve().parents[4] / "analysis" / "rules" / "data"
    assert sorted(path.name for path in folder.iterdir()) == [
        "around.yaml", "conflicts.yaml", "cost.yaml", "decode.yaml", "first_token.yaml", "queue.yaml", "recommendations.yaml",
    ]  # fmt: skip
