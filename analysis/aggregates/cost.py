"""Who spent the money, on what, and what of it was wasted or stood idle.

Input: requests priced by the ledger (analysis/ledger), replica hours, the fleet file. Output: one Costs record.
Every table is a partition of the same charge lines (aggregates/charges), so its parts add up to the total exactly.
Amounts, tokens and requests of a sample are divided by the sampling rate; replica hours are never sampled.
A row without any priced request has no cost (null); costs of rows with unpriced requests lack those requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import polars as pl

from analysis.aggregates.allocation import GpuShare, GpuShares
from analysis.aggregates.budgets import budget_lines, last_month, month_forecast, month_range
from analysis.aggregates.capacity import fleet_hours, gpu_per_million_output_tokens, split
from analysis.aggregates.charges import (
    DRIVER_MEASURES,
    GOOD,
    MEASURES,
    WASTE,
    KeptCharges,
    Key,
    condensed_lines,
    cube,
    sums,
    total,
)
from analysis.fleet import Fleet
from analysis.ledger import DRIVER_METERS, DRIVERS, Ledger, keep_ledger
from analysis.money import PICO, divide, round_half_even, usd_text
from analysis.pricebook import PriceBook
from analysis.result import CostDriver, CostRow, Costs, DayCost, OtherCostLine, OtherCostPart, UnpricedLine
from ingest.selection import Selection

KEPT_NOTE = (
    "days whose rows were dropped are told from their roll-ups, exactly, at the prices of then; what the source stated "
    "for them is not kept"
)
CUBES: tuple[str, ...] = ("user", "tenant", "scenario", "model")


def price_requests(requests: pl.DataFrame, calls: pl.DataFrame | None, book: PriceBook) -> pl.DataFrame:
    """The requests with the cost columns of the ledger (analysis/ledger), order kept."""
    return keep_ledger(requests, calls, book).requests


def costs(
    priced: pl.DataFrame,
    replica_hours: pl.DataFrame | None,
    by: Sequence[str] = ("user",),
    *,
    ledger: Ledger,
    fleet: Fleet | None = None,
    selection: Selection | None = None,
    most_rows: int | None = None,
    kept: KeptCharges | None = None,
) -> Costs:
    """The costs of a selection.

    Args:
        priced: the requests of the selection out of `ledger.requests`, with the dimensions of `by` (a promoted one
            is read from `dimensions`); `good_verdict`, if it is there, gives cost per good request, of the requests with
            `is_covered` (all without that column).
        replica_hours: as the store gives them for the selection, or null.
        by: dimensions of `rows`, `day` and `month` included.
        ledger: what `priced` was priced by; its calls tell models and retries apart.
        selection: for months, idle hours and forecasts; the open one if it is not given. Monthly amounts and forecasts
            of an open one are for the time from its first to its last arrival; replica hours are taken whole.
        most_rows: length of a table; the rows behind it are added up in one (`others`). None: all rows.
        kept: lines of days of the selection that were rolled up; what the source stated for them is not kept.

    Raises:
        ConfigError: a dimension of `by` or of a budget is not known.
    """
    selection = selection or Selection()
    budgets = ledger.book.budgets
    extra = [*(b.per for b in budgets if b.per), *(name for b in budgets for name, _ in b.where)]
    dims = list(dict.fromkeys([*by, *CUBES, "day", "month", *extra]))
    lines = condensed_lines(priced, ledger, dims, selection.timezone, kept=kept)
    measures = {**MEASURES, **GOOD} if "good_verdict" in priced.columns else MEASURES
    whole = total(lines, {**MEASURES, **DRIVER_MEASURES})
    cubes = {name: sums(lines, [name], measures) for name in CUBES}
    rows = cubes[by[0]] if len(by) == 1 and by[0] in cubes else sums(lines, list(by), measures)
    hours = fleet_hours(replica_hours, selection, fleet, priced)
    gpu, idle, utilization = _capacity(hours)
    shares = GpuShares(hours, lines, priced)
    known = whole["charged"] > 0
    cost = whole["cost"]
    wasted = _wasted(lines)
    closed = _closed(selection, lines)
    forecast_month = last_month(closed)
    tokens = _priced_tokens(lines)
    return Costs(
        currency="USD",
        by=list(by),
        rows=cost_rows(rows, by, shares.by(by), most_rows),
        cubes={name: cost_rows(cubes[name], [name], shares.by([name]), most_rows) for name in CUBES},
        total_usd=usd_text(cost) if known else None,
        unattributed_usd=usd_text(_unattributed(cubes["user"])) if known else None,
        wasted_usd=usd_text(sum(wasted.values())) if known else None,
        wasted={kind: usd_text(pico) for kind, pico in wasted.items()} if known else {},
        idle_usd=None if idle is None else usd_text(idle),
        gpu_usd=None if gpu is None else usd_text(gpu),
        drivers=_drivers(whole) if known else [],
        days=_days(lines) if known else [],
        unpriced=_unpriced(lines),
        unpriced_requests=whole["unpriced_requests"],
        priced_share=whole["priced"] / whole["requests"] if whole["requests"] else None,
        cost_per_1k_tokens_usd=_per(cost, tokens["input"] + tokens["output"], 1_000) if known else None,
        cost_per_million_output_tokens_usd=_per(cost, tokens["output"], 1_000_000) if known else None,
        gpu_cost_per_million_output_tokens_usd={
            model: usd_text(pico)
            for model, pico in gpu_per_million_output_tokens(
                hours, dict(cubes["model"].select("by_model", "output_tokens").iter_rows())
            ).items()
        },
        source_stated_usd=_source_stated(priced) if kept is None else None,
        price_book=ledger.book.title,
        notes=sorted({*_notes(lines, ledger, whole), *shares.notes, *([KEPT_NOTE] if kept is not None else [])}),
        saved_usd=usd_text(whole["saved_pico"]) if known else None,
        forecast_month=forecast_month if known else None,
        forecast_month_usd=_forecast(lines, forecast_month, closed) if known else None,
        utilization=utilization,
        gpu_unallocated_usd=None if gpu is None else usd_text(shares.unallocated),
        other=_other(fleet, rows, by, closed),
        budgets=budget_lines(lines, budgets, closed),
    )


def cost_rows(frame: pl.DataFrame, by: Sequence[str], gpu: dict[Key, GpuShare], most: int | None) -> list[CostRow]:
    """Rows of a table: the dearest first, then by key, unknown values last; the end of a long one in a row of its own.

    The row of requests that nobody is behind is always shown.
    """
    keys = [f"by_{name}" for name in by]
    ordered = frame.sort(["cost", *keys], descending=[True, *(False for _ in keys)], nulls_last=True)
    figures = [name for name in frame.columns if name not in keys]
    if most is None or ordered.height <= most:
        return [
            _row(row[: len(keys)], dict(zip(figures, row[len(keys) :], strict=True)), by, gpu)
            for row in ordered.iter_rows()
        ]
    nobody = pl.all_horizontal(pl.col(key).is_null() for key in keys)
    shown = ordered.with_row_index("at").filter((pl.col("at") < most - 1) | nobody).drop("at")
    rest = ordered.join(shown.select(keys), on=keys, how="anti", nulls_equal=True)
    end = dict(zip(figures, rest.select(pl.col(name).sum() for name in figures).row(0), strict=True))
    share = _together([gpu[key] for key in rest.select(keys).iter_rows() if key in gpu] if gpu else [])
    other = tuple("other" for _ in keys)
    last = replace(_row(other, end, by, {} if share is None else {other: share}), others=rest.height)
    return [*cost_rows(shown, by, gpu, None), last]


def _together(shares: list[GpuShare]) -> GpuShare | None:
    if not shares:
        return None
    used = [share.used for share in shares if share.used is not None]
    return GpuShare(sum(used) if len(used) == len(shares) else None, sum(share.whole for share in shares))


def _row(key: Key, values: dict[str, int], by: Sequence[str], gpu: dict[Key, GpuShare]) -> CostRow:
    priced = values["charged"] > 0
    good = int(values["good"]) if "good" in values else None
    covered = values["covered_cost"] if values.get("covered_charged") else None
    share = gpu.get(key)

    def tokens(name: str) -> int | None:
        return int(values[name]) if values[f"known_{name}"] else None

    return CostRow(
        by=dict(zip(by, key, strict=True)),
        requests=int(values["requests"]),
        input_tokens=tokens("input_tokens"),
        cached_input_tokens=tokens("cached_input_tokens"),
        output_tokens=tokens("output_tokens"),
        reasoning_tokens=tokens("reasoning_tokens"),
        cost_usd=usd_text(values["cost"]) if priced else None,
        unpriced_requests=int(values["unpriced_requests"]),
        wasted_usd=usd_text(values["wasted"]) if priced else None,
        good_requests=good,
        cost_per_1k_good_usd=None if covered is None else _per(covered, good or 0, 1_000),
        gpu_used_usd=None if share is None or share.used is None else usd_text(share.used),
        gpu_usd=None if share is None else usd_text(share.whole),
        covered_usd=None if covered is None else usd_text(covered),
    )


def _unattributed(users: pl.DataFrame) -> int:
    """Pico-USD of requests without a user."""
    return int(users.filter(pl.col("by_user").is_null()).get_column("cost").sum())


def _per(cost: int, count: int, scale: int) -> str | None:
    pico = divide(cost * scale, count)
    return None if pico is None else usd_text(pico)


def _wasted(lines: pl.DataFrame) -> dict[str, int]:
    """Pico-USD per kind of waste, every kind named."""
    lost = lines.filter(pl.col("waste").is_not_null()).with_columns(pl.col("waste").alias("by_waste"))
    found = cube(lost, ["waste"], {"cost": pl.col("cost_pico")})
    return {kind: found.get((kind,), {}).get("cost", 0) for kind in WASTE}


def _drivers(whole: dict[str, int]) -> list[CostDriver]:
    """Cost by what was paid for. Parts of a sample may miss the total by a pico-USD each; the largest takes it."""
    amounts = {driver: whole[f"{driver}_pico"] for driver in DRIVERS}
    rest = whole["cost"] - sum(amounts.values())
    amounts[max(amounts, key=lambda driver: amounts[driver])] += rest
    tokens = {driver: sum(whole[f"{meter}_meter"] for meter in DRIVER_METERS[driver]) for driver in DRIVERS}
    return [CostDriver(driver, tokens[driver], usd_text(amounts[driver])) for driver in DRIVERS]


def _days(lines: pl.DataFrame) -> list[DayCost]:
    sums = cube(lines, ["day", "scenario"], {"cost": pl.col("cost_pico")})
    return [
        DayCost(day or "unknown", scenario or "unattributed", usd_text(v["cost"]))
        for (day, scenario), v in sums.items()
    ]


def _unpriced(lines: pl.DataFrame) -> list[UnpricedLine]:
    """What has no price, by model and reason: the message a reader acts on."""
    lacking = lines.filter(pl.col("unpriced").is_not_null()).with_columns(
        pl.col("model").alias("by_model"),
        pl.col("provider").alias("by_provider"),
        pl.col("unpriced").alias("by_reason"),
    )
    figures = ("counts_unpriced", "input_tokens", "output_tokens")
    found = cube(lacking, ["model", "provider", "reason"], {name: pl.col(name) for name in figures})
    rows = []
    for key, values in found.items():
        model, provider, reason = key
        count = values["counts_unpriced"]
        noun = "request is" if count == 1 else "requests is"
        says = f"{reason}. The cost of {count:,} {noun} left empty"
        rows.append(UnpricedLine(model, provider, count, values["input_tokens"], values["output_tokens"], says))
    return sorted(rows, key=lambda row: (-row.requests, row.model or "", row.provider or "", row.says))


def _priced_tokens(lines: pl.DataFrame) -> dict[str, int]:
    """Tokens of priced lines: numerator and denominator of a unit cost come from the same rows."""
    return total(
        lines.filter(~pl.col("unpriced_request")),
        {"input": pl.col("input_tokens"), "output": pl.col("output_tokens")},
    )


def _source_stated(priced: pl.DataFrame) -> str | None:
    """Sum of the costs that the source states; null where it states none."""
    if "source_cost_usd" not in priced.columns:
        return None
    stated = priced.filter(pl.col("source_cost_usd").is_not_null()).with_columns(pl.col("sampling_rate").fill_null(1.0))
    return None if stated.is_empty() else usd_text(total(stated, {"cost": pl.col("source_cost_usd")})["cost"])


def _capacity(hours: pl.DataFrame | None) -> tuple[int | None, int | None, float | None]:
    """Cost of capacity, of its idle part, and the busy share; null where an hour does not say."""
    if hours is None or hours.is_empty():
        return None, None, None
    sums = hours.select(
        pl.col("cost_pico").cast(pl.Int128).sum(), pl.col("idle_pico").cast(pl.Int128).sum(),
        pl.col("cost_pico").is_null().all().alias("no_cost"), pl.col("idle_pico").is_null().any().alias("no_idle"),
        pl.col("busy_s").sum(), pl.col("up_s").filter(pl.col("busy_s").is_not_null()).sum(),
    ).row(0, named=True)  # fmt: skip
    busy_share = sums["busy_s"] / sums["up_s"] if sums["up_s"] else None
    gpu = None if sums["no_cost"] else int(sums["cost_pico"])
    idle = None if sums["no_cost"] or sums["no_idle"] else int(sums["idle_pico"])
    return gpu, idle, busy_share


def _forecast(lines: pl.DataFrame, month: str | None, selection: Selection) -> str | None:
    if month is None:
        return None
    spent = cube(lines, ["month"], {"cost": pl.col("cost_pico")}).get((month,), {}).get("cost", 0)
    pico = month_forecast(spent, month, selection)
    return None if pico is None else usd_text(pico)


def _closed(selection: Selection, lines: pl.DataFrame) -> Selection:
    """The selection with its open ends set to the first and behind the last arrival: what a monthly amount is for."""
    first, last = lines.get_column("first_ns").min(), lines.get_column("last_ns").max()
    if first is None or last is None:
        return selection
    start = selection.start_ns if selection.start_ns is not None else int(first)  # type: ignore[arg-type]
    end = selection.end_ns if selection.end_ns is not None else int(last) + 1  # type: ignore[arg-type]
    return selection.within(start, end)


def _other(fleet: Fleet | None, rows: pl.DataFrame, by: Sequence[str], selection: Selection) -> list[OtherCostLine]:
    """Monthly amounts of the fleet file for the length of the selection, split over the rows."""
    if fleet is None or selection.start_ns is None or selection.end_ns is None or selection.where:
        return []
    found = []
    for other in fleet.other:
        pico = round_half_even(Fraction(other.usd_per_month) * PICO * _months(selection))
        weights = rows.select(*(f"by_{name}" for name in by), other.split_by).iter_rows()
        parts = split(pico, {row[:-1]: int(row[-1]) for row in weights})
        order = sorted(parts.items(), key=lambda item: (-item[1], [(v is None, v or "") for v in item[0]]))
        shown = [OtherCostPart(dict(zip(by, key, strict=True)), usd_text(part)) for key, part in order]
        found.append(OtherCostLine(other.name, usd_text(pico), other.split_by, shown))
    return found


def _months(selection: Selection) -> Fraction:
    """Length of the selection in calendar months of its time zone, each part over its own month's length."""
    whole = Fraction(0)
    at, end = selection.start_ns or 0, selection.end_ns or 0
    while at < end:
        month = last_month(Selection(end_ns=at + 1_000_000, timezone=selection.timezone)) or ""
        first, after = month_range(month, selection.timezone)
        whole += Fraction(min(after, end) - at, after - first)
        at = after
    return whole


def _notes(lines: pl.DataFrame, ledger: Ledger, whole: dict[str, int]) -> list[str]:
    """What a reader must know of the prices that were used."""
    notes: list[str] = []
    used = cube(
        lines.filter(pl.col("price_index").is_not_null()).with_columns(
            pl.col("price_index").cast(pl.String).alias("by_price")
        ),
        ["price"],
        {name: expr for name, expr in DRIVER_MEASURES.items() if name.endswith("_meter")},
    )
    for key, tokens in used.items():
        price = ledger.prices[int(key[0] or 0)]
        notes += price.notes
        for meter, source in price.assumed:
            if tokens[f"{meter}_meter"] > 0:
                bound = " (an upper bound)" if meter == "cached_input" else ""
                words, stand_in = meter.replace("_", " "), source.replace("_", " ")
                notes.append(f"{price.model}: no price for {words}; charged at the price of {stand_in}{bound}")
    if whole["requests"] and set(lines.get_column("sampling_rate")) != {1.0}:
        notes.append("sampled input: requests, tokens and amounts are divided by the sampling rate, and are estimates")
    if whole["unpriced_requests"]:
        notes.append(f"{whole['unpriced_requests']:,} of {whole['requests']:,} requests have no cost; sums lack them")
    return notes
