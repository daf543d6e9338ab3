"""Each rule of the knowledge base: fires on its evidence, near misses, and is untested without its column."""

from __future__ import annotations

import pytest

from analysis.rules.catalog import built_in
from analysis.rules.rule import Fact, judge_rule

Facts = dict[str, Fact]
NONE: Facts = {"candidate": "none"}
FIRES: dict[str, tuple[Facts, Facts]] = {  # id: the facts it fires on, the change with which it no longer does
    "KB-01": ({"stage": "queue", "candidate": "replica_missing"}, {"candidate": "seats_low"}),
    "KB-02": ({"stage": "queue", "candidate": "seats_low", "kv_p90": 0.3}, {"candidate": "traffic_growth"}),
    "KB-03": ({"stage": "queue", **NONE, "kv_p90": 0.9, "preempted_share": 0.02}, {"kv_p90": 0.89}),
    "KB-04": ({"stage": "queue", **NONE, "queue_gini": 0.31}, {"queue_gini": 0.3}),
    "KB-05": ({"stage": "queue", **NONE, "behind_long_share": 0.5}, {"behind_long_share": 0.49}),
    "KB-06": ({"stage": "queue", "candidate": "traffic_growth", "offline_token_share": 0.3}, {"offline_token_share": 0.04}),
    "KB-07": ({"stage": "queue", "candidate": "arrivals_segment"}, {"candidate": "input_growth"}),
    "KB-08": ({"stage": "queue", "candidate": "cold_start"}, {"candidate": "traffic_growth"}),
    "KB-09": ({"stage": "prefill", **NONE, "cached_ratio": 0.09, "prefill_share": 0.3}, {"cached_ratio": 0.1}),
    "KB-10": ({"stage": "prefill", "candidate": "cache_lost", "cache_kept": 0.5, "session_spread_growth": 1.3}, {"session_spread_growth": 1.1}),
    "KB-11": ({"stage": "prefill", **NONE, "gap_hit_loss": 0.4, "kv_p90": 0.8}, {"gap_hit_loss": 0.3}),
    "KB-12": ({"stage": "prefill", **NONE, "long_input_share": 0.5}, {"long_input_share": 0.49}),
    "KB-13": ({"stage": "prefill", **NONE, "prefill_floor_ratio": 3.0, "queue_share": 0.1}, {"prefill_floor_ratio": 2.9}),
    "KB-14": ({"stage": "prefill", "media_bad_share": 0.5}, {"media_bad_share": 0.4}),
    "KB-15": ({"stage": "unattributed", "ingress_part": 0.21}, {"ingress_part": 0.2}),
    "KB-16": ({"stage": "network", "candidate": "slow_network"}, {"candidate": "slow_retrieval"}),
    "KB-16g": ({"stage": "gateway", "candidate": "slow_gateway"}, {"candidate": "errors"}),
    "KB-17": ({"stage": "prefill", "first_of_schema_ratio": 1.5}, {"first_of_schema_ratio": 1.4}),
    "KB-18": ({"stage": "prefill", "adapter_miss_ratio": 1.5}, {"adapter_miss_ratio": 1.4}),
    "KB-19": ({"stage": "guardrail"}, {"stage": "retrieval"}),
    "KB-20": ({"stage": "decode", "metric": "ttfa", "reasoning_share": 0.5}, {"reasoning_share": 0.4}),
    "KB-21": ({"stage": "retrieval"}, {"stage": "rerank"}),
    "KB-21r": ({"stage": "rerank"}, {"stage": "retrieval"}),
    "KB-22": ({"stage": "decode", **NONE, "metric": "tpot", "tpot_batch_r2": 0.51, "tpot_batch_slope": 0.001, "batch_growth": 1.3}, {"tpot_batch_r2": 0.5}),
    "KB-23": ({"stage": "decode", **NONE, "metric": "itl_max", "itl_growth": 1.5}, {"itl_growth": 1.4}),
    "KB-24": ({"stage": "decode", **NONE, "metric": "tpot", "tpot_small_batch_over_limit": True}, {"tpot_small_batch_over_limit": False}),
    "KB-25": ({"stage": "decode", **NONE, "metric": "tpot", "batch_p50": 16.0, "queue_share": 0.1}, {"batch_p50": 17.0}),
    "KB-26": ({"stage": "decode", "candidate": "decode_slow"}, {"candidate": "engine_slow"}),
    "KB-27": ({"stage": "decode", **NONE, "metric": "tpot", "tpot_context_r2": 0.31, "long_input_share": 0.3}, {"long_input_share": 0.2}),
    "KB-28": ({"stage": "decode", **NONE, "preempted_share": 0.06, "preempted_growth": 3.0}, {"preempted_share": 0.05}),
    "KB-29": ({"stage": "decode", **NONE, "metric": "tpot", "tpot_batch_r2": 0.04, "decode_floor_ratio": 2.1}, {"tpot_batch_r2": 0.05}),
    "KB-30": ({"stage": "decode", **NONE, "tpot_batch_step": 1.5}, {"tpot_batch_step": 1.4}),
    "KB-31": ({"stage": "decode", "expert_imbalance": 0.31}, {"expert_imbalance": 0.3}),
    "KB-32": ({"stage": "after_first_token", "client_tpot_ratio": 1.5}, {"client_tpot_ratio": 1.4}),
    "KB-33": ({"stage": "decode", **NONE, "metric": "e2e", "long_output_share": 0.5}, {"long_output_share": 0.4}),
    "KB-34": ({"stage": "decode", "length_finish_share": 0.06, "length_finish_growth": 2.1}, {"length_finish_growth": 2.0}),
    "KB-35": ({"stage": "decode", **NONE, "metric": "perceived", "unstreamed_share": 0.5}, {"unstreamed_share": 0.4}),
    "KB-36": ({"stage": "postprocess"}, {"stage": "guardrail"}),
    "KB-37": ({"stage": "tool"}, {"stage": "decode"}),
    "KB-38": ({"stage": "error", "timeout_share": 0.5, "timeout_spike": 0.5}, {"timeout_spike": 0.4}),
    "KB-39": ({"stage": "gateway", "candidate": "slow_gateway", "attempts_per_request": 1.21}, {"attempts_per_request": 1.2}),
    "KB-40": ({"stage": "decode", "candidate": "replica_slow"}, {"candidate": "version_slow"}),
    "KB-40v": ({"stage": "error", "candidate": "errors", "failure_dimension": "deployment_version"}, {"failure_dimension": "replica"}),
    "KB-41": ({"stage": "client", "candidate": "cancels", "cancelled_with_output": 0.2}, {"cancelled_with_output": 0.1}),
    "KB-42": ({"stage": "cost_capacity", "busy_share": 0.39, "batch_of_capacity": 0.9}, {"busy_share": 0.4}),
    "KB-43": ({"stage": "cost_cache", "candidate": "cost_cache"}, {"candidate": "cost_input"}),
    "KB-44": ({"stage": "cost_model", "candidate": "cost_model"}, {"candidate": "cost_user"}),
    "KB-45": ({"stage": "cost_input", "repeated_prompt_share": 0.05}, {"repeated_prompt_share": 0.04}),
    "KB-46": ({"stage": "cost_input", "candidate": "cost_user"}, {"candidate": "cost_input"}),
    "KB-47": ({"stage": "cost_input", "failed_cost_share": 0.031}, {"failed_cost_share": 0.03}),
    "KB-48": ({"stage": "prefill", "kind": "latency", **NONE, "structural_share": 0.31}, {"structural_share": 0.3}),
    "TW-01": ({"stage": "decode", "candidate": "pauses"}, {"candidate": "replica_slow"}),
    "TW-02": ({"stage": "decode", "candidate": "engine_slow"}, {"candidate": "replica_slow"}),
    "TW-04": ({"stage": "error", "candidate": "refused"}, {"candidate": "errors"}),
    "TW-03": ({"stage": "tool", "cause": "dependency"}, {"cause": "none"}),
}  # fmt: skip
RULES = {rule.id: rule for rule in built_in().rules}


