"""Facts that rules read."""

from __future__ import annotations

import pytest

from analysis.causes.explain import Explanation, Investigation
from analysis.causes.facts import SceneFacts, gini
from analysis.rules.vocabulary import is_fact
from tests.support.service import Row, in_fault
from tests.unit.analysis.causes.candidates.scenes import INTERVAL, SETTINGS, scene
from tests.unit.analysis.causes.goals import a_goal


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 1.0, 1.0], 0.0), ([0.0, 0.0, 1.0], 2 / 3), ([1.0, 3.0], 0.25), ([], None), ([0.0, 0.0], None)],
)
def test_the_gini_of_waits(values: list[float], expected: float | None) -> None:
    assert gini(values) == (expected if expected is None else pytest.approx(expected))


def slow(row: Row, minute: float) -> None:
    if in_fault(minute):
        row["queue_ms"] += 3000 * row["wait"]


def test_every_fact_has_a_known_name_and_what_was_not_measured_is_none() -> None:
    investigation = Investigation(scene(slow), SETTINGS)
    entry = investigation.explain(a_goal(), INTERVAL)
    facts = SceneFacts(investigation, frozenset({"latency"})).of(entry, Explanation("queue", None, 0.0), None)
    assert [name for name in facts if not is_fact(name)] == []
    assert (facts["stage"], facts["candidate"], facts["cause"]) == ("queue", "none", "none")
    assert facts["queue_share"] == pytest.approx(1.0, abs=0.1)
    assert (facts["reasoning_share"], facts["itl_growth"], facts["length_finish_share"]) == (None, None, None)
    assert facts["kv_p90"] == 0.3
    assert facts["attempts_per_request"] == 1.0
