"""Fluidity: the share of a request's token deadlines that were met, slack carried over.

Input: a measured frame, lists of gaps between tokens (Store.token_gaps), the objectives that define good. Output: two
columns beside the frame, then one Fluidity record over them, or None where no source lists the times of tokens.

Deadlines of one request: the first token is due one TTFT limit after the arrival, each further one a TPOT limit after
the deadline before it, so that an early token leaves its slack to the next ones. A missed deadline counts once, and the
next ones are counted on from the instant at which the late token came. Index = met / deadlines.
Limits are those of the objectives that define good, the tightest of several; those of `default.good` where they set
none. Where a source lists chunks of which one is not one token, each chunk after the first is due (tokens - 1) / chunks
TPOT limits after the one before: the whole answer has the time that TPOT gives it. Without status ok, TTFT, a second
token, or with several calls, there is no index.
Source: Etalon (fluidity index); metric definitions, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from analysis.aggregates.columns import narrow
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.statistics import wilson
from analysis.aggregates.weighted import effective
from analysis.dimensions import matches
from analysis.objectives import Objective, default_objectives
from analysis.result import Definition, Fluidity
from ingest.schema import NS_PER_S

MET, DUE, BY_CHUNK = COLUMNS = ("fluid_met", "fluid_due", "fluid_by_chunk")
LEAST_PERCENT = 90  # Etalon: a request counts from an index of 0.9 on
MOST_GAPS = 4_000_000  # spread out at once: about a quarter of a gigabyte
HALF_NS = 0.5  # times are whole nanoseconds: a deadline between two of them is the nearer one
LIMITED = ("ttft", "tpot")

FLUIDITY_INDEX = Definition(
    id="fluidity_index",
    kind="metric",
    title="Fluidity index",
    unit="ratio",
    says=(
        "Share of a request's token deadlines that were met: the first token is due one TTFT limit after arrival, each "
        "further one a TPOT limit after the deadline before it, so slack carries over; after a missed deadline they "
        "count on from the late token. Told where the source lists the times of tokens."
    ),
    source="Etalon; part of goodput",
)


def with_fluidity(frame: pl.DataFrame, lists: Iterable[pl.DataFrame], defining: tuple[Objective, ...]) -> pl.DataFrame:
    """The frame with `COLUMNS`: deadlines met, deadlines, whether they are of chunks; as it was if no list is told.

    Args:
        frame: measured requests.
        lists: request_key and token_gaps_ns, a part at a time; of other requests too.
        defining: attainment.good_objectives.
    """
    limits = [_limit(name, defining).alias(f"{name}_limit") for name in LIMITED]
    needed: pl.DataFrame | None = None
    found: list[pl.DataFrame] = []
    for part in lists:
        if needed is None:
            told = narrow(frame, "request_key", "ttft_ns", "output_tokens", "llm_calls", "status_class", *limits)
            one_call = pl.col("llm_calls").fill_null(1) <= 1
            has_index = OK & one_call & (pl.col("ttft_ns") > 0) & (pl.col("output_tokens") > 1)
            needed = told.filter(has_index).select("request_key", "ttft_ns", "output_tokens", *limits).drop_nulls()
        timed = part.filter(pl.col("token_gaps_ns").list.len() > 0).join(needed, on="request_key", how="inner")
        before = pl.col("token_gaps_ns").list.len().cast(pl.Int64).cum_sum()
        slices = timed.with_columns(slice=before // MOST_GAPS).partition_by("slice", include_key=False)
        found.extend(deadlines(some) for some in slices if some.height)
    if not found:
        return frame
    return frame.join(pl.concat(found), on="request_key", how="left", maintain_order="left")


def deadlines(timed: pl.DataFrame) -> pl.DataFrame:
    """Deadlines met and set, per request.

    Shape: request_key, ttft_ns, token_gaps_ns (not empty), output_tokens, ttft_limit and tpot_limit in seconds, to
    request_key and COLUMNS, in the same order. With x the time allowed minus the time taken, the slack at a token is
    x + max(slack before, 0), which is the running sum of x minus its least value so far, or 0: a step over columns.
    """
    gaps = pl.col("token_gaps_ns").list.len().cast(pl.Int64)
    step = pl.col("tpot_limit") * NS_PER_S * (pl.col("output_tokens") - 1) / gaps
    start = timed.select(
        "token_gaps_ns",
        place=pl.int_range(pl.len()),
        first=(pl.col("ttft_limit") * NS_PER_S).round(0) - pl.col("ttft_ns"),
        step=pl.when(gaps == pl.col("output_tokens") - 1)
        .then((pl.col("tpot_limit") * NS_PER_S).round(0))
        .otherwise(step),
    )
    spread = start.explode("token_gaps_ns").with_columns(
        ahead=pl.col("first") + (pl.col("step") - pl.col("token_gaps_ns")).cum_sum().over("place")
    )
    before = pl.col("ahead").cum_min().shift(1).over("place").fill_null(0.0)
    least = pl.min_horizontal(before, pl.col("first"), pl.lit(0.0))
    judged = spread.select("place", (pl.col("ahead") - least >= -HALF_NS).alias(MET))
    kept = judged.group_by("place", maintain_order=True).agg(pl.col(MET).sum().cast(pl.Int64))
    return timed.select(
        "request_key",
        (kept.get_column(MET) + start.get_column("first").ge(0).cast(pl.Int64)).alias(MET),
        (gaps + 1).alias(DUE),
        (gaps != pl.col("output_tokens") - 1).alias(BY_CHUNK),
    )


def fluidity(frame: pl.DataFrame, defining: tuple[Objective, ...]) -> Fluidity | None:
    """The record over a frame of with_fluidity; None if it has no such column, or no request an index."""
    if MET not in frame.columns:
        return None
    known = frame.filter(pl.col(MET).is_not_null())
    if known.is_empty():
        return None
    fluid = pl.col(MET) * 100 >= pl.col(DUE) * LEAST_PERCENT
    votes = pl.col("votes")
    row = known.select(
        fluid.sum().alias("fluid"),
        votes.filter(fluid).sum().alias("kept"),
        votes.sum().alias("all"),
        (votes.cast(pl.Int128) ** 2).sum().alias("squares"),
        exact_sum(pl.col(MET) / pl.col(DUE) * votes).alias("indices"),
        pl.col(BY_CHUNK).sum().alias("by_chunk"),
    ).row(0, named=True)
    kept, whole = int(row["kept"]), int(row["all"])
    return Fluidity(
        n=known.height,
        fluid=int(row["fluid"]),
        least=LEAST_PERCENT / 100,
        share=kept / whole,
        interval=wilson(*effective(kept, whole, int(row["squares"]))),
        mean_index=row["indices"] / whole,
        by_chunk=int(row["by_chunk"]),
        limits=_named(known, defining),
    )


def _named(known: pl.DataFrame, defining: tuple[Objective, ...]) -> list[str]:
    """Ids of the objectives that set a limit of these requests, in order."""
    setting = [item for item in defining if any(c.metric.id in LIMITED for c in item.conditions)]
    named = [item.id for item in setting if known.select(matches(item.where).any()).item()]
    own = [_tightest(name, defining) for name in LIMITED]
    if any(limit is None or known.select(limit.is_null().any()).item() for limit in own):
        named += [item.id for item in _usual() if item.id not in named]
    return named


def _limit(name: str, defining: tuple[Objective, ...]) -> pl.Expr:
    """The limit of each request in seconds: the tightest of those that the objectives about it set."""
    own = _tightest(name, defining)
    usual = _tightest(name, _usual())
    return pl.coalesce(limit for limit in (own, usual) if limit is not None)


def _tightest(name: str, items: Iterable[Objective]) -> pl.Expr | None:
    set_by = [
        pl.when(matches(item.where)).then(condition.threshold.limit())
        for item in items
        for condition in item.conditions
        if condition.metric.id == name
    ]
    return pl.min_horizontal(set_by) if set_by else None


def _usual() -> tuple[Objective, ...]:
    return tuple(item for item in default_objectives().items if item.id == "default.good")
