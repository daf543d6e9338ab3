"""A bill against the ledger at the prompt: each month says by which rule it has its verdict."""

from __future__ import annotations

from analysis.result import ReconciledMonth, Reconciliation
from api.commands.reconcile import reconciliation_lines


def test_a_month_ends_with_the_rule_of_its_verdict() -> None:
    says = "the unexplained part is above 2 % of the bill and above 1 USD"
    month = ReconciledMonth("2026-03", "openai", "5", "4.2", {}, "0.8", 0.163, "fail", says)
    found = Reconciliation("bill.csv", "fail", [month], [], [], 0, 1, [])
    assert reconciliation_lines(found)[-1] == f"fail: {says}"
