"""Facts of attributes that a mapping file promoted: each rule fires, is silent, just misses, or is not judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import polars as pl
import pytest

from analysis.causes.promoted_facts import batch_step, promoted_facts
from analysis.causes.scene import Scene
from analysis.rules.catalog import built_in
from analysis.rules.rule import Fact, judge_rule
from tests.support.service import Row, service
from tests.unit.analysis.causes.candidates.scenes import scene

Rows = list[Row]
NAMES = [f"n-{index}" for index in range(5)]
FAULT_NS = 3600 * 10**9  # the scene's incident begins an hour after the first request


def with_dimension(row: Row, **dimensions: Any) -> Row:
    return row | {"dimensions": json.dumps({name: str(value) for name, value in dimensions.items()})}


def first_uses(name: str, factor: float, *, within: bool) -> Rows:
    """Requests that name one of five; the first on each replica (within the incident, or of all) prefills longer."""
    rows, seen = service(), set()
    start = rows[0]["started_ns"]
    found = []
    for number, row in enumerate(rows):
        value = NAMES[number % 5]
        key = (row["replica"], value)
        counts = not within or row["started_ns"] - start >= FAULT_NS
        longer = factor if counts and key not in seen else 1.0
        seen |= {key} if counts else set()
        found.append(with_dimension(row, **{name: value}) | {"prefill_ns": round(row["prefill_ns"] * longer)})
    return found


def hashes(repeated: float) -> Rows:
    """Every request has a hash of its own, but for a share of them that have one in common."""
    return [
        with_dimension(row, prompt_hash="same" if number % 100 < 100 * repeated else number)
        for number, row in enumerate(service())
    ]


def experts(load: float) -> Rows:
    return [with_dimension(row, expert_load=load) for row in service()]


def clients(factor: float) -> Rows:
    return [
        with_dimension(
            row,
            client_last_token_ns=row["started_ns"] + row["ttft_ns"] + round(row["decode_ns"] * factor),
        )
        for row in service()
    ]


def images(factor: float) -> Rows:
    """Every third request has an image and prefills so many times as long as text of its length."""
    return [
        row | ({"image_input_tokens": 600, "prefill_ns": round(row["prefill_ns"] * factor)} if number % 3 == 0 else {})
        for number, row in enumerate(service())
    ]


CASES: dict[str, tuple[str, str, Callable[[float], Rows], tuple[float, float, float]]] = {
    # rule: its stage, its fact, rows by strength, strengths on which it fires, just does not, and after the remedy
    "KB-14": ("prefill", "media_bad_share", images, (3.0, 1.4, 1.0)),
    "KB-17": ("prefill", "first_of_schema_ratio", lambda f: first_uses("response_schema", f, within=False), (3.0, 1.3, 1.0)),
    "KB-18": ("prefill", "adapter_miss_ratio", lambda f: first_uses("adapter", f, within=True), (3.0, 1.3, 1.0)),
    "KB-31": ("decode", "expert_imbalance", experts, (1.5, 1.29, 1.0)),
    "KB-32": ("after_first_token", "client_tpot_ratio", clients, (2.0, 1.4, 1.0)),
    "KB-45": ("cost_input", "repeated_prompt_share", hashes, (0.2, 0.02, 0.0)),
}  # fmt: skip


def facts_of(found: Scene) -> dict[str, Fact]:
    media = found.inside["image_input_tokens"].drop_nulls()
    bad = found.inside.filter(pl.col("image_input_tokens") > 0) if media.len() else found.inside
    return promoted_facts(bad, found)


@lru_cache
def judged(identity: str, strength: float) -> tuple[str, Fact]:
    """What the rule says of rows of that strength, and its fact."""
    stage, fact, make, _ = CASES[identity]
    found = scene(rows=make(strength))
    facts = {"stage": stage, "candidate": "none", "n_bad": 100.0, **facts_of(found)}
    rule = built_in().rule(identity)
    assert rule is not None
    answer = judge_rule(rule, facts, frozenset(name for name in rule.needs if found.rows.lacks(name)))
    assert answer is not None
    return answer.state, facts[fact]


@pytest.mark.parametrize("identity", CASES)
def test_the_rule_fires_on_rows_that_carry_its_evidence(identity: str) -> None:
    assert judged(identity, CASES[identity][3][0])[0] == "fires"


@pytest.mark.parametrize("identity", CASES)
def test_it_is_silent_on_a_near_miss_and_once_the_advice_is_followed(identity: str) -> None:
    _, near, followed = CASES[identity][3]
    assert [judged(identity, strength)[0] for strength in (near, followed)] == ["silent", "silent"]


@pytest.mark.parametrize("identity", CASES)
def test_it_is_not_judged_without_its_attribute(identity: str) -> None:
    rule, found = built_in().rule(identity), scene()
    assert rule is not None
    facts = {"stage": CASES[identity][0], "candidate": "none", "n_bad": 100.0, **facts_of(found)}
    answer = judge_rule(rule, facts, frozenset(name for name in rule.needs if found.rows.lacks(name)))
    assert answer is not None
    assert (answer.state, answer.missing) == ("untested", rule.needs)


def test_the_ratio_of_first_uses_is_that_of_the_same_work() -> None:
    value = judged("KB-18", 3.0)[1]
    assert isinstance(value, float)
    assert value == pytest.approx(3.0, rel=0.02)


def test_an_attribute_that_is_no_number_says_nothing() -> None:
    words = {"expert_load": "even", "client_last_token_ns": "later"}
    rows = [with_dimension(row, **words) for row in service()]
    facts = facts_of(scene(rows=rows))
    assert (facts["expert_imbalance"], facts["client_tpot_ratio"]) == (None, None)


def batches(step: float) -> pl.DataFrame:
    """Fifty requests of each batch size; time per token grows by 1 % per sequence, and by a step above sixteen."""
    sizes = [float(size) for size in range(1, 33) for _ in range(50)]
    return pl.DataFrame(
        {"batch_size": sizes, "m_tpot": [0.02 * (1 + 0.01 * size) * (step if size > 16 else 1.0) for size in sizes]}
    )


def test_a_step_above_a_batch_size_is_told_from_steady_growth() -> None:
    assert batch_step(batches(1.8)) == pytest.approx(1.8, rel=0.1)
    assert (batch_step(batches(1.0)) or 0) < 1.1
    assert (batch_step(batches(1.3)) or 0) < 1.5
    assert batch_step(batches(1.8).head(20)) is None