def test_every_rule_has_its_case() -> None:
    assert sorted(FIRES) == sorted(RULES)


@pytest.mark.parametrize("identity", sorted(RULES))
def test_the_rule_fires_on_its_evidence(identity: str) -> None:
    judged = judge_rule(RULES[identity], {"n_bad": 100.0, **FIRES[identity][0]}, frozenset())
    assert judged is not None
    assert judged.state == "fires"


@pytest.mark.parametrize("identity", sorted(RULES))
def test_the_rule_does_not_fire_on_a_near_miss(identity: str) -> None:
    facts, change = FIRES[identity]
    judged = judge_rule(RULES[identity], {"n_bad": 100.0, **facts, **change}, frozenset())
    assert judged is None or judged.state != "fires"


def elsewhere(identity: str) -> Facts:
    """Facts of the rule's stage with another cause, and nothing else known."""
    return {"n_bad": 100.0, "stage": FIRES[identity][0]["stage"], "candidate": "another"}


BY_COLUMN = [  # the others have the stage itself as evidence, which is not there without the column
    name for name in sorted(RULES) if RULES[name].needs and RULES[name].when.holds(elsewhere(name)) is not True
]


@pytest.mark.parametrize("identity", BY_COLUMN)
def test_the_rule_is_untested_without_its_column(identity: str) -> None:
    rule = RULES[identity]
    judged = judge_rule(rule, elsewhere(identity), frozenset(rule.needs))
    assert judged is not None
    assert (judged.state, judged.missing) == ("untested", rule.needs)


@pytest.mark.parametrize("identity", [name for name in sorted(RULES) if RULES[name].min_bad])
def test_the_rule_wants_thirty_bad_requests(identity: str) -> None:
    judged = judge_rule(RULES[identity], {**FIRES[identity][0], "n_bad": 29.0}, frozenset())
    assert judged is not None
    assert judged.state == "too_few"
