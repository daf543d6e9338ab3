"""Evidence trees and what one rule says of one finding."""

from __future__ import annotations

import pytest

from analysis.rules.rule import Against, Comparison, Facts, Judged, Rule, Tree, facts_of, judge_rule

LONG_QUEUE = Comparison("queue_share", "ge", 0.5)
RULE = Rule(
    id="X-1",
    title="Do it",
    finds="A long queue.",
    recommends=("scale_out",),
    stages=("queue",),
    needs=("queue_ns",),
    when=LONG_QUEUE,
    unless=(Against(Comparison("kv_p90", "ge", 0.9), "Memory is full."),),
    min_bad=30,
    priority=1,
    effort=1,
    actions={"vllm": "a flag"},
    reported_effect="",
    precondition="",
    trade_off="",
    verify="",
    source="",
)
FACTS: Facts = {"stage": "queue", "queue_share": 0.7, "kv_p90": 0.3, "n_bad": 100.0}


@pytest.mark.parametrize(
    ("test", "facts", "expected"),
    [
        (Comparison("a", "ge", 1.0), {"a": 1.0}, True),
        (Comparison("a", "gt", 1.0), {"a": 1.0}, False),
        (Comparison("a", "le", 1.0), {"a": 1.0}, True),
        (Comparison("a", "lt", 1.0), {"a": 1.0}, False),
        (Comparison("a", "eq", "x"), {"a": "x"}, True),
        (Comparison("a", "ne", "x"), {"a": "x"}, False),
        (Comparison("a", "eq", True), {"a": False}, False),
        (Comparison("a", "in", ("x", "y")), {"a": "y"}, True),
        (Comparison("a", "not_in", ("x", "y")), {"a": "y"}, False),
        (Comparison("a", "ge", 1.0), {}, None),
        (Comparison("a", "ge", 1.0), {"a": None}, None),
        (Comparison("a", "ge", 1.0), {"a": "x"}, None),
    ],
)
def test_a_comparison_is_true_false_or_unknown(test: Comparison, facts: Facts, expected: bool | None) -> None:
    assert test.holds(facts) is expected


YES, NO, UNKNOWN = Comparison("yes", "eq", True), Comparison("yes", "eq", False), Comparison("nobody_knows", "eq", True)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Tree("all", (YES, YES)), True),
        (Tree("all", (YES, UNKNOWN)), None),
        (Tree("all", (NO, UNKNOWN)), False),
        (Tree("any", (NO, YES)), True),
        (Tree("any", (NO, UNKNOWN)), None),
        (Tree("any", (YES, UNKNOWN)), True),
        (Tree("any", (NO, NO)), False),
        (Tree("not", (NO,)), True),
        (Tree("not", (UNKNOWN,)), None),
    ],
)
def test_an_unknown_part_leaves_the_whole_unknown_unless_another_decides(tree: Tree, expected: bool | None) -> None:
    assert tree.holds({"yes": True}) is expected


def test_the_facts_of_a_tree_are_named_once_in_order_of_mention() -> None:
    tree = Tree(
        "all", (Comparison("b", "eq", 1.0), Tree("any", (Comparison("a", "eq", 1.0), Comparison("b", "eq", 2.0))))
    )
    assert facts_of(tree) == ("b", "a")


def test_a_rule_fires_on_its_evidence() -> None:
    assert judge_rule(RULE, FACTS, frozenset()) == Judged(RULE, "fires")


def test_a_rule_is_silent_where_its_evidence_is_not_there() -> None:
    assert judge_rule(RULE, {**FACTS, "queue_share": 0.49}, frozenset()) == Judged(RULE, "silent")


def test_a_rule_says_nothing_of_a_stage_that_is_not_its_own() -> None:
    assert judge_rule(RULE, {**FACTS, "stage": "decode"}, frozenset()) is None


@pytest.mark.parametrize("stage", ["before_first_token", "model"])
def test_a_rule_is_tried_for_a_time_that_holds_its_stage_and_names_what_parts_them(stage: str) -> None:
    judged = judge_rule(RULE, {"stage": stage, "n_bad": 100.0}, frozenset({"queue_ns"}))
    assert judged == Judged(RULE, "untested", ("queue_ns",))
    assert judge_rule(RULE, {"stage": "after_first_token", "n_bad": 100.0}, frozenset({"queue_ns"})) is None


def test_a_rule_without_its_column_is_untested() -> None:
    facts = {**FACTS, "queue_share": None}
    assert judge_rule(RULE, facts, frozenset({"queue_ns"})) == Judged(RULE, "untested", ("queue_ns",))


def test_a_rule_without_its_fact_names_the_fact() -> None:
    assert judge_rule(RULE, {**FACTS, "queue_share": None}, frozenset()) == Judged(RULE, "untested", ("queue_share",))


def test_a_rule_wants_its_support() -> None:
    judged = judge_rule(RULE, {**FACTS, "n_bad": 29.0}, frozenset())
    assert judged == Judged(RULE, "too_few", why="29 bad requests, 30 are needed")


def test_a_contra_indication_withholds_the_advice_and_says_why() -> None:
    judged = judge_rule(RULE, {**FACTS, "kv_p90": 0.9}, frozenset())
    assert judged == Judged(RULE, "withheld", why="Memory is full.")
