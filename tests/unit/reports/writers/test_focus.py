"""The finance bundle: the case at the month's edge, whole rows, and proof that every file carries."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.aggregates.metered import MeteredCharges, metered
from analysis.ledger import keep_ledger
from analysis.prices import read_prices
from reports.writers.focus import focus_bundle
from reports.writers.focus_rows import FocusOptions, cost_and_usage
from reports.writers.focus_schema import VERSIONS, columns_of, faults
from tests.support.money import ns, requests
from tests.support.shared import shared

TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")


def month_edge(**more: Any) -> MeteredCharges:
    """Charges of the five requests of the case."""

    def row(at: str, user: str | None, scenario: str, counts: tuple[int, int, int]) -> dict[str, Any]:
        dims = {"provider": "internal", "model": "harbor-9b", "user": user, "tenant": "acme", "scenario": scenario}
        return {"started_ns": ns(at), **dims, **dict(zip(TOKENS, counts, strict=True)), **more}

    rows = requests(
        row("2026-10-31T23:59:59Z", "u-1", "rag", (10_000, 4_000, 500)),
        row("2026-11-01T00:00:00Z", "u-1", "rag", (2_000, 0, 100)),
        row("2026-11-10T09:05:00Z", "u-2", "chat", (3_000, 1_000, 200)),
        row("2026-11-10T09:40:00Z", "u-2", "chat", (5_000, 1_000, 300)),
        row("2026-11-28T23:30:00Z", None, "rag", (1_000, 0, 50)),
    )
    book = replace(read_prices(shared("cases/12-finance-rows-at-the-month-edge/prices.yaml")), builtin=False)
    ledger = keep_ledger(rows, None, book)
    return metered(ledger.requests, ledger)


def written(charges: MeteredCharges, version: str = "1.2") -> list[dict[str, str]]:
    data = focus_bundle(charges, FocusOptions(version=version))["cost_and_usage.csv"].decode()
    return list(csv.DictReader(io.StringIO(data, newline="")))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_months_meters_and_sums_are_those_of_the_case(version: str) -> None:
    rows = written(month_edge(), version)
    tokens: Counter[tuple[str, str]] = Counter()
    costs: dict[str, dict[str, Decimal]] = {}
    for row in rows:
        month = row["BillingPeriodStart"]
        tokens[month, row["SkuMeter"]] += int(Decimal(row["ConsumedQuantity"]))
        for name in ("BilledCost", "EffectiveCost", "ListCost"):
            costs.setdefault(month, dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost"), Decimal(0)))
            costs[month][name] += Decimal(row[name])
    october, november = "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"
    assert tokens == {
        (october, "Input Tokens"): 6_000, (october, "Cached Input Tokens"): 4_000, (october, "Output Tokens"): 500,
        (november, "Input Tokens"): 9_000, (november, "Cached Input Tokens"): 2_000, (november, "Output Tokens"): 650,
    }  # fmt: skip
    assert costs == {
        october: dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost"), Decimal("0.0051")),
        november: dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost"), Decimal("0.00687")),
    }
    assert {row["BillingPeriodEnd"] for row in rows if row["BillingPeriodStart"] == october} == {november}
    assert sum(int(row["x_RequestCount"]) for row in rows) == 5
    assert all(Decimal(r["ListUnitPrice"]) * Decimal(r["PricingQuantity"]) == Decimal(r["ListCost"]) for r in rows)


def test_a_row_of_1_2_in_full() -> None:
    row = cost_and_usage(month_edge(), FocusOptions(source_hash="ab12")).row(1, named=True)
    assert row == {
        "AvailabilityZone": None,
        "BilledCost": "0.0006",
        "BillingAccountId": "internal",
        "BillingAccountName": "Internal inference platform",
        "BillingAccountType": "Organization",
        "BillingCurrency": "USD",
        "BillingPeriodEnd": "2026-11-01T00:00:00Z",
        "BillingPeriodStart": "2026-10-01T00:00:00Z",
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": "harbor-9b cached input tokens, scenario rag",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": "2026-11-01T00:00:00Z",
        "ChargePeriodStart": "2026-10-31T00:00:00Z",
        "CommitmentDiscountStatus": None,
        "ConsumedQuantity": "4000.0",
        "ConsumedUnit": "Tokens",
        "ContractedCost": "0.0006",
        "ContractedUnitPrice": "0.15",
        "EffectiveCost": "0.0006",
        "InvoiceId": None,
        "InvoiceIssuerName": "Internal inference platform",
        "ListCost": "0.0006",
        "ListUnitPrice": "0.15",
        "PricingCategory": "Standard",
        "PricingCurrency": "USD",
        "PricingCurrencyContractedUnitPrice": "0.15",
        "PricingCurrencyEffectiveCost": "0.0006",
        "PricingCurrencyListUnitPrice": "0.15",
        "PricingQuantity": "0.004",
        "PricingUnit": "1000000 Tokens",
        "ProviderName": "Internal inference platform",
        "PublisherName": "Internal inference platform",
        "RegionId": None,
        "RegionName": None,
        "ResourceId": "internal/harbor-9b",
        "ResourceName": "harbor-9b",
        "ResourceType": "Model Deployment",
        "ServiceCategory": "AI and Machine Learning",
        "ServiceName": "LLM Inference",
        "ServiceSubcategory": "Generative AI",
        "SkuId": "internal/harbor-9b/cached_input",
        "SkuMeter": "Cached Input Tokens",
        "SkuPriceDetails": '{"x_Model":"harbor-9b","x_Tier":"standard","x_TokenType":"cached_input"}',
        "SkuPriceId": "prices.yaml:internal/harbor-9b:2026-10-01:cached_input",
        "SubAccountId": "acme",
        "SubAccountName": "acme",
        "SubAccountType": "Tenant",
        "Tags": '{"scenario":"rag"}',
        "x_UserId": "u-1",
        "x_Scenario": "rag",
        "x_Model": "harbor-9b",
        "x_TokenType": "cached_input",
        "x_RequestCount": "0",
        "x_GoodRequestCount": "0",
        "x_StatusClass": "unjudged",
        "x_CostBasis": "list",
        "x_PriceBookVersion": "prices.yaml (1 entry, sha256 87ada8b6bd4d)",
        "x_ReportRevision": "1",
        "x_SourceHash": "ab12",
    }


def test_1_4_names_providers_anew_and_leaves_the_old_names_out() -> None:
    names = [column.name for column in columns_of("1.4")]
    assert {"ServiceProviderName", "HostProviderName", "InvoiceDetailId"} <= set(names)
    assert not {"ProviderName", "PublisherName", "PricingCurrency"} & set(names)


def test_an_unknown_user_is_null_and_not_an_empty_text() -> None:
    data = focus_bundle(month_edge(), FocusOptions())["cost_and_usage.csv"]
    frame = pl.read_csv(data, infer_schema=False)
    assert frame["x_UserId"].null_count() == 2
    assert not (frame == "").select(pl.any_horizontal(pl.all()).any()).item()


def test_parquet_holds_exact_decimals_instants_and_counts() -> None:
    frame = pl.read_parquet(focus_bundle(month_edge(), FocusOptions())["cost_and_usage.parquet"])
    assert frame.schema["BilledCost"] == pl.Decimal(38, 12)
    assert frame["BilledCost"].to_list()[:3] == [Decimal("0.0036"), Decimal("0.0006"), Decimal("0.0009")]
    assert frame["ChargePeriodStart"][0] == datetime(2026, 10, 31, tzinfo=UTC)
    assert frame["x_RequestCount"].sum() == 5


def test_the_manifest_proves_the_files() -> None:
    files = focus_bundle(month_edge(), FocusOptions())
    manifest = json.loads(files["manifest.json"])
    assert {name: told["sha256"] for name, told in manifest["files"].items()} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"
    }
    assert (manifest["rows"], manifest["request_count"], manifest["sums"]["EffectiveCost"]) == (10, 5, "0.01197")


def test_the_same_charges_give_the_same_bytes() -> None:
    assert focus_bundle(month_edge(), FocusOptions()) == focus_bundle(month_edge(), FocusOptions())


def test_every_month_is_open_and_bears_the_latest_request() -> None:
    lines = focus_bundle(month_edge(), FocusOptions())["billing_period.csv"].decode().split("\r\n")
    assert lines == [
        "InvoiceIssuerName,BillingPeriodStart,BillingPeriodEnd,BillingPeriodStatus,BillingPeriodCreated,BillingPeriodLastUpdated",
        "Internal inference platform,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Open,2026-10-01T00:00:00Z,2026-11-28T23:30:00Z",
        "Internal inference platform,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,Open,2026-11-01T00:00:00Z,2026-11-28T23:30:00Z",
        "",
    ]


def test_metadata_says_type_and_precision_of_every_column() -> None:
    metadata = json.loads(
        focus_bundle(month_edge(), FocusOptions(version="1.4", generator="tailwise 9"))["metadata.json"]
    )
    columns = metadata["Schema"]["ColumnDefinition"]
    assert [column["ColumnName"] for column in columns] == [column.name for column in columns_of("1.4")]
    assert columns[1] == {
        "ColumnName": "BilledCost", "DataType": "Decimal", "NullsAllowed": False, "NumericPrecision": 38, "NumberScale": 12,
    }  # fmt: skip
    assert (metadata["DataGenerator"], metadata["Schema"]["FocusVersion"]) == ("tailwise 9", "1.4")


def test_no_charge_at_all_gives_files_without_rows() -> None:
    nothing = month_edge(model="stranger")
    files = focus_bundle(nothing, FocusOptions())
    assert json.loads(files["manifest.json"])["rows"] == 0
    assert json.loads(files["reconciliation.json"])["unpriced"] == {"requests": 5, "tokens": 22_150}
    assert pl.read_parquet(files["cost_and_usage.parquet"]).columns == [c.name for c in columns_of("1.2")]


@pytest.mark.parametrize("version", VERSIONS)
def test_hostile_names_pass_through_unharmed(version: str) -> None:
    charges = month_edge(user='=cmd|"x"\r\n,', tenant="<b>", region="zürich")
    table = cost_and_usage(charges, FocusOptions(version=version))
    assert faults(table.rows(named=True), version) == []
    assert {row["x_UserId"] for row in written(charges, version)} == {'=cmd|"x"\r\n,'}


def test_a_name_of_a_megabyte_is_told_by_its_beginning_and_the_sums_still_agree() -> None:
    files = focus_bundle(month_edge(tenant="t" * 1_000_000), FocusOptions())
    assert len(files["cost_and_usage.csv"]) < 100_000
    assert json.loads(files["reconciliation.json"])["passed"] is True
