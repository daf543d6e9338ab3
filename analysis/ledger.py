"""The ledger: what every request and every model call costs, exactly.

Input: requests and calls of the store, a price book. Output: the same rows, in the same order, with
    cost_pico           Int64  pico-USD; null = unpriced, never 0 for want of a price
    <driver>_pico       Int64  its parts (DRIVERS), which add up to cost_pico; null with it
    saved_pico          Int64  what the prompt cache saved: cached tokens at the input price, less what they cost
    unpriced            Categorical  why there is no cost; null where there is one
and a table of the prices that were used, to which `price_index` (null = none) points.

Rules, in this order:
1. answered from a response cache, or without a single token: 0
2. no token counts: 0 for a failed or refused attempt (error, timeout, shed, rejected) and for a request without a
   model call; unpriced otherwise, for tokens were used and nobody counted them
3. a part larger than its whole (cached above input, reasoning above output): unpriced, an anomaly, never clamped
4. no price for the model on the day the request started (UTC), or none for a meter it used: unpriced
5. disjoint buckets, each tokens x price. A missing half (input or output not stated) counts as 0 tokens
A request of several calls is the sum of its calls, each at its own model, all at the request's day; it is unpriced
if one of them is. If no call states tokens, the request's own totals are priced instead. Failed work costs what its
tokens cost.
Source: disjoint token buckets and one source of usage per request (metric definitions, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.pricebook import METERS, NoPrice, Price, PriceBook

DRIVERS: tuple[str, ...] = ("uncached_input", "cached_input", "cache_write", "output", "reasoning")
DRIVER_METERS: dict[str, tuple[str, ...]] = {
    "uncached_input": ("input", "audio_input", "image_input"),
    "cached_input": ("cached_input",),
    "cache_write": ("cache_write_5m", "cache_write_1h"),
    "output": ("output", "audio_output"),
    "reasoning": ("reasoning",),
}
FREE_WITHOUT_TOKENS = ("error", "timeout", "shed", "rejected")  # nothing was made, as far as anyone knows
MOST_TOKENS = 100_000_000  # of one row; more is a broken counter, and would overflow 63 bits at the highest price
NS_PER_DAY = 86_400_000_000_000

NO_TOKENS = "no token counts are stated"
PART_ABOVE_WHOLE = "a part of the tokens is larger than the whole (cached above input, or reasoning above output)"
TOO_MANY = "more than 100,000,000 tokens are stated"
CALL_UNPRICED = "one of its model calls has no price"
COST_COLUMNS: tuple[str, ...] = ("cost_pico", *(f"{driver}_pico" for driver in DRIVERS), "saved_pico")

_KEY = ("_provider", "_model", "_day", "_tier")


@dataclass(frozen=True)
class Ledger:
    """Priced requests, and the calls of those of them that are priced by call.

    `requests` has `priced_by_call`; where it is true, the lines of the request are its rows in `calls`.
    """

    requests: pl.DataFrame
    calls: pl.DataFrame
    prices: tuple[Price, ...]
    book: PriceBook


def keep_ledger(requests: pl.DataFrame, calls: pl.DataFrame | None, book: PriceBook) -> Ledger:
    """Every request and call with its cost.

    Shape: rows and order of `requests`; `calls` may be null, empty, or hold calls of further requests.
    """
    work = requests.lazy().with_columns(
        *(pl.lit(None, pl.Int64).alias(c) for c in TOKEN_COLUMNS if c not in requests.columns)
    )
    if "service_tier" not in requests.columns:
        work = work.with_columns(pl.lit(None, pl.String).alias("service_tier"))
    whole = work.collect()
    by_call = _by_call(whole, calls)
    prices: list[Price] = []
    if by_call is None:
        priced = _price(whole, whole.get_column("started_ns"), book, prices)
        return Ledger(
            priced.with_columns(pl.lit(value=False).alias("priced_by_call")), priced.clear(), tuple(prices), book
        )
    return _with_calls(whole, by_call, book, prices)


def _by_call(requests: pl.DataFrame, calls: pl.DataFrame | None) -> pl.DataFrame | None:
    """Calls of the requests that are priced by call, with what their request says; None if there are none."""
    if calls is None or calls.is_empty() or not requests.select((pl.col("n_call_rows") > 0).any()).item():
        return None
    missing = [c for c in TOKEN_COLUMNS if c not in calls.columns]
    own = calls.with_columns(*(pl.lit(None, pl.Int64).alias(c) for c in missing))
    if "service_tier" not in calls.columns:
        own = own.with_columns(pl.lit(None, pl.String).alias("service_tier"))
    stated = own.filter(pl.col("input_tokens").is_not_null() | pl.col("output_tokens").is_not_null())
    owners = requests.filter(pl.col("n_call_rows") > 0).select(
        "request_key",
        pl.col("started_ns").alias("_start"),
        pl.col("service_tier").alias("_request_tier"),
        *([pl.col("response_cached")] if "response_cached" in requests.columns else []),
    )
    owners = owners.join(stated.select("request_key").unique(), on="request_key", how="semi")
    joined = own.join(owners, on="request_key", how="inner", maintain_order="left")
    return None if joined.is_empty() else joined


def _with_calls(requests: pl.DataFrame, calls: pl.DataFrame, book: PriceBook, prices: list[Price]) -> Ledger:
    tiered = calls.with_columns(pl.coalesce("service_tier", "_request_tier").alias("service_tier"))
    priced_calls = _price(tiered, tiered.get_column("_start"), book, prices).drop("_start", "_request_tier")
    sums = priced_calls.group_by("request_key").agg(
        *(pl.col(c).sum() for c in COST_COLUMNS), pl.col("unpriced").is_not_null().any().alias("_unpriced")
    )
    keyed = requests.with_row_index("_row").join(
        sums.select("request_key", pl.lit(value=True).alias("priced_by_call")), on="request_key", how="left"
    )
    keyed = keyed.with_columns(pl.col("priced_by_call").fill_null(value=False))
    plain = keyed.filter(~pl.col("priced_by_call"))
    plain = _price(plain, plain.get_column("started_ns"), book, prices)
    summed = keyed.filter("priced_by_call").join(sums, on="request_key", how="left")
    summed = summed.with_columns(
        *(pl.when(~pl.col("_unpriced")).then(pl.col(c)).alias(c) for c in COST_COLUMNS),
        pl.when("_unpriced").then(pl.lit(CALL_UNPRICED)).cast(pl.Categorical).alias("unpriced"),
        pl.lit(None, pl.Int32).alias("price_index"),
    )
    both = pl.concat([plain, summed.select(plain.columns)]).sort("_row")
    ordered = both.select(*requests.columns, *COST_COLUMNS, "unpriced", "price_index", "priced_by_call")
    return Ledger(ordered, priced_calls, tuple(prices), book)


TOKEN_COLUMNS: tuple[str, ...] = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "audio_input_tokens",
    "image_input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "audio_output_tokens",
)


_PRICED_BY = ("status_class", "llm_calls", "response_cached")


def meter_tokens() -> dict[str, pl.Expr]:
    """Tokens of each meter of a row: disjoint, and their sum is input plus output. Unknown counts as 0."""
    n = {name: pl.col(name).fill_null(0) for name in TOKEN_COLUMNS}
    write = pl.max_horizontal(n["cache_write_tokens"], n["cache_write_1h_tokens"])  # the whole may be left out
    media = n["audio_input_tokens"] + n["image_input_tokens"]
    return {
        "input": n["input_tokens"] - n["cached_input_tokens"] - write - media,
        "cached_input": n["cached_input_tokens"],
        "cache_write_5m": write - n["cache_write_1h_tokens"],
        "cache_write_1h": n["cache_write_1h_tokens"],
        "audio_input": n["audio_input_tokens"],
        "image_input": n["image_input_tokens"],
        "output": n["output_tokens"] - n["reasoning_tokens"] - n["audio_output_tokens"],
        "reasoning": n["reasoning_tokens"],
        "audio_output": n["audio_output_tokens"],
    }


def _price(rows: pl.DataFrame, started_ns: pl.Series, book: PriceBook, prices: list[Price]) -> pl.DataFrame:
    """The rows with cost columns; prices that were not used before are appended to `prices`.

    Only the columns that a cost depends on go through the join: a copy of all of them is what takes the memory.
    """
    model = pl.coalesce("model", "requested_model") if "requested_model" in rows.columns else pl.col("model")
    calls = pl.col("llm_calls").fill_null(1).clip(1) if "llm_calls" in rows.columns else pl.lit(1, pl.Int64)
    told = [name for name in (*TOKEN_COLUMNS, *_PRICED_BY) if name in rows.columns]
    keyed = rows.select(
        *told,
        pl.col("provider").alias("_provider"),
        model.alias("_model"),
        (started_ns // NS_PER_DAY).cast(pl.Int32).cast(pl.Date).alias("_day"),
        pl.col("service_tier").alias("_tier"),
        (pl.col("input_tokens").fill_null(0) // calls).alias("_context"),  # of several calls known by their sum alone
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("_at"),
    )
    table = _look_up(keyed.select(_KEY).unique(), book, prices)
    joined = keyed.join(table, on=list(_KEY), how="left", nulls_equal=True, maintain_order="left")
    held = joined.filter(
        pl.col("_above").is_null() | ((pl.col("_context") > pl.col("_above")) & (pl.col("_context") <= pl.col("_upto")))
    )
    tokens = meter_tokens()
    cost = {m: pl.when(tokens[m] == 0).then(0).otherwise(tokens[m] * pl.col(f"_p_{m}")) for m in METERS}
    reason = _reason(rows, tokens, cost)
    free = _free(rows)
    amounts = held.with_columns(reason.alias("unpriced"), free.alias("_free")).with_columns(
        *(_amount(pl.sum_horizontal(cost[m] for m in meters)).alias(f"{driver}_pico") for driver, meters in DRIVER_METERS.items()),
        _amount(tokens["cached_input"] * (pl.col("_p_input") - pl.col("_p_cached_input")).fill_null(0)).alias("saved_pico"),
    )  # fmt: skip
    total = amounts.with_columns(
        pl.sum_horizontal([f"{d}_pico" for d in DRIVERS], ignore_nulls=False).alias("cost_pico")
    )
    kept = rows if total.height == rows.height else rows[total.get_column("_at")]
    return kept.with_columns(total.select(
        *COST_COLUMNS, "unpriced",
        pl.when(pl.col("unpriced").is_null() & ~pl.col("_free")).then(pl.col("_index")).alias("price_index"),
    ))  # fmt: skip


def _amount(pico: pl.Expr) -> pl.Expr:
    return pl.when("_free").then(0).when(pl.col("unpriced").is_null()).then(pico)


def _free(rows: pl.DataFrame) -> pl.Expr:
    """Rules 1 and 2: rows that cost nothing, whatever the price."""
    none_stated = pl.col("input_tokens").is_null() & pl.col("output_tokens").is_null()
    zero = ~none_stated & pl.all_horizontal(pl.col(c).fill_null(0) == 0 for c in TOKEN_COLUMNS)
    idle = pl.col("status_class").is_in(FREE_WITHOUT_TOKENS).fill_null(value=False)
    if "llm_calls" in rows.columns:
        idle = idle | (pl.col("llm_calls") == 0).fill_null(value=False)
    free = zero | (none_stated & idle)
    if "response_cached" in rows.columns:
        free = free | pl.col("response_cached").fill_null(value=False)
    return free


def _reason(rows: pl.DataFrame, tokens: dict[str, pl.Expr], cost: dict[str, pl.Expr]) -> pl.Expr:
    """Rules 2 to 4: why a row has no cost, or null."""
    none_stated = pl.col("input_tokens").is_null() & pl.col("output_tokens").is_null()
    reason = (
        pl.when(_free(rows))
        .then(pl.lit(None, pl.String))
        .when(none_stated)
        .then(pl.lit(NO_TOKENS))
        .when(pl.any_horizontal(tokens[m] < 0 for m in METERS))
        .then(pl.lit(PART_ABOVE_WHOLE))
        .when(pl.max_horizontal("input_tokens", "output_tokens") > MOST_TOKENS)
        .then(pl.lit(TOO_MANY))
        .when(pl.col("_says").is_not_null())
        .then(pl.col("_says"))
    )
    for meter in METERS:
        reason = reason.when(cost[meter].is_null()).then(
            pl.format("no price for " + meter.replace("_", " ") + " of {}", pl.col("_model"))
        )
    return reason.otherwise(pl.lit(None, pl.String)).cast(pl.Categorical)  # a sentence per model, on millions of rows


def _look_up(keys: pl.DataFrame, book: PriceBook, prices: list[Price]) -> pl.DataFrame:
    """One row per key and context length, with the net price of each meter, or with the reason in `_says`."""
    index = {price: at for at, price in enumerate(map(_identity, prices))}
    rows: list[dict[str, object]] = []
    for provider, model, day, tier in keys.sort(_KEY, nulls_last=True).iter_rows():
        key: dict[str, object] = dict(zip(_KEY, (provider, model, day, tier), strict=True))
        found = book.prices(provider, model, day, tier)
        if isinstance(found, NoPrice):
            rows.append({**key, "_says": found.says})
            continue
        ends = [*(price.above for price in found[1:]), 2**62]
        for price, upto in zip(found, ends, strict=True):
            identity = _identity(price)
            if identity not in index:
                index[identity] = len(prices)
                prices.append(price)
            nets = {f"_p_{meter}": price.net.get(meter) for meter in METERS}
            rows.append({**key, "_index": index[identity], "_above": price.above, "_upto": upto, **nets})
    schema = {
        **keys.schema,
        "_says": pl.String(),
        "_index": pl.Int32(),
        "_above": pl.Int64(),
        "_upto": pl.Int64(),
        **{f"_p_{meter}": pl.Int64() for meter in METERS},
    }
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else pl.DataFrame(schema=schema)


def _identity(price: Price) -> tuple[object, ...]:
    return (price.id, price.provider, price.model, price.above, tuple(sorted(price.net.items())), price.notes)
