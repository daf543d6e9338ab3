"""Facts that rules may read, and what those can say."""

from __future__ import annotations

import pytest

from analysis.causes.goal import KINDS
from analysis.causes.prediction import UNDO
from analysis.rules.vocabulary import CANDIDATES, KNOWN_FACTS, TEXTS, is_fact, is_text


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("queue_share", True, False),
        ("stage", True, True),
        ("segment.region", True, True),
        ("segment.", False, True),
        ("que_share", False, False),
    ],
)
def test_a_fact_is_known_by_its_name(name: str, known: bool, text: bool) -> None:
    assert (is_fact(name), is_text(name)) == (known, text)


def test_no_fact_is_named_twice() -> None:
    assert len(set(KNOWN_FACTS)) == len(KNOWN_FACTS)


def test_causes_that_a_prediction_undoes_and_kinds_of_objectives_are_words_of_the_facts() -> None:
    assert set(UNDO) <= set(CANDIDATES)
    assert {"latency", *KINDS.values()} == set(TEXTS["kind"])
