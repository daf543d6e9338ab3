"""At which offered load attainment falls below its target, as far as one selection can tell.

Input: a measured frame with `good_verdict`, the target. Output: one Saturation record.
Minutes are sorted by their arrivals and put into bands of about as many minutes; attainment per band is fitted so that
it never rises with the load (pool adjacent violators), and the crossing of the target is read off between two bands.
The interval comes from a block bootstrap of ten-minute blocks. Offered load is that of all traffic, attainment weighs
each request by its votes, counts are of rows. It is an observation: what else happened in the busy
minutes is in it. Where attainment holds at every load seen, the range is too small to tell.
Source: DistServe and Etalon define capacity as the load at which attainment falls below target, from load tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from analysis.aggregates.blocks import BLOCK_NS, drawn_sums
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.statistics import quantile
from analysis.aggregates.verdicts import BAD, GOOD
from analysis.result import LoadBand, Saturation
from ingest.schema import NS_PER_S

MINUTE_NS = 60 * NS_PER_S
BANDS = 10
MIN_MINUTES = 60  # fewer give bands of less than six minutes each
MIN_CROSSINGS = 0.025  # of the draws may miss the crossing before that end of the interval is unknown


def saturation(frame: pl.DataFrame, target: float | None) -> Saturation:
    """Capacity as observed; `too_few` without a target, a clock, or enough minutes."""
    if target is None:
        return Saturation("too_few", None, None, None, None, [], "No objective with a target defines good requests.")
    minutes = _minutes(frame)
    if minutes.height < MIN_MINUTES:
        says = f"{minutes.height} minutes with requests are fewer than the {MIN_MINUTES} that bands of load need."
        return Saturation("too_few", target, None, None, None, [], says)
    table = _banded(minutes)
    rates = table.get_column("rate").to_list()
    fitted = falling(table.get_column("good_votes").to_list(), table.get_column("bad_votes").to_list())
    bands = [
        LoadBand(row["rate"], row["minutes"], row["good"], row["bad"], _share(row["good_votes"], row["bad_votes"]), fit)
        for row, fit in zip(table.to_dicts(), fitted, strict=True)
    ]
    at, verdict = crossing(rates, fitted, target)
    interval = _interval(minutes, rates, target) if verdict == "estimated" else None
    return Saturation(verdict, target, at, interval, rates[-1], bands, _says(verdict))


def falling(good: Sequence[int], bad: Sequence[int]) -> list[float | None]:
    """Attainments that never rise from one band to the next, nearest to the counts; None where nothing was judged."""
    blocks: list[tuple[int, int, int]] = []  # good, judged, bands
    for kept, broken in zip(good, bad, strict=True):
        blocks.append((kept, kept + broken, 1))
        while len(blocks) > 1 and _rises(blocks[-2], blocks[-1]):
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return [kept / judged if judged else None for kept, judged, n in blocks for _ in range(n)]


def crossing(rates: Sequence[float], fitted: Sequence[float | None], target: float) -> tuple[float | None, str]:
    """Load at which the fit passes the target, between two bands; and whether it does."""
    known = [(rate, fit) for rate, fit in zip(rates, fitted, strict=True) if fit is not None]
    if not known:
        return None, "too_few"
    if known[0][1] < target:
        return None, "below"
    for (low, above), (high, under) in pairwise(known):
        if under < target:
            return low + (high - low) * (above - target) / (above - under), "estimated"
    return None, "holds"


def _rises(before: tuple[int, int, int], after: tuple[int, int, int]) -> bool:
    return after[1] == 0 or before[1] == 0 or after[0] * before[1] > before[0] * after[1]


def _minutes(frame: pl.DataFrame) -> pl.DataFrame:
    """Offered requests per second, good and bad of every minute with requests, and their votes."""
    verdict, votes = pl.col("good_verdict"), pl.col("votes")
    return (
        frame.select("started_ns", "weight", "votes", "good_verdict")
        .drop_nulls("started_ns")
        .group_by((pl.col("started_ns") // MINUTE_NS).alias("minute"))
        .agg(
            (exact_sum(pl.col("weight")) / 60).alias("rate"),
            *((verdict == name).sum().cast(pl.Int64).alias(name) for name in (GOOD, BAD)),
            *(votes.filter(verdict == name).sum().alias(f"{name}_votes") for name in (GOOD, BAD)),
        )
        .sort("minute")
    )


def _edges(minutes: pl.DataFrame) -> list[float]:
    rates = minutes.get_column("rate")
    return sorted({quantile(rates, step / BANDS) or 0.0 for step in range(1, BANDS)})


def _band(edges: Sequence[float]) -> pl.Expr:
    return pl.sum_horizontal(pl.lit(0), *((pl.col("rate") > edge).cast(pl.Int64) for edge in edges)).alias("band")


def _banded(minutes: pl.DataFrame) -> pl.DataFrame:
    return (
        minutes.with_columns(_band(_edges(minutes)))
        .group_by("band")
        .agg(
            (exact_sum(pl.col("rate")) / pl.len()).alias("rate"),
            pl.len().cast(pl.Int64).alias("minutes"),
            *(pl.col(name).sum() for name in (GOOD, BAD, f"{GOOD}_votes", f"{BAD}_votes")),
        )
        .sort("band")
    )


def _interval(minutes: pl.DataFrame, rates: Sequence[float], target: float) -> tuple[float, float | None] | None:
    """Middle 95 % of the crossings of draws; the upper end is None where too many draws never cross."""
    banded = minutes.with_columns(_band(_edges(minutes)), (pl.col("minute") // (BLOCK_NS // MINUTE_NS)).alias("block"))
    n = len(rates)
    picked = [
        pl.col(f"{name}_votes").filter(pl.col("band") == band).sum().alias(f"{name}{band}")
        for band in range(n)
        for name in (GOOD, BAD)
    ]
    drawn = drawn_sums(banded.group_by("block").agg(picked).sort("block").drop("block"))
    found: list[float] = []
    beyond = 0
    for row in drawn.to_dicts():
        fitted = falling([row[f"{GOOD}{band}"] for band in range(n)], [row[f"{BAD}{band}"] for band in range(n)])
        at, verdict = crossing(rates, fitted, target)
        beyond += verdict == "holds"
        found.append(at if at is not None else (rates[0] if verdict == "below" else float("inf")))
    if not found:
        return None
    ends = [quantile(pl.Series(found), p) for p in (MIN_CROSSINGS, 1 - MIN_CROSSINGS)]
    if ends[0] is None or ends[1] is None or ends[0] == float("inf"):
        return None
    return ends[0], (None if ends[1] == float("inf") else ends[1])


def _share(good: int, bad: int) -> float | None:
    return good / (good + bad) if good + bad else None


def _says(verdict: str) -> str:
    return {
        "estimated": "Above this offered load attainment fell below the target in this selection.",
        "holds": "Attainment holds at every load seen: not enough range to tell the capacity.",
        "below": "Attainment is below the target even at the lowest load seen, so load alone does not explain it.",
        "too_few": "No minute has judged requests.",
    }[verdict]
