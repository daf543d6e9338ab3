"""FOCUS as data: each rule catches the row that breaks it."""

from __future__ import annotations

import pytest

from reports.writers.focus_rows import FocusOptions, cost_and_usage
from reports.writers.focus_schema import MOST_FAULTS, faults
from tests.unit.reports.writers.test_focus import month_edge


def rows() -> list[dict[str, str | None]]:
    return cost_and_usage(month_edge(), FocusOptions()).rows(named=True)


def test_rows_as_written_have_no_fault() -> None:
    assert faults(rows(), "1.2") == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"BilledCost": None}, "BilledCost is null"),
        ({"BilledCost": "1"}, 'BilledCost is "1", which is no decimal'),
        ({"RegionId": ""}, 'RegionId is "", which is no text'),
        ({"ChargePeriodStart": "2026-10-31"}, 'ChargePeriodStart is "2026-10-31", which is no time'),
        ({"x_RequestCount": "-1"}, 'x_RequestCount is "-1", which is no count'),
        ({"Tags": '{"a":{}}'}, 'Tags is {"a":{}}, which is no flat JSON object'),
        ({"Tags": "x"}, "Tags is x, which is no flat JSON object"),
        ({"ChargeClass": "Late"}, 'ChargeClass is "Late", and must be one of Correction'),
        ({"ListCost": "0.0037"}, "ListCost 0.0037 is not ListUnitPrice 0.6 x PricingQuantity 0.006"),
        ({"ChargePeriodEnd": "2026-10-31T00:00:00Z"}, "ChargePeriodEnd is not after ChargePeriodStart"),
        ({"ChargePeriodEnd": "2026-11-02T00:00:00Z"}, "the charge period does not lie in the billing period"),
        ({"ChargeCategory": "Tax"}, "ConsumedQuantity is given, and the charge is no usage"),
    ],
)
def test_a_row_that_breaks_a_rule_is_told(change: dict[str, str | None], fault: str) -> None:
    first, *_ = rows()
    assert faults([{**first, **change}], "1.2") == [f"row 1: {fault}"]


def test_columns_of_another_version_are_told() -> None:
    assert faults(rows()[:1], "1.4") == [
        "row 1: its columns are not those of the version: CommitmentDiscountStatus, HostProviderName, InvoiceDetailId, "
        "PricingCurrency, PricingCurrencyContractedUnitPrice, PricingCurrencyEffectiveCost, PricingCurrencyListUnitPrice, "
        "ProviderName, PublisherName, ServiceProviderName"
    ]
    first, *_ = rows()
    assert faults([dict(reversed(first.items()))], "1.2") == [
        "row 1: its columns are not those of the version: another order"
    ]


def test_only_the_first_faults_are_listed() -> None:
    broken = [{**row, "BilledCost": None, "ListCost": None, "EffectiveCost": None} for row in rows()]
    assert len(faults(broken, "1.2")) == MOST_FAULTS
