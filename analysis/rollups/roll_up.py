"""Raw rows of a piece of a day -> its roll-ups.

Input: a store, a piece, the objectives and prices that hold. Output: one frame per table of ingest/schema_rolled.
Every figure is a sum of whole numbers over requests, so the roll-ups of parts, added, are those of the whole.
Verdicts are those that an analysis of the day would give; an open request is judged as one that has run until the day
was over for as long as it is kept.
Size: of model, scenario and tenant at most MOST_VALUES values of a day are told apart; verdicts are told by hour, and
by those three over the day; latencies by model, scenario, streaming and input length. Only money is told by user: its
lines are as many as there were combinations of user, tenant, scenario, model, price and outcome on the day.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

import polars as pl

from analysis.aggregates.attainment import good_objectives, with_good
from analysis.aggregates.charges import PROMOTED, condensed_lines
from analysis.aggregates.verdicts import BAD, EXCLUDED, GOOD, UNKNOWN, clause_flags, verdict_expr
from analysis.dimensions import matches
from analysis.ledger import Ledger, keep_ledger
from analysis.metrics.catalog import BY_ID
from analysis.metrics.latency import LATENCY
from analysis.metrics.measure import measure
from analysis.objectives import Objective, Objectives
from analysis.pricebook import Price, PriceBook
from analysis.rollups.buckets import bucket_of
from analysis.rollups.sums import SUMS, parts_of, sums_of
from analysis.settings import Settings
from ingest.schema import LONG, REQUESTS
from ingest.schema_rolled import CHARGE_AMOUNTS, CHARGE_COUNTS, OTHER, ROLLED_DAYS
from ingest.selection import Selection
from ingest.store.database import Store
from ingest.store.retention import Piece

HOUR_NS = 3_600_000_000_000
MOST_VALUES = 100  # of model, scenario, tenant on one day; the rarer ones are kept together
MOST_DIMENSIONS = 10_000  # different sets of promoted values on one day; of more none is kept
MOST_AT_ONCE = 250_000  # requests that are measured together: about half a gigabyte
VERDICT_DIMS = ("model", "scenario", "tenant")
STATUS_DIMS = (*VERDICT_DIMS, "streaming")
LATENCY_DIMS = ("model", "scenario", "streaming", "input_bucket")
LATENCIES = (*LATENCY, *(BY_ID[name] for name in ("queue", "prefill", "decode")))
CHARGE_DIMS = ("user", "tenant", "scenario", "region")  # beside the model and provider of the line
COUNTS = (GOOD, BAD, UNKNOWN, EXCLUDED)
Frames = dict[str, pl.DataFrame]


def roll_up(
    store: Store, piece: Piece, objectives: Objectives, prices: PriceBook, *, until_ns: int, most: int = MOST_AT_ONCE
) -> Frames:
    """The roll-ups of the requests that arrived in a piece of a day.

    Args:
        objectives: what is judged; every one that judges requests is counted.
        until_ns: up to when open requests are known to have run.
        most: requests that are measured at once; more are rolled up part by part and added.
    """
    added: Frames = {}
    for part in _parts(store, piece, most):
        rows = store.requests(part, [column.name for column in REQUESTS if column.name not in LONG])
        if rows.is_empty():
            continue
        ledger = keep_ledger(rows, store.calls(part), prices)
        frame = with_good(measure(ledger.requests, objectives.settings), objectives, until_ns)
        added = merge(added, roll_up_rows(frame, ledger, objectives, piece.start_ns, until_ns))
    return folded(added)


def roll_up_rows(frame: pl.DataFrame, ledger: Ledger, objectives: Objectives, start_ns: int, until_ns: int) -> Frames:
    """Roll-ups of measured and priced requests of one piece, with `good_verdict`; rarer values are not yet folded."""
    rows = frame.with_columns(
        pl.lit(start_ns, pl.Int64).alias("start_ns"),
        pl.max_horizontal(pl.col("started_ns") // HOUR_NS * HOUR_NS, pl.lit(start_ns, pl.Int64)).alias("hour_ns"),
    )
    charges, used = _charges(frame, ledger, start_ns)
    first, last = frame.select(pl.col("started_ns").min(), pl.col("started_ns").max().alias("last")).row(0)
    told = {item.id: fingerprint(item, objectives) for item in kept(objectives)}
    day = {
        "start_ns": start_ns,
        "first_ns": first,
        "last_ns": last,
        "objectives": json.dumps(told, sort_keys=True),
        "price_book": ledger.book.title,
    }
    return {
        "rolled_days": pl.DataFrame([day], schema={c.name: c.dtype for c in ROLLED_DAYS if c.name in day}),
        "rolled_prices": _prices(used),
        "rolled_status": _statuses(rows),
        "rolled_verdicts": _verdicts(rows, objectives, until_ns),
        "rolled_latency": latencies(rows),
        "rolled_charges": charges,
    }


def merge(one: Frames, other: Frames) -> Frames:
    """Two roll-ups of one piece as one: counts and amounts of equal keys are added, and nothing else is done."""
    if not one:
        return other
    return {table: _added(pl.concat([one[table], other[table]]), table) for table in one}


_SUMMED: dict[str, tuple[str, ...]] = {
    "rolled_status": ("requests", "attempts"),
    "rolled_verdicts": (*COUNTS, *SUMS),
    "rolled_latency": ("n",),
    "rolled_charges": (*CHARGE_COUNTS, *CHARGE_AMOUNTS),
    "rolled_days": (),
    "rolled_prices": (),
}


def _added(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """The rows with those of one key added up, in the order of their keys."""
    figures = _SUMMED[table]
    edges = [name for name in ("first_ns", "last_ns") if name in rows.columns]
    keys = [name for name in rows.columns if name not in figures and name not in edges]
    found = rows.group_by(keys).agg(
        *(pl.col(name).sum() for name in figures),
        *(pl.col(name).min() if name == "first_ns" else pl.col(name).max() for name in edges),
    )
    return found.select(rows.columns).cast({pl.Categorical: pl.String}).sort(keys, nulls_last=True)


def folded(added: Frames) -> Frames:
    """The roll-ups of a whole piece with the rarer values of its dimensions kept together."""
    if not added:
        return added
    status = added["rolled_status"]
    frames = dict(added)
    for name in VERDICT_DIMS:
        order = status.group_by(name).agg(pl.col("requests").sum()).drop_nulls(name)
        order = order.sort(["requests", name], descending=[True, False])
        if order.height <= MOST_VALUES:
            continue
        kept = order.get_column(name).head(MOST_VALUES).to_list()
        value = pl.when(pl.col(name).is_in(kept) | pl.col(name).is_null()).then(pl.col(name)).otherwise(pl.lit(OTHER))
        for table in ("rolled_status", "rolled_verdicts", "rolled_latency"):
            if name in frames[table].columns:
                frames[table] = _added(frames[table].with_columns(value.alias(name)), table)
    charges = frames["rolled_charges"]
    if charges.get_column("dimensions").n_unique() > MOST_DIMENSIONS:
        nothing = pl.lit(None, pl.String).alias("dimensions")
        frames["rolled_charges"] = _added(charges.with_columns(nothing), "rolled_charges")
    return frames


def counted(objectives: Objectives) -> tuple[Objective, ...]:
    """The objectives that call single requests good or bad, whose counts can therefore be added over months."""
    shares = ("availability", "error_rate", "timeout_rate", "cancel_rate", "degraded_rate", "cold_start_rate")
    return tuple(
        item
        for item in objectives.items
        if item.target is not None
        or item.metric in shares
        or (item.per_request and item.statistic not in ("sum", "rate", None))
    )


def kept(objectives: Objectives) -> tuple[Objective, ...]:
    """The objectives of which counts or sums are kept."""
    judged = counted(objectives)
    return tuple(item for item in objectives.items if item in judged or parts_of(item) is not None)


def fingerprint(item: Objective, objectives: Objectives) -> str:
    """What the counts and sums of an objective depend on, as a short text: a changed target leaves it as it is."""
    settings = objectives.settings
    by = {name for name, _ in item.where}
    parts: list[object] = [
        item.metric,
        [(c.metric.id, c.threshold.text) for c in item.conditions],
        item.where,
        item.target is not None,
        None if item.target is not None or item.percentile is not None else item.statistic,
        asdict(settings.policy),
        asdict(settings.buckets) if by & {"input_bucket", "output_bucket"} else None,
        settings.timezone if by & {"hour", "weekday"} else None,
    ]
    if reads_good(item):
        parts.append([fingerprint(one, objectives) for one in good_objectives(objectives)])
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def reads_good(item: Objective) -> bool:
    """Whether it adds up requests that are good by the other objectives."""
    parts = parts_of(item)
    return parts is not None and "is_good" in parts.numerator.meta.root_names()


def price_key(price: Price) -> str:
    """Name of a price: a hash of all that it says."""
    return hashlib.sha256(_price_text(price).encode()).hexdigest()[:16]


def _price_text(price: Price) -> str:
    return json.dumps(asdict(price), sort_keys=True, ensure_ascii=False)


def _parts(store: Store, piece: Piece, most: int) -> Iterator[Selection]:
    """Equal parts of the time of a piece, so many that each holds few enough requests."""
    whole = Selection(piece.start_ns, piece.end_ns)
    n = store.requests(whole, ["request_key"]).height
    count = max(1, -(-n // most))
    step = -(-(piece.end_ns - piece.start_ns) // count)
    for number in range(count):
        start = piece.start_ns + number * step
        yield replace(whole, start_ns=start, end_ns=min(start + step, piece.end_ns))


def _statuses(rows: pl.DataFrame) -> pl.DataFrame:
    counts = rows.group_by("start_ns", *STATUS_DIMS, "status_class", "sampling_rate").agg(
        pl.len().cast(pl.Int64).alias("requests"), pl.col("attempts").fill_null(1).sum().alias("attempts")
    )
    return _added(counts, "rolled_status")


def _verdicts(rows: pl.DataFrame, objectives: Objectives, until_ns: int) -> pl.DataFrame:
    keys = ["start_ns", "hour_ns", "objective", "clause", *VERDICT_DIMS, "sampling_rate"]
    found = [
        part.select(*keys, *COUNTS, *SUMS)
        for item in kept(objectives)
        for part in _counts_of(rows.filter(matches(item.where)), item, objectives.settings, until_ns)
    ]
    schema = {"start_ns": pl.Int64(), "hour_ns": pl.Int64(), "objective": pl.String(), "clause": pl.Int64()}
    schema |= dict.fromkeys(VERDICT_DIMS, pl.String()) | {"sampling_rate": pl.Float64()}
    empty = pl.DataFrame(schema=schema | dict.fromkeys(COUNTS, pl.Int64()) | SUMS)
    return _added(pl.concat([empty, *found]), "rolled_verdicts")


def _counts_of(rows: pl.DataFrame, item: Objective, settings: Settings, until_ns: int) -> Iterator[pl.DataFrame]:
    """Verdicts of an objective, and of each threshold by itself: kept or not where it applies to a judged request."""
    judged = rows.with_columns(verdict_expr(item, settings, until_ns).alias("_verdict"))
    groups = judged.group_by("start_ns", *VERDICT_DIMS, "sampling_rate")
    named = pl.lit(item.id).alias("objective")
    no_hour, no_clause = (pl.lit(None, pl.Int64).alias(name) for name in ("hour_ns", "clause"))
    counts = [(pl.col("_verdict") == name).sum().cast(pl.Int64).alias(name) for name in COUNTS]
    nobody = [pl.lit(None, pl.String).alias(name) for name in VERDICT_DIMS]
    counts += sums_of(item)
    yield judged.group_by("start_ns", "hour_ns", "sampling_rate").agg(counts).with_columns(named, no_clause, *nobody)
    yield groups.agg(counts).with_columns(named, no_clause, no_hour)
    if item.target is None:
        return
    for number, condition in enumerate(item.conditions):
        flags = clause_flags(condition)
        failed = pl.col("is_failed")
        asked = pl.col("_verdict") != EXCLUDED
        kept = asked & ~failed & flags.kept
        applies = asked & (failed | flags.kept | flags.broken)
        sums = (kept.sum().cast(pl.Int64).alias(GOOD), (applies & ~kept).sum().cast(pl.Int64).alias(BAD))
        zeros = [
            pl.lit(0, kind).alias(name) for name, kind in {UNKNOWN: pl.Int64(), EXCLUDED: pl.Int64(), **SUMS}.items()
        ]
        yield groups.agg(sums).with_columns(*zeros, named, no_hour, pl.lit(number, pl.Int64).alias("clause"))


def latencies(rows: pl.DataFrame) -> pl.DataFrame:
    """Counts per bucket of the latencies of requests with status ok."""
    ok = rows.filter(pl.col("status_class") == "ok")
    keys = ["start_ns", *LATENCY_DIMS, "sampling_rate"]
    found: list[pl.DataFrame] = []
    for metric in LATENCIES:
        known = ok.select(*keys, bucket_of(pl.col(metric.column)).alias("bucket")).drop_nulls("bucket")
        counts = known.group_by(*keys, "bucket").agg(pl.len().cast(pl.Int64).alias("n"))
        found.append(counts.select(*keys, pl.lit(metric.id).alias("metric"), "bucket", "n"))
    return _added(pl.concat(found), "rolled_latency")


def _charges(frame: pl.DataFrame, ledger: Ledger, start_ns: int) -> tuple[pl.DataFrame, Sequence[Price]]:
    """Charge lines with the names of their prices, and the prices that were used."""
    lines = condensed_lines(frame, ledger, [*CHARGE_DIMS, PROMOTED])
    names = {at: price_key(price) for at, price in enumerate(ledger.prices)}
    used = [ledger.prices[at] for at in sorted(lines.get_column("price_index").drop_nulls().unique().to_list())]
    rows = lines.select(
        pl.lit(start_ns, pl.Int64).alias("start_ns"),
        *(pl.col(f"by_{name}").alias(name) for name in ("user", "tenant", "scenario")),
        "model",
        "provider",
        pl.col("by_region").alias("region"),
        pl.col(f"by_{PROMOTED}").alias("dimensions"),
        *("sampling_rate", "unpriced_request", "unpriced", "verdict", "waste"),
        pl.col("price_index").replace_strict(names, default=None, return_dtype=pl.String).alias("price_key"),
        *("first_ns", "last_ns"),
        *(pl.col(name).cast(pl.Int64) for name in CHARGE_COUNTS),
        *CHARGE_AMOUNTS,
    )
    return _added(rows, "rolled_charges"), used


def _prices(used: Sequence[Price]) -> pl.DataFrame:
    rows: list[Mapping[str, str]] = [{"price_key": price_key(price), "price": _price_text(price)} for price in used]
    return pl.DataFrame(rows, schema={"price_key": pl.String(), "price": pl.String()}).unique().sort("price_key")
