"""Rules applied to a finding: order, conflicts, warnings."""

from __future__ import annotations

from dataclasses import replace

from analysis.rules.catalog import built_in
from analysis.rules.recommend import MOST, Advice, Effect, advise, ranked
from analysis.rules.rule import Fact

QUEUE: dict[str, Fact] = {
    "stage": "queue", "kind": "latency", "metric": "ttft", "candidate": "traffic_growth", "cause": "load",
    "n_bad": 500.0, "queue_share": 0.9, "batch_p50": 20.0, "kv_p90": 0.5, "cached_ratio": 0.2,
    "offline_token_share": 0.3, "long_input_share": 0.1, "availability_breached": False,
}  # fmt: skip


def ids(advice: Advice) -> list[str]:
    return [item.id for item in advice.advised]


def told(**change: Fact) -> Advice:
    return advise({**QUEUE, **change}, frozenset(), built_in())


def test_what_undoes_the_cause_comes_before_what_relieves_it() -> None:
    assert ids(told()) == ["scale_out", "autoscale_policy", "rate_limit", "priority_scheduling"]


def test_no_list_is_long() -> None:
    assert ranked([(told().advised[0], None)] * (MOST + 2)) == tuple(range(MOST))


def test_the_larger_effect_comes_first_and_priority_decides_only_between_equals() -> None:
    scale, policy, limit, urgent = told().advised
    effects = [(urgent, None), (limit, Effect(0.55, 1.0)), (policy, Effect(0.97, 1.9)), (scale, Effect(0.97, 1.2))]
    assert [effects[place][0].id for place in ranked(effects)] == [
        "scale_out", "autoscale_policy", "rate_limit", "priority_scheduling",
    ]  # fmt: skip
    alike = [(urgent, Effect(0.970, 1.20)), (scale, Effect(0.972, 1.21))]
    assert [alike[place][0].id for place in ranked(alike)] == ["scale_out", "priority_scheduling"]
    warned = replace(scale, warning="It costs availability.")
    assert ranked([(warned, Effect(0.97, 1.2)), (urgent, Effect(0.97, 1.2))]) == (1, 0)
    easy = replace(scale, rule=replace(scale.rule, priority=3, effort=1))
    undoes = replace(scale, rule=replace(scale.rule, priority=1, effort=4))
    assert ranked([(easy, None), (undoes, None)]) == (1, 0)  # without a prediction, what undoes the cause


def test_an_advice_in_conflict_is_withheld_and_told_with_its_reason() -> None:
    found = told(candidate="replica_slow", cause="performance", stage="decode")
    assert ids(found) == ["replica_drain"]
    assert {entry.id: entry.why for entry in found.contraindicated}[
        "scale_out"
    ] == "Part of the pool is sick; repair that first."


def test_shedding_load_warns_where_availability_is_broken_too() -> None:
    (limit,) = [item for item in told(availability_breached=True).advised if item.id == "rate_limit"]
    assert limit.warning == "Refused requests count as failures; this moves loss from latency to availability." or (
        "moves loss from latency to availability" in limit.warning
    )


def test_speculation_is_not_advised_behind_a_queue() -> None:
    found = told(candidate="none", stage="decode", metric="tpot", batch_p50=8.0, queue_share=0.31)
    assert "speculative_decoding" not in ids(found)
    assert "speculative_decoding" in {entry.id for entry in found.contraindicated}


def test_a_higher_limit_is_withheld_where_memory_is_full() -> None:
    found = told(candidate="seats_low", cause="config", kv_p90=0.9)
    assert "raise_batch_limit" not in ids(found)
    assert "raise_batch_limit" in {entry.id for entry in found.contraindicated}


def test_rules_without_their_column_are_listed_with_it() -> None:
    untested = advise(QUEUE, frozenset({"cold_start", "adapter"}), built_in()).untested
    assert ["cold_start"] in [entry.missing for entry in untested if entry.id == "KB-08"]
    assert ["adapter"] in [entry.missing for entry in untested if entry.id == "KB-18"]
