"""Metered charges: what a finance file lists, one row per meter and never one for blended tokens.

Input: priced requests of a selection and their ledger. Output: MeteredCharges: rows by charge day (or hour, UTC),
tenant, user, scenario, model, provider, region, further dimensions, status and meter; and the totals of the ledger
that they must add up to. Requests are counted on one meter row of their group only (output, else the first meter
that has tokens), so they do not multiply. Unpriced requests have no row: a finance file has no word for "unknown",
and 0 would be a lie. They and requests without a start are counted beside the rows.
Tokens of a sample are divided by the sampling rate and cut to whole tokens by largest remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.charges import MEASURES, KeptCharges, charge_lines, cube, fraction_of, total
from analysis.ledger import Ledger
from analysis.money import apportion
from analysis.pricebook import METERS, Price

GRAINS: dict[str, int] = {"day": 86_400_000_000_000, "hour": 3_600_000_000_000}
DIMENSIONS: tuple[str, ...] = ("tenant", "user", "scenario", "model", "provider", "region")
ANCHORS: tuple[str, ...] = ("output", *(meter for meter in METERS if meter != "output"))
STATUSES: tuple[str, ...] = ("good", "slow", "failed", "abandoned", "retry", "unjudged")
_STATUS_OF_WASTE = {"failed": "failed", "timed_out": "failed", "retried": "retry", "abandoned": "abandoned"}
_COUNTS = ("requests", "good_requests")


@dataclass(frozen=True)
class MeteredCharges:
    """Rows with the columns below, sorted by all of their keys, and what they are checked against.

    `rows`: period_ns, DIMENSIONS, `further`, status, meter, tokens, price (index into `prices`, null where nothing
    was charged), requests, good_requests, pico (tokens x net price), listed_pico (tokens x list price).
    `ledger_pico`, `by_model`, `by_tenant`: sums of the ledger over the same lines, made apart from the rows.
    """

    rows: pl.DataFrame
    prices: tuple[Price, ...]
    further: tuple[str, ...]
    grain_ns: int
    price_book: str
    ledger_pico: int
    by_model: dict[str | None, int]
    by_tenant: dict[str | None, int]
    requests: int
    unpriced_requests: int
    unpriced_tokens: int
    undated_requests: int
    sampled: bool
    last_ns: int | None  # the latest start in the rows


def metered(
    priced: pl.DataFrame,
    ledger: Ledger,
    further: Sequence[str] = (),
    grain: str = "day",
    *,
    kept: KeptCharges | None = None,
) -> MeteredCharges:
    """The metered charges of requests.

    Args:
        priced: as for `costs`; `good_verdict`, if it is there, tells good from slow.
        further: dimensions beside DIMENSIONS that tell rows apart.
        grain: one of GRAINS; days that were rolled up have no hours.
        kept: lines of days that were rolled up.

    Raises:
        ConfigError: a further dimension is not known.
    """
    more = tuple(name for name in dict.fromkeys(further) if name not in DIMENSIONS)
    lines = charge_lines(priced, ledger, [*DIMENSIONS, *more], kept=kept)
    whole = total(lines, MEASURES)
    dated = lines.filter(pl.col("started_ns").is_not_null() & pl.col("cost_pico").is_not_null())
    undated = lines.filter(pl.col("started_ns").is_null() & pl.col("cost_pico").is_not_null())
    unpriced = total(
        lines.filter(pl.col("cost_pico").is_null()), {"tokens": pl.sum_horizontal("input_tokens", "output_tokens")}
    )
    cost = {"cost": pl.col("cost_pico")}
    rows = _rows(dated, more, GRAINS[grain])
    return MeteredCharges(
        rows=_priced(rows, ledger.prices),
        prices=ledger.prices,
        further=more,
        grain_ns=GRAINS[grain],
        price_book=ledger.book.title,
        ledger_pico=total(dated, cost)["cost"],
        by_model={key[0]: v["cost"] for key, v in cube(dated, ["model"], cost).items()},
        by_tenant={key[0]: v["cost"] for key, v in cube(dated, ["tenant"], cost).items()},
        requests=whole["requests"],
        unpriced_requests=whole["unpriced_requests"],
        unpriced_tokens=unpriced["tokens"],
        undated_requests=total(undated, {"requests": pl.col("requests")})["requests"],
        sampled=bool(set(lines.get_column("sampling_rate")) - {1.0}),
        last_ns=dated.get_column("last_ns").max() if dated.height else None,  # type: ignore[arg-type]
    )


def _rows(lines: pl.DataFrame, further: tuple[str, ...], grain_ns: int) -> pl.DataFrame:
    """Groups with the tokens of each meter, then one row per meter that has tokens or bears the count."""
    dims = [f"by_{name}" for name in (*DIMENSIONS, *further)]
    status = (
        pl.coalesce(
            pl.col("waste").replace_strict(_STATUS_OF_WASTE, default=None, return_dtype=pl.String),
            pl.col("verdict").replace_strict({"good": "good", "bad": "slow"}, default=None, return_dtype=pl.String),
            pl.lit("unjudged"),
        )
    )  # fmt: skip
    charged = pl.col("price_index").is_not_null()  # a replay from a response cache has tokens that nobody made
    groups = (
        lines.lazy()
        .with_columns(
            (pl.col("started_ns") // grain_ns * grain_ns).alias("period_ns"),
            status.alias("status"),
            *(pl.when(charged).then(pl.col(f"{m}_meter")).otherwise(0).alias(f"{m}_meter") for m in METERS),
        )
        .group_by("period_ns", *dims, "price_index", "status", "sampling_rate")
        .agg(
            *(pl.col(f"{m}_meter").sum() for m in METERS),
            pl.col("requests").sum(),
            pl.col("requests").filter(pl.col("verdict") == "good").sum().alias("good_requests"),
        )
        .collect()
    )
    keys = ["period_ns", *dims, "price_index", "status"]
    merged = _without_sampling(groups, keys)
    anchor = pl.coalesce(
        *(pl.when(pl.col(f"{m}_meter") > 0).then(pl.lit(m)) for m in ANCHORS), pl.lit(ANCHORS[0])
    )  # fmt: skip
    tall = (
        merged.with_columns(anchor.alias("anchor"))
        .unpivot(
            [f"{m}_meter" for m in METERS],
            index=[*keys, *_COUNTS, "anchor"],
            variable_name="meter",
            value_name="tokens",
        )
        .with_columns(pl.col("meter").str.strip_suffix("_meter"))
    )
    bears = pl.col("meter") == pl.col("anchor")
    return (
        tall.with_columns(*(pl.when(bears).then(pl.col(name)).otherwise(0).alias(name) for name in _COUNTS))
        .filter((pl.col("tokens") > 0) | (bears & (pl.col("requests") > 0)))
        .drop("anchor")
        .rename({"price_index": "price", **{f"by_{name}": name for name in (*DIMENSIONS, *further)}})
    )


def _without_sampling(groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Groups over all sampling rates, every count in whole units that add up to its rounded total."""
    counts = [*(f"{m}_meter" for m in METERS), *_COUNTS]
    ordered = groups.sort([*keys, "sampling_rate"], nulls_last=True)
    if set(ordered.get_column("sampling_rate")) <= {1.0}:
        return ordered.drop("sampling_rate")
    rates = [fraction_of(rate) for rate in ordered.get_column("sampling_rate")]
    shared = {
        name: list(apportion({at: Fraction(n) / rates[at] for at, n in enumerate(ordered.get_column(name))}).values())
        for name in counts
    }
    whole = ordered.with_columns(pl.Series(name, values, dtype=pl.Int64) for name, values in shared.items())
    return whole.group_by(keys, maintain_order=True).agg(pl.col(name).sum() for name in counts)


def _priced(rows: pl.DataFrame, prices: tuple[Price, ...]) -> pl.DataFrame:
    """The rows with tokens x price in Int128, in the order of all their keys."""
    table = pl.DataFrame(
        [
            {"price": at, "meter": meter, "_net": price.net.get(meter), "_listed": price.listed.get(meter)}
            for at, price in enumerate(prices)
            for meter in METERS
        ],
        schema={"price": pl.Int32, "meter": pl.String, "_net": pl.Int64, "_listed": pl.Int64},
    )
    found = rows.join(table, on=["price", "meter"], how="left")
    tokens = pl.col("tokens").cast(pl.Int128)
    order = {meter: at for at, meter in enumerate(METERS)}
    first = [name for name in rows.columns if name not in ("meter", "price", "tokens", *_COUNTS)]
    return (
        found.with_columns(
            (tokens * pl.col("_net").fill_null(0)).alias("pico"),
            (tokens * pl.col("_listed").fill_null(0)).alias("listed_pico"),
            pl.col("meter").replace_strict(order, return_dtype=pl.Int32).alias("_order"),
        )
        .sort([*first, "price", "_order"], nulls_last=True)
        .drop("_net", "_listed", "_order")
    )
