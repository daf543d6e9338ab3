"""FOCUS as data: the columns of Cost and Usage per version, and a check of rows against them.

Input: rows as text. Output: the columns of a file, or the list of faults.
Source: FOCUS 1.2 and 1.4. 1.4 has ServiceProviderName and HostProviderName where 1.2 has ProviderName and
PublisherName. Conditional columns whose condition is not met (commitments, reservations, allocation) are left out;
CommitmentDiscountStatus and PricingCurrency* stand in the 1.2 file because validators of 1.2 ask for them. Our own
columns begin with x_.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Literal

VERSIONS: tuple[str, ...] = ("1.2", "1.4")
PRECISION, SCALE = 38, 12

Kind = Literal["decimal", "text", "time", "json", "count"]
Row = Mapping[str, str | None]


@dataclass(frozen=True)
class FocusColumn:
    name: str
    kind: Kind
    null: bool  # whether it may be null
    level: Literal["M", "R", "C", "x"] = "M"
    versions: tuple[str, ...] = VERSIONS
    allowed: tuple[str, ...] = ()


def _both(name: str, kind: Kind, null: bool, level: Literal["M", "R", "C", "x"] = "M", *allowed: str) -> FocusColumn:
    return FocusColumn(name, kind, null, level, allowed=allowed)


COLUMNS: tuple[FocusColumn, ...] = (
    _both("AvailabilityZone", "text", True, "R"),
    _both("BilledCost", "decimal", False),
    _both("BillingAccountId", "text", False),
    _both("BillingAccountName", "text", True),
    _both("BillingAccountType", "text", False, "C"),
    _both("BillingCurrency", "text", False),
    _both("BillingPeriodEnd", "time", False),
    _both("BillingPeriodStart", "time", False),
    _both("ChargeCategory", "text", False, "M", "Usage", "Purchase", "Tax", "Credit", "Adjustment"),
    _both("ChargeClass", "text", True, "M", "Correction"),
    _both("ChargeDescription", "text", True),
    _both("ChargeFrequency", "text", False, "R", "One-Time", "Recurring", "Usage-Based"),
    _both("ChargePeriodEnd", "time", False),
    _both("ChargePeriodStart", "time", False),
    FocusColumn(
        "CommitmentDiscountStatus", "text", null=True, level="C", versions=("1.2",), allowed=("Used", "Unused")
    ),
    _both("ConsumedQuantity", "decimal", True, "C"),
    _both("ConsumedUnit", "text", True, "C"),
    _both("ContractedCost", "decimal", False),
    _both("ContractedUnitPrice", "decimal", True, "C"),
    _both("EffectiveCost", "decimal", False),
    FocusColumn("HostProviderName", "text", null=True, versions=("1.4",)),
    FocusColumn("InvoiceDetailId", "text", null=True, level="C", versions=("1.4",)),
    _both("InvoiceId", "text", True, "C"),
    _both("InvoiceIssuerName", "text", False),
    _both("ListCost", "decimal", False),
    _both("ListUnitPrice", "decimal", True, "C"),
    _both("PricingCategory", "text", True, "C", "Standard", "Dynamic", "Committed", "Other"),
    FocusColumn("PricingCurrency", "text", null=True, level="C", versions=("1.2",)),
    FocusColumn("PricingCurrencyContractedUnitPrice", "decimal", null=True, level="C", versions=("1.2",)),
    FocusColumn("PricingCurrencyEffectiveCost", "decimal", null=True, level="C", versions=("1.2",)),
    FocusColumn("PricingCurrencyListUnitPrice", "decimal", null=True, level="C", versions=("1.2",)),
    _both("PricingQuantity", "decimal", True),
    _both("PricingUnit", "text", True),
    FocusColumn("ProviderName", "text", null=False, versions=("1.2",)),
    FocusColumn("PublisherName", "text", null=False, versions=("1.2",)),
    _both("RegionId", "text", True, "C"),
    _both("RegionName", "text", True, "C"),
    _both("ResourceId", "text", True, "C"),
    _both("ResourceName", "text", True, "C"),
    _both("ResourceType", "text", True, "C"),
    _both("ServiceCategory", "text", False, "M", "AI and Machine Learning"),
    _both("ServiceName", "text", False),
    FocusColumn("ServiceProviderName", "text", null=False, versions=("1.4",)),
    _both("ServiceSubcategory", "text", False, "R", "Generative AI"),
    _both("SkuId", "text", True, "C"),
    _both("SkuMeter", "text", True, "C"),
    _both("SkuPriceDetails", "json", True, "C"),
    _both("SkuPriceId", "text", True, "C"),
    _both("SubAccountId", "text", True, "C"),
    _both("SubAccountName", "text", True, "C"),
    _both("SubAccountType", "text", True, "C"),
    _both("Tags", "json", True, "C"),
    _both("x_UserId", "text", True, "x"),
    _both("x_Scenario", "text", True, "x"),
    _both("x_Model", "text", True, "x"),
    _both("x_TokenType", "text", True, "x"),
    _both("x_RequestCount", "count", False, "x"),
    _both("x_GoodRequestCount", "count", False, "x"),
    _both("x_StatusClass", "text", False, "x"),
    _both("x_CostBasis", "text", False, "x"),
    _both("x_PriceBookVersion", "text", False, "x"),
    _both("x_ReportRevision", "text", False, "x"),
    _both("x_SourceHash", "text", False, "x"),
)

_DECIMAL = re.compile(r"-?\d+\.\d+")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_COUNT = re.compile(r"\d+")
_UNIT_PRICES = (("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice"))
MOST_FAULTS = 20


def columns_of(version: str) -> tuple[FocusColumn, ...]:
    """Columns of a version, in file order."""
    return tuple(column for column in COLUMNS if version in column.versions)


def faults(rows: Sequence[Row], version: str, first: int = 1) -> list[str]:
    """What breaks the rules of the version, the first 20: each with its row (from `first`), column and value."""
    columns = columns_of(version)
    found: list[str] = []
    for number, row in enumerate(rows, first):
        found += [f"row {number}: {fault}" for fault in _row_faults(row, columns)]
        if len(found) >= MOST_FAULTS:
            break
    return found[:MOST_FAULTS]


def _row_faults(row: Row, columns: Sequence[FocusColumn]) -> list[str]:
    names = [column.name for column in columns]
    if list(row) != names:
        odd = sorted(set(row) ^ set(names))
        return [f"its columns are not those of the version: {', '.join(odd) or 'another order'}"]
    found = [fault for column in columns if (fault := _value_fault(column, row[column.name]))]
    return found or [fault for fault in _relation_faults(row) if fault]


def _value_fault(column: FocusColumn, value: str | None) -> str | None:
    if value is None:
        return None if column.null else f"{column.name} is null"
    shape = {"decimal": _DECIMAL, "time": _TIME, "count": _COUNT}.get(column.kind)
    if value == "" or (shape is not None and not shape.fullmatch(value)):
        return f'{column.name} is "{value}", which is no {column.kind}'
    if column.kind == "json" and not _is_flat_object(value):
        return f"{column.name} is {value}, which is no flat JSON object"
    if column.allowed and value not in column.allowed:
        return f'{column.name} is "{value}", and must be one of {", ".join(column.allowed)}'
    return None


def _is_flat_object(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and all(isinstance(v, str | int | float | bool | None) for v in value.values())


def _relation_faults(row: Row) -> list[str | None]:
    """Rules between columns: price x quantity = cost in decimals, ends after starts, quantities of usage alone."""
    quantity = row["PricingQuantity"]
    found: list[str | None] = []
    with localcontext() as context:
        context.prec = 2 * PRECISION
        for cost, price in _UNIT_PRICES:
            unit = row[price]
            if (
                unit is not None
                and quantity is not None
                and Decimal(row[cost] or "0") != Decimal(unit) * Decimal(quantity)
            ):
                found.append(f"{cost} {row[cost]} is not {price} {unit} x PricingQuantity {quantity}")
    for what in ("BillingPeriod", "ChargePeriod"):
        if (row[f"{what}Start"] or "") >= (row[f"{what}End"] or ""):
            found.append(f"{what}End is not after {what}Start")
    inside = (row["BillingPeriodStart"] or "") <= (row["ChargePeriodStart"] or "") and (
        row["ChargePeriodEnd"] or ""
    ) <= (row["BillingPeriodEnd"] or "")
    found.append(None if inside else "the charge period does not lie in the billing period")
    if row["ChargeCategory"] != "Usage" and row["ConsumedQuantity"] is not None:
        found.append("ConsumedQuantity is given, and the charge is no usage")
    return found
