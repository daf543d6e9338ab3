"""What to do."""

from __future__ import annotations

from dataclasses import replace

from reports.text import NBSP, Text
from reports.view import actions
from reports.view.blocks import Columns, Fact, Facts, Fold, Panel
from tests.support.results import quiet_week, week

EN = Text.of("en", "UTC")


def facts_of(block: object) -> dict[str, list[str]]:
    assert isinstance(block, Panel | Fold)
    facts = next(inner for inner in block.blocks if isinstance(inner, Facts))
    return {fact.label: lines(fact) for fact in facts.facts}


def lines(fact: Fact) -> list[str]:
    return ["".join(piece.text for piece in line).replace(NBSP, " ") for line in fact.lines]


def test_there_are_at_most_three_cards_in_order_of_rank() -> None:
    cards = actions.cards(week(), EN)
    assert [(card.title, card.id, card.anchor) for card in cards] == [
        ("1. Bring back the two missing replicas", "scale_out", "a1"),
        ("2. Scale on waiting requests, not on GPU use", "autoscale_policy", "a2"),
        ("3. Send overflow to eu-west", "region_routing", "a3"),
    ]
    assert cards[0].lift.replace(NBSP, " ") == "Predicted: code.ttft 88.3 % → 99.5 %; all four met"
    assert cards[2].lift == "Not predicted: effect on eu-west is unknown"


def test_the_same_advice_for_one_incident_is_one_card() -> None:
    advice = actions.advice_of(week())
    assert [(a.recommendation.id, len(a.findings), len(a.predictions)) for a in advice] == [
        ("scale_out", 4, 4),
        ("autoscale_policy", 1, 0),
        ("region_routing", 1, 0),
    ]


def test_findings_of_one_place_without_an_incident_are_grouped_too() -> None:
    result = week()
    apart = [replace(finding, incident=None) for finding in result.findings]
    assert [len(a.findings) for a in actions.advice_of(replace(result, findings=apart))] == [4, 1, 1]
    elsewhere = [apart[0], replace(apart[1], segment={"model": "lm-small"})]
    assert [len(a.findings) for a in actions.advice_of(replace(result, findings=elsewhere))] == [1, 1, 1, 1]


def test_a_prediction_that_keeps_fewer_objectives_says_how_many() -> None:
    result = week()
    weak = replace(result.findings[1].recommendations[0].predicted, attainment=0.93)  # type: ignore[type-var]
    second = replace(
        result.findings[1], recommendations=[replace(result.findings[1].recommendations[0], predicted=weak)]
    )
    cards = actions.cards(replace(result, findings=[result.findings[0], second, *result.findings[2:]]), EN)
    assert cards[0].lift.endswith("; 3 of 4 met")


def test_an_action_in_full_tells_evidence_engines_prediction_and_check() -> None:
    found = facts_of(actions.blocks(week(), EN)[0])
    assert found["Evidence"] == [
        "replicas serving 3 → 1",
        "bad share, segment 2.1 % → 28.5 %",
        "mean queue 0.120 s → 1.19 s",
        "last version 2026.03.0",
        "94 % of 212 bad requests over the limit explained by it; 4 % would be bad on a normal day too",
    ]
    assert found["Do, vLLM"] == ["more replicas behind the router; -dp within a host"]
    assert found["Predicted"] == [
        "code.ttft 88.3 % → 99.5 % (99.5–99.5)",
        "rag.ttft 93.9 % → 100 % (99.8–100)",
        "code.e2e 93.9 % → 97.0 % (96.9–97.0)",
        "chat.ttft 94.98 % → 99.6 % (99.5–99.6)",
        "Basis: the stage set back to its normal of the same hour and kind of request. "
        "Left out: slower decoding is left as it was.",
    ]
    assert found["Effect on cost"] == [
        "16.67 USD over the incident: 2 further replicas, at the price of the replica hours."
    ]
    assert found["Reported elsewhere"] == [
        "queue falls faster than load once use leaves 100 %; conditions differ (KB-01)"
    ]


def test_a_finding_is_told_in_full_by_its_first_action_only() -> None:
    second = facts_of(actions.blocks(week(), EN)[1])
    assert second["Finding"] == ["as above: Two of three lm-large replicas missing in us-east"]
    assert "Evidence" not in second


def test_rejected_and_untested_remedies_stand_beside_each_other() -> None:
    sides = actions.blocks(week(), EN)[-1]
    assert isinstance(sides, Columns)
    assert [facts_of(side) for side in sides.blocks] == [
        {
            "raise_batch_limit": ["replicas were missing, not seats"],
            "rightsize_replicas": ["the pool was short of capacity"],
        },
        {"prompt_layout": ["log prompt_hash"], "warm_pool": ["log cold_start"]},
    ]


def test_without_findings_the_place_of_the_cards_says_why() -> None:
    result = week()
    assert actions.nothing_to_do(result, EN) is None
    assert actions.nothing_to_do(quiet_week(), EN) == "Nothing: no objective is breached or endangered."
    assert str(actions.nothing_to_do(replace(result, findings=[]), EN)).startswith("No cause explains the breach.")
    unjudged = [replace(objective, verdict="unknown") for objective in result.objectives]
    assert str(actions.nothing_to_do(replace(result, findings=[], objectives=unjudged), EN)).startswith(
        "Nothing can be advised"
    )
    silent = [replace(finding, recommendations=[]) for finding in result.findings]
    assert str(actions.nothing_to_do(replace(result, findings=silent), EN)).startswith("A stage is found")
    assert "Evidence" in facts_of(actions.blocks(replace(result, findings=silent), EN)[0])
