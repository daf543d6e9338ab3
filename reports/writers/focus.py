"""The finance bundle: FOCUS Cost and Usage as CSV and Parquet, with what proves it.

Input: MeteredCharges, and what a comparison with the bill found, if one was made. Output: the files of one download, by name:
    cost_and_usage.csv, cost_and_usage.parquet   one row per meter; Parquet holds exact decimals and is the reference
    billing_period.csv      the months, all open: nothing here closes a month
    metadata.json           columns, types, version, rules of our own columns
    reconciliation.json     sums of the file against the ledger and the bill; FINAL, or why it is a draft
    manifest.json           row counts, sums and sha256 of every file
The same charges give the same bytes: no clock, sorted rows, fixed writer settings.
"""

from __future__ import annotations

import hashlib
import json
from io import BytesIO
from typing import Any

import msgspec
import polars as pl

from analysis.aggregates.metered import MeteredCharges
from analysis.money import usd_text
from analysis.result import Reconciliation
from reports.writers.focus_reconciliation import reconciliation, total
from reports.writers.focus_rows import FocusOptions, cost_and_usage, instant, time_text
from reports.writers.focus_schema import PRECISION, SCALE, FocusColumn, columns_of


def focus_bundle(
    charges: MeteredCharges, options: FocusOptions, bill: Reconciliation | None = None
) -> dict[str, bytes]:
    """The files by name."""
    table = cost_and_usage(charges, options)
    columns = columns_of(options.version)
    judged = msgspec.to_builtins(reconciliation(charges, table, options.version, bill))
    files = {
        "cost_and_usage.csv": table.write_csv(line_terminator="\r\n").encode(),
        "cost_and_usage.parquet": _parquet(table, columns),
        "billing_period.csv": _billing_periods(table, charges).write_csv(line_terminator="\r\n").encode(),
        "metadata.json": _json(_metadata(columns, charges, options)),
        "reconciliation.json": _json(judged),
    }
    manifest = {
        "state": judged["state"],
        "rows": table.height,
        "sums": {
            name: usd_text(total(table.get_column(name).to_list()))
            for name in ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
        },
        "request_count": sum(int(n) for n in table.get_column("x_RequestCount")),
        "reference": "cost_and_usage.parquet",
        "note": "Costs equal unit price x quantity in decimals; products of floats parsed from text may differ.",
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
        },
    }
    return files | {"manifest.json": _json(manifest)}


def _parquet(table: pl.DataFrame, columns: tuple[FocusColumn, ...]) -> bytes:
    """Costs as decimal128(38, 12), instants in UTC, counts as integers."""
    casts = {
        "decimal": lambda c: pl.col(c).cast(pl.Decimal(PRECISION, SCALE)),
        "time": lambda c: pl.col(c).str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", time_zone="UTC"),
        "count": lambda c: pl.col(c).cast(pl.Int64),
    }
    typed = table.with_columns(casts[column.kind](column.name) for column in columns if column.kind in casts)
    target = BytesIO()
    typed.write_parquet(target, compression="zstd", statistics=True)
    return target.getvalue()


def _billing_periods(table: pl.DataFrame, charges: MeteredCharges) -> pl.DataFrame:
    """One row per month and issuer; last updated with the latest request of the rows."""
    updated = None if charges.last_ns is None else time_text(instant(charges.last_ns))
    return (
        table.select("InvoiceIssuerName", "BillingPeriodStart", "BillingPeriodEnd")
        .unique()
        .sort("BillingPeriodStart", "InvoiceIssuerName")
        .with_columns(
            pl.lit("Open").alias("BillingPeriodStatus"),
            pl.col("BillingPeriodStart").alias("BillingPeriodCreated"),
            pl.lit(updated, pl.String).alias("BillingPeriodLastUpdated"),
        )
    )


def _metadata(columns: tuple[FocusColumn, ...], charges: MeteredCharges, options: FocusOptions) -> dict[str, Any]:
    types = {"decimal": "Decimal", "text": "String", "time": "DateTime", "json": "JSON", "count": "Integer"}
    return {
        "DataGenerator": options.generator,
        "Schema": {
            "SchemaId": f"focus-{options.version}-tailwise",
            "FocusVersion": options.version,
            "ColumnDefinition": [
                {"ColumnName": column.name, "DataType": types[column.kind], "NullsAllowed": column.null}
                | ({"NumericPrecision": PRECISION, "NumberScale": SCALE} if column.kind == "decimal" else {})
                for column in columns
            ],
        },
        "DataAsOf": None if charges.last_ns is None else time_text(instant(charges.last_ns)),
        "PriceBook": charges.price_book,
        "Revision": options.revision,
        "Rules": [
            "x_RequestCount stands on one meter row of each group (output tokens, else the first meter with tokens), so it adds up.",
            "Requests without a price have no row; reconciliation.json counts them.",
            "A cost is unit price x PricingQuantity exactly in decimals; no row is rounded.",
            "Tokens of sampled input are divided by its sampling rate and cut to whole tokens by largest remainder.",
        ],
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
