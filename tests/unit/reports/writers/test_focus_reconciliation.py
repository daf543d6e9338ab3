"""The file against the ledger: equal to the last digit, or told which sum is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.aggregates.metered import MeteredCharges
from reports.writers.focus_reconciliation import reconciliation, total
from reports.writers.focus_rows import FocusOptions, cost_and_usage
from tests.unit.reports.writers.test_focus import month_edge


def judged(charges: MeteredCharges) -> dict[str, Any]:
    return reconciliation(charges, cost_and_usage(charges, FocusOptions()), "1.2")


def test_sums_that_agree_pass_and_the_file_stays_a_draft_without_a_bill() -> None:
    found = judged(month_edge())
    assert (found["state"], found["passed"], found["reasons"]) == ("DRAFT", True, ["no bill has been compared"])
    assert found["checks"] == [
        {"check": "EffectiveCost equals the ledger", "export": "0.01197", "ledger": "0.01197", "equal": True, "allowed": "0", "passed": True},
        {"check": "x_RequestCount plus requests left out equals the report", "export": "5", "ledger": "5", "equal": True, "allowed": "0", "passed": True},
        {"check": "no rule of FOCUS is broken", "export": "0", "ledger": "0", "equal": True, "allowed": "0", "passed": True},
        {"check": "EffectiveCost of x_Model harbor-9b equals the ledger", "export": "0.01197", "ledger": "0.01197", "equal": True, "allowed": "0", "passed": True},
        {"check": "EffectiveCost of SubAccountId acme equals the ledger", "export": "0.01197", "ledger": "0.01197", "equal": True, "allowed": "0", "passed": True},
    ]  # fmt: skip


def test_one_pico_dollar_too_much_in_the_ledger_fails() -> None:
    charges = month_edge()
    found = judged(replace(charges, ledger_pico=charges.ledger_pico + 1))
    assert found["passed"] is False
    assert found["reasons"] == ["failed: EffectiveCost equals the ledger", "no bill has been compared"]


def test_a_request_that_is_missing_fails() -> None:
    found = judged(replace(month_edge(), requests=6))
    assert found["reasons"] == [
        "failed: x_RequestCount plus requests left out equals the report", "no bill has been compared",
    ]  # fmt: skip


def test_a_tenant_that_the_file_lacks_fails() -> None:
    found = judged(replace(month_edge(), by_tenant={"acme": 11_970_000_000, "zeta": 5}))
    assert found["reasons"] == [
        "failed: EffectiveCost of SubAccountId zeta equals the ledger", "no bill has been compared",
    ]  # fmt: skip


def test_whole_tokens_of_a_sample_may_miss_the_ledger_by_a_token_a_row() -> None:
    charges = month_edge(sampling_rate=0.07)
    found = judged(charges)
    assert (found["sampled"], found["passed"]) == (True, True)
    assert found["sampling_rounding_usd"] != "0"
    first = found["checks"][0]
    assert (first["export"] == first["ledger"], first["equal"], first["passed"]) == (False, False, True)
    assert first["allowed"] != "0"
    assert judged(replace(charges, ledger_pico=charges.ledger_pico * 2))["passed"] is False


def test_amounts_are_added_exactly() -> None:
    assert (
        total(["0.000000000001"] * 3 + ["90000000000000000000000000.0"])
        == 90_000_000_000_000_000_000_000_000 * 10**12 + 3
    )
    assert total([]) == 0
