"""Rows of FOCUS Cost and Usage: how each column follows from a metered charge.

Input: MeteredCharges. Output: the rows as text, one per meter; null is null, never empty text or 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from analysis.aggregates.metered import MeteredCharges
from analysis.money import PICO, usd_text
from reports.writers.focus_schema import columns_of

SKU_METERS: dict[str, str] = {
    "input": "Input Tokens",
    "cached_input": "Cached Input Tokens",
    "cache_write_5m": "Cache Write Tokens 5m",
    "cache_write_1h": "Cache Write Tokens 1h",
    "audio_input": "Audio Input Tokens",
    "image_input": "Image Input Tokens",
    "output": "Output Tokens",
    "reasoning": "Reasoning Tokens",
    "audio_output": "Audio Output Tokens",
}
PRICING_TOKENS = 1_000_000
PROVIDERS: dict[str, str] = {  # names under which providers send invoices
    "anthropic": "Anthropic",
    "aws": "AWS",
    "aws.bedrock": "AWS",
    "azure": "Microsoft",
    "azure.ai.openai": "Microsoft",
    "gcp.vertex_ai": "Google Cloud",
    "google": "Google",
    "groq": "Groq",
    "internal": "Internal inference platform",
    "mistral": "Mistral AI",
    "openai": "OpenAI",
}
UNNAMED = "unknown provider"


@dataclass(frozen=True)
class FocusOptions:
    """What the charges themselves do not say.

    `revision`: of the report that the file belongs to; `source_hash`: over the uploads behind the rows.
    """

    version: str = "1.2"
    revision: str = "1"
    source_hash: str = ""
    generator: str = "tailwise"


@dataclass(frozen=True)
class _Row:
    """One metered row as plain values, with the price it points to."""

    period: datetime
    period_end: datetime
    dims: dict[str, str | None]
    tags: dict[str, str]
    status: str
    meter: str
    tokens: int
    requests: int
    good: int
    pico: int
    listed_pico: int
    net: int | None
    listed: int | None
    price_id: str | None
    tier: str
    basis: str


Value = Callable[[_Row], str | None]


def cost_and_usage(charges: MeteredCharges, options: FocusOptions) -> pl.DataFrame:
    """The rows as text, in the columns of the version; null is null, never empty text or 0."""
    rows = list(_rows(charges))
    values = _values(charges, options)
    names = [column.name for column in columns_of(options.version)]
    return pl.DataFrame({name: pl.Series(name, [values[name](row) for row in rows], dtype=pl.String) for name in names})


def _rows(charges: MeteredCharges) -> list[_Row]:
    found = []
    for row in charges.rows.iter_rows(named=True):
        price = None if row["price"] is None else charges.prices[row["price"]]
        meter = row["meter"]
        listed, net = (None, None) if price is None else (price.listed.get(meter), price.net.get(meter))
        assumed = price is not None and meter == "cached_input" and (meter, "input") in price.assumed
        basis = "estimated-upper-bound" if assumed else "list" if listed == net else "contract"
        scenario = {"scenario": row["scenario"]} if row["scenario"] is not None else {}
        found.append(
            _Row(
                period=instant(row["period_ns"]),
                period_end=instant(row["period_ns"] + charges.grain_ns),
                dims={name: row[name] for name in ("tenant", "user", "scenario", "model", "region")}
                | {"provider": row["provider"] or (price.provider if price else None)},
                tags=scenario | {name: row[name] for name in charges.further if row[name] is not None},
                status=row["status"],
                meter=meter,
                tokens=row["tokens"],
                requests=row["requests"],
                good=row["good_requests"],
                pico=int(row["pico"]),
                listed_pico=int(row["listed_pico"]),
                net=net,
                listed=listed,
                price_id=None if price is None else f"{price.id}:{meter}",
                tier="standard" if price is None or price.tier is None else price.tier,
                basis=basis,
            )
        )
    return found


def _values(charges: MeteredCharges, options: FocusOptions) -> dict[str, Value]:
    """How each column follows from a row."""
    return (
        _AMOUNTS
        | _TIMES
        | _PARTIES
        | _SKU
        | {
            "x_PriceBookVersion": lambda _: charges.price_book,
            "x_ReportRevision": lambda _: options.revision,
            "x_SourceHash": lambda _: options.source_hash or "none",
        }
    )


def _empty(_: _Row) -> None:
    return None


def _cost(row: _Row) -> str:
    return decimal_text(row.pico)


def _net_price(row: _Row) -> str | None:
    return None if row.net is None else decimal_text(row.net * PRICING_TOKENS)


def _list_price(row: _Row) -> str | None:
    return None if row.listed is None else decimal_text(row.listed * PRICING_TOKENS)


def _name(row: _Row) -> str:
    """Name under which the provider sends invoices."""
    provider = row.dims["provider"]
    return UNNAMED if provider is None else PROVIDERS.get(provider, provider)


def _description(row: _Row) -> str:
    words = f"{row.dims['model'] or 'unknown model'} {SKU_METERS[row.meter].lower()}"
    return words + (f", scenario {row.dims['scenario']}" if row.dims["scenario"] else "")


def _price_details(row: _Row) -> str | None:
    if row.price_id is None:
        return None
    return _compact({"x_Model": row.dims["model"], "x_Tier": row.tier, "x_TokenType": row.meter})


def _joined(*parts: str | None) -> str | None:
    return None if parts[1] is None else "/".join(part for part in parts if part is not None)


def decimal_text(pico: int) -> str:
    """Decimal text with a point in it, as importers want it: 6.0, 0.0036."""
    text = usd_text(pico)
    return text if "." in text else f"{text}.0"


def instant(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 1_000_000_000, tz=UTC)


def _month_of(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1, tzinfo=UTC)


def _month_after(moment: datetime) -> datetime:
    return datetime(moment.year + moment.month // 12, moment.month % 12 + 1, 1, tzinfo=UTC)


def time_text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _compact(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


_AMOUNTS: dict[str, Value] = {
    "BilledCost": _cost,
    "BillingCurrency": lambda _: "USD",
    "ConsumedQuantity": lambda row: f"{row.tokens}.0",
    "ConsumedUnit": lambda _: "Tokens",
    "ContractedCost": _cost,
    "ContractedUnitPrice": _net_price,
    "EffectiveCost": _cost,
    "ListCost": lambda row: decimal_text(row.listed_pico),
    "ListUnitPrice": _list_price,
    "PricingCategory": lambda _: "Standard",
    "PricingCurrency": lambda _: "USD",
    "PricingCurrencyContractedUnitPrice": _net_price,
    "PricingCurrencyEffectiveCost": _cost,
    "PricingCurrencyListUnitPrice": _list_price,
    "PricingQuantity": lambda row: decimal_text(row.tokens * PICO // PRICING_TOKENS),
    "PricingUnit": lambda _: f"{PRICING_TOKENS} Tokens",
    "x_RequestCount": lambda row: str(row.requests),
    "x_GoodRequestCount": lambda row: str(row.good),
    "x_StatusClass": lambda row: row.status,
    "x_CostBasis": lambda row: row.basis,
}
_TIMES: dict[str, Value] = {
    "BillingPeriodEnd": lambda row: time_text(_month_after(row.period)),
    "BillingPeriodStart": lambda row: time_text(_month_of(row.period)),
    "ChargeCategory": lambda _: "Usage",
    "ChargeClass": _empty,
    "ChargeDescription": _description,
    "ChargeFrequency": lambda _: "Usage-Based",
    "ChargePeriodEnd": lambda row: time_text(row.period_end),
    "ChargePeriodStart": lambda row: time_text(row.period),
    "CommitmentDiscountStatus": _empty,
    "InvoiceDetailId": _empty,
    "InvoiceId": _empty,
}
_PARTIES: dict[str, Value] = {
    "AvailabilityZone": _empty,
    "BillingAccountId": lambda row: row.dims["provider"] or UNNAMED,
    "BillingAccountName": _name,
    "BillingAccountType": lambda _: "Organization",
    "HostProviderName": _name,
    "InvoiceIssuerName": _name,
    "ProviderName": _name,
    "PublisherName": _name,
    "RegionId": lambda row: row.dims["region"],
    "RegionName": lambda row: row.dims["region"],
    "ServiceProviderName": _name,
    "SubAccountId": lambda row: row.dims["tenant"] or None,
    "SubAccountName": lambda row: row.dims["tenant"] or None,
    "SubAccountType": lambda row: "Tenant" if row.dims["tenant"] else None,
    "x_UserId": lambda row: row.dims["user"] or None,
}
_SKU: dict[str, Value] = {
    "ResourceId": lambda row: _joined(row.dims["provider"], row.dims["model"]),
    "ResourceName": lambda row: row.dims["model"],
    "ResourceType": lambda row: None if row.dims["model"] is None else "Model Deployment",
    "ServiceCategory": lambda _: "AI and Machine Learning",
    "ServiceName": lambda _: "LLM Inference",
    "ServiceSubcategory": lambda _: "Generative AI",
    "SkuId": lambda row: _joined(row.dims["provider"], row.dims["model"], row.meter),
    "SkuMeter": lambda row: SKU_METERS[row.meter],
    "SkuPriceDetails": _price_details,
    "SkuPriceId": lambda row: row.price_id,
    "Tags": lambda row: _compact(row.tags) if row.tags else None,
    "x_Scenario": lambda row: row.dims["scenario"] or None,
    "x_Model": lambda row: row.dims["model"],
    "x_TokenType": lambda row: row.meter,
}
