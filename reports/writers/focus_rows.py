"""Rows of FOCUS Cost and Usage: how each column follows from a metered charge.

Input: MeteredCharges. Output: the rows as text, one per meter; null is null, never empty text or 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from analysis.aggregates.metered import MeteredCharges
from analysis.money import PICO
from reports.names import MOST_NAME, capped
from reports.writers.focus_schema import SCALE, columns_of

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


_DIMS = ("tenant", "user", "scenario", "model", "region")
_PROVIDER = pl.coalesce("provider", "price_provider")
_NAME = _PROVIDER.replace_strict(PROVIDERS, default=_PROVIDER, return_dtype=pl.String).fill_null(UNNAMED)
_NOTHING = pl.lit(None, pl.String)


def cost_and_usage(charges: MeteredCharges, options: FocusOptions) -> pl.DataFrame:
    """The rows as text, in the columns of the version; null is null, never empty text or 0."""
    values = _AMOUNTS | _times(charges.grain_ns) | _PARTIES | _SKU
    values |= {
        "x_PriceBookVersion": pl.lit(charges.price_book),
        "x_ReportRevision": pl.lit(options.revision),
        "x_SourceHash": pl.lit(options.source_hash or "none"),
    }
    names = [column.name for column in columns_of(options.version)]
    return _prepared(charges).select(values[name].alias(name) for name in names)


def _prepared(charges: MeteredCharges) -> pl.DataFrame:
    """Metered rows with what their price says, and the JSON of tags and price details."""
    names = (*_DIMS, "provider", *charges.further)
    rows = charges.rows.with_columns(_text(name) for name in names)
    rows = rows.with_columns(_capped(rows.get_column(name)) for name in names)
    rows = rows.join(_price_table(charges), on=["price", "meter"], how="left", maintain_order="left")
    tagged = ["scenario", *charges.further]
    tags = rows.select(tagged).unique()
    tags = tags.with_columns(pl.Series("tags", [_tags(row) for row in tags.iter_rows(named=True)], dtype=pl.String))
    details = rows.select("model", "tier", "meter").unique()
    texts = [_compact({"x_Model": m, "x_Tier": t, "x_TokenType": meter}) for m, t, meter in details.iter_rows()]
    details = details.with_columns(pl.Series("details", texts, dtype=pl.String))
    return rows.join(tags, on=tagged, how="left", nulls_equal=True, maintain_order="left").join(
        details, on=["model", "tier", "meter"], how="left", nulls_equal=True, maintain_order="left"
    )


def _price_table(charges: MeteredCharges) -> pl.DataFrame:
    """What a row's price says of its meter: per token, id, tier, basis."""
    rows = []
    for at, price in enumerate(charges.prices):
        for meter in SKU_METERS:
            listed, net = price.listed.get(meter), price.net.get(meter)
            assumed = meter == "cached_input" and (meter, "input") in price.assumed
            basis = "estimated-upper-bound" if assumed else "list" if listed == net else "contract"
            rows.append(
                (at, meter, listed, net, f"{price.id}:{meter}", price.tier or "standard", price.provider, basis)
            )
    schema = {
        "price": pl.Int32, "meter": pl.String, "listed": pl.Int64, "net": pl.Int64, "price_id": pl.String,
        "tier": pl.String, "price_provider": pl.String, "basis": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _text(name: str) -> pl.Expr:
    """The dimension, null where it is empty."""
    return pl.when(pl.col(name) != "").then(pl.col(name)).alias(name)


def _capped(values: pl.Series) -> pl.Series:
    """A dimension whose longest values are told by their beginning."""
    long = [name for name in values.unique().cast(pl.String).drop_nulls() if len(name) > MOST_NAME]
    return values.cast(pl.String).replace(long, [capped(name) for name in long]) if long else values


def _tags(row: dict[str, str | None]) -> str | None:
    known = {name: value for name, value in row.items() if value is not None}
    return _compact(known) if known else None


def _compact(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def decimal_text(pico: pl.Expr) -> pl.Expr:
    """Decimal text of pico-USD with a point in it, as importers want it: 6.0, 0.0036. Amounts are not negative."""
    rest = (pico % PICO).cast(pl.String).str.zfill(SCALE).str.strip_chars_end("0")
    return pl.format("{}.{}", (pico // PICO).cast(pl.String), pl.when(rest == "").then(pl.lit("0")).otherwise(rest))


def _unit_price(per_token: str) -> pl.Expr:
    return pl.when(pl.col(per_token).is_not_null()).then(
        decimal_text(pl.col(per_token).cast(pl.Int128) * PRICING_TOKENS)
    )


def _time(ns: pl.Expr) -> pl.Expr:
    return pl.from_epoch(ns, time_unit="ns").dt.strftime("%Y-%m-%dT%H:%M:%SZ")


def _month(offset: str) -> pl.Expr:
    first = pl.from_epoch("period_ns", time_unit="ns").dt.truncate("1mo").dt.offset_by(offset)
    return first.dt.strftime("%Y-%m-%dT%H:%M:%SZ")


def _joined(*parts: pl.Expr) -> pl.Expr:
    """Parts with slashes between them, unknown ones left out; null without a model."""
    return pl.when(pl.col("model").is_not_null()).then(pl.concat_str(parts, separator="/", ignore_nulls=True))


def instant(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 1_000_000_000, tz=UTC)


def time_text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


_COST = decimal_text(pl.col("pico"))
_SKU_METER = pl.col("meter").replace_strict(SKU_METERS, return_dtype=pl.String)
_SCENARIO = pl.format(", scenario {}", pl.col("scenario")).fill_null("")

_AMOUNTS: dict[str, pl.Expr] = {
    "BilledCost": _COST,
    "BillingCurrency": pl.lit("USD"),
    "ConsumedQuantity": pl.format("{}.0", pl.col("tokens")),
    "ConsumedUnit": pl.lit("Tokens"),
    "ContractedCost": _COST,
    "ContractedUnitPrice": _unit_price("net"),
    "EffectiveCost": _COST,
    "ListCost": decimal_text(pl.col("listed_pico")),
    "ListUnitPrice": _unit_price("listed"),
    "PricingCategory": pl.lit("Standard"),
    "PricingCurrency": pl.lit("USD"),
    "PricingCurrencyContractedUnitPrice": _unit_price("net"),
    "PricingCurrencyEffectiveCost": _COST,
    "PricingCurrencyListUnitPrice": _unit_price("listed"),
    "PricingQuantity": decimal_text(pl.col("tokens").cast(pl.Int128) * (PICO // PRICING_TOKENS)),
    "PricingUnit": pl.lit(f"{PRICING_TOKENS} Tokens"),
    "x_RequestCount": pl.col("requests").cast(pl.String),
    "x_GoodRequestCount": pl.col("good_requests").cast(pl.String),
    "x_StatusClass": pl.col("status"),
    "x_CostBasis": pl.col("basis").fill_null("list"),
}


def _times(grain_ns: int) -> dict[str, pl.Expr]:
    return {
        "BillingPeriodEnd": _month("1mo"),
        "BillingPeriodStart": _month("0mo"),
        "ChargeCategory": pl.lit("Usage"),
        "ChargeClass": _NOTHING,
        "ChargeDescription": pl.concat_str(
            pl.col("model").fill_null("unknown model"), pl.lit(" "), _SKU_METER.str.to_lowercase(), _SCENARIO
        ),
        "ChargeFrequency": pl.lit("Usage-Based"),
        "ChargePeriodEnd": _time(pl.col("period_ns") + grain_ns),
        "ChargePeriodStart": _time(pl.col("period_ns")),
        "CommitmentDiscountStatus": _NOTHING,
        "InvoiceDetailId": _NOTHING,
        "InvoiceId": _NOTHING,
    }


_SKU: dict[str, pl.Expr] = {
    "ResourceId": _joined(_PROVIDER, pl.col("model")),
    "ResourceName": pl.col("model"),
    "ResourceType": pl.when(pl.col("model").is_not_null()).then(pl.lit("Model Deployment")),
    "ServiceCategory": pl.lit("AI and Machine Learning"),
    "ServiceName": pl.lit("LLM Inference"),
    "ServiceSubcategory": pl.lit("Generative AI"),
    "SkuId": _joined(_PROVIDER, pl.col("model"), pl.col("meter")),
    "SkuMeter": _SKU_METER,
    "SkuPriceDetails": pl.when(pl.col("price_id").is_not_null()).then(pl.col("details")),
    "SkuPriceId": pl.col("price_id"),
    "Tags": pl.col("tags"),
    "x_Scenario": pl.col("scenario"),
    "x_Model": pl.col("model"),
    "x_TokenType": pl.col("meter"),
}
_PARTIES: dict[str, pl.Expr] = {
    "AvailabilityZone": _NOTHING,
    "BillingAccountId": _PROVIDER.fill_null(UNNAMED),
    "BillingAccountName": _NAME,
    "BillingAccountType": pl.lit("Organization"),
    "HostProviderName": _NAME,
    "InvoiceIssuerName": _NAME,
    "ProviderName": _NAME,
    "PublisherName": _NAME,
    "RegionId": pl.col("region"),
    "RegionName": pl.col("region"),
    "ServiceProviderName": _NAME,
    "SubAccountId": pl.col("tenant"),
    "SubAccountName": pl.col("tenant"),
    "SubAccountType": pl.when(pl.col("tenant").is_not_null()).then(pl.lit("Tenant")),
    "x_UserId": pl.col("user"),
}
