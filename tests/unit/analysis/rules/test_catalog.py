"""The knowledge base as it ships, rules of a user, and the words of an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.causes.facts import KNOWN_FACTS
from analysis.rules.catalog import all_facts, built_in, explain, read_rules, with_rules
from analysis.rules.rule import ENGINES
from ingest.errors import ConfigError
from tests.support.shared import shared

OWN = """
rules:
  - id: OUR-1
    title: Ask the gateway team
    finds: The gateway takes the time.
    recommends: [connection_reuse]
    stages: [gateway]
    when: {fact: stage, op: eq, value: gateway}
"""


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


def test_every_fact_that_a_rule_reads_is_computed_or_waits_for_a_column() -> None:
    catalog = built_in()
    waiting = {
        name
        for rule in catalog.rules
        for name in rule.needs
        if name in ("adapter", "response_schema", "prompt_hash", "expert_load", "client_last_token_ns")
    }
    assert waiting == {"adapter", "response_schema", "prompt_hash", "expert_load", "client_last_token_ns"}
    of_waiting = {
        "adapter_miss_ratio", "first_of_schema_ratio", "repeated_prompt_share", "expert_imbalance", "client_tpot_ratio",
        "media_bad_share", "decode_floor_ratio",
    }  # fmt: skip
    assert set(all_facts(catalog)) - set(KNOWN_FACTS) <= of_waiting


def test_a_rule_of_a_user_joins_the_others_and_one_with_a_known_id_takes_its_place() -> None:
    catalog = with_rules(built_in(), OWN, "ours.yaml")
    assert len(catalog.rules) == len(built_in().rules) + 1
    replaced = with_rules(built_in(), OWN.replace("OUR-1", "KB-16"), "ours.yaml")
    entry = replaced.rule("KB-16")
    assert len(replaced.rules) == len(built_in().rules)
    assert entry is not None
    assert entry.title == "Ask the gateway team"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("connection_reuse", "conection_reuse"), 'recommendation "conection_reuse" is not known'),
        (("op: eq", "op: equals"), 'op "equals" is not known'),
        (("value: gateway", "values: gateway"), "a condition lacks value"),
        (("finds:", "find:"), 'key "find" is not known'),
        (("    title: Ask the gateway team\n", ""), "title is missing"),
    ],
)
def test_a_slip_in_a_rule_is_told_with_file_and_line(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(OWN.replace(*change), "ours.yaml", tuple(built_in().advice))
    assert caught.value.message.startswith("ours.yaml, line ")
    assert message in caught.value.message


def test_an_entry_is_explained_with_its_evidence_and_its_settings() -> None:
    text = explain("kb-02")
    assert text is not None
    assert text.splitlines()[0] == "KB-02  Raise the concurrency limit"
    assert "the likely cause is seats low" in text
    assert "raise --max-num-seqs" in text
    assert "Needs       batch_size, queue_ns" in text


def test_the_evidence_of_an_entry_is_a_sentence_and_its_settings_stand_in_one_column() -> None:
    lines = (explain("kb-09") or "").splitlines()
    assert next(line for line in lines if line.startswith("Evidence")) == (
        "Evidence    the likely cause is cache lost or (no cause is likely and the stage is one of prefill, queue "
        "and the cached share of the input < 10 % and the share of prefill in the time ≥ 30 %)"
    )
    assert [line[:13] for line in lines if line[:4] in ("vLLM", "SGLa", "Tens")] == [
        "vLLM        -",
        "SGLang      d",
        "TensorRT    e",
    ]


def test_a_recommendation_is_explained_by_the_entries_behind_it() -> None:
    text = explain("raise_batch_limit")
    assert text is not None
    assert "KB-02  Raise the concurrency limit" in text


def test_an_unknown_id_is_explained_by_nothing() -> None:
    assert explain("KB-99") is None


def test_the_data_lies_beside_the_code_and_holds_no_other_file() -> None:
    folder = Path(__file__).resolve().parents[4] / "analysis" / "rules" / "data"
    assert sorted(path.name for path in folder.iterdir()) == [
        "around.yaml", "conflicts.yaml", "cost.yaml", "decode.yaml", "first_token.yaml", "queue.yaml", "recommendations.yaml",
    ]  # fmt: skip
