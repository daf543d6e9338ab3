"""A bill against the ledger at the prompt: by which rule a month has its verdict."""

from __future__ import annotations

import pytest

from analysis.result import ReconciledMonth, Reconciliation
from api.commands.reconcile import reconciliation_lines


@pytest.mark.parametrize(
    ("verdict", "unexplained", "share", "said"),
    [
        ("pass", "0.8", 0.163, "pass: the unexplained part is at most 1.00 USD, whatever its share"),
        ("pass", "40", 0.004, "pass: the unexplained part is at most 0.5 % of the bill"),
        ("warn", "40", 0.015, "warn: the unexplained part is at most 2 % of the bill"),
        ("fail", "40", 0.163, "fail: the unexplained part is above 2 % of the bill and above 1.00 USD"),
    ],
)
def test_a_month_says_by_which_rule_it_has_its_verdict(verdict: str, unexplained: str, share: float, said: str) -> None:
    month = ReconciledMonth("2026-03", "openai", "5", "4.2", {}, unexplained, share, verdict)
    found = Reconciliation("bill.csv", verdict, [month], [], [], 0, 1, [])
    assert reconciliation_lines(found)[-1].replace("\xa0", " ") == said
