"""A figure of evidence in one line."""

from __future__ import annotations

import pytest

from analysis.result import Evidence
from reports.text import NBSP
from reports.view.evidence import evidence_words


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        (Evidence("mean queue", 1.19, 0.12, "s", 771), "mean queue 0.120 s → 1.19 s"),
        (Evidence("bad share", 0.285, 0.021, "ratio"), "bad share 2.1 % → 28.5 %"),
        (Evidence("last version", "2026.03.0", None, ""), "last version 2026.03.0"),
        (Evidence("spend", "12.5", "10", "USD"), "spend 10.00 USD → 12.50 USD"),
    ],
)
def test_the_baseline_stands_in_front_of_the_figure(evidence: Evidence, shown: str) -> None:
    assert evidence_words(evidence).replace(NBSP, " ") == shown
