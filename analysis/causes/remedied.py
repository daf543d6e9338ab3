"""Whether the traces show that a recommendation was followed.

Input: requests of the incident and of the later time, both within the finding's segment. Output: Sign: whether what the
recommendation changes has changed, in words with the figures; None where traces do not show such a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.figures import number
from analysis.causes.segment import within

MIN_N = 30
EVEN = 0.2  # of the mean over the replicas; one with less comes or goes at the edges of the time
SERVES = 0.02  # of the segment's requests; less is an edge too
CHANGED = 0.15  # of a mean: less is chance
TOP = 0.99


@dataclass(frozen=True)
class Sign:
    """What the traces show of a change; `is_done` None: they cannot show it."""

    is_done: bool | None
    says: str


UNSEEN = Sign(None, "traces do not show this change")
Frames = tuple[pl.DataFrame, pl.DataFrame]  # then, now
Segment = tuple[tuple[str, str], ...]


def sign_of(identity: str, segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
    """What the requests of both times show of one recommendation.

    Args:
        segment: of the finding.
        then, now: prepared rows (causes/rows.py) of the incident and of the later time, not yet cut to the segment.
    """
    look = SIGNS.get(identity)
    if look is None:
        return UNSEEN
    if min(then.height, now.height) < MIN_N:
        return Sign(None, "too few requests")
    return look(segment, then, now)


def _cut(frame: pl.DataFrame, segment: Segment, *, without: str = "") -> pl.DataFrame:
    return frame.filter(within([pair for pair in segment if pair[0] in frame.columns and pair[0] != without]))


def _replicas(segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
    if "replica" not in then.columns or "replica" not in now.columns:
        return UNSEEN
    counts = []
    for frame in (then, now):
        served = _cut(frame, segment, without="replica")["replica"].drop_nulls().value_counts()
        counts.append(served.filter(pl.col("count") >= EVEN * number(served["count"].mean())).height)
    serve = "replica serves" if counts[1] == 1 else "replicas serve"
    return Sign(counts[1] > counts[0], f"{counts[1]} {serve} the segment, {counts[0]} then")


def _gone(dimension: str) -> Callable[[Segment, pl.DataFrame, pl.DataFrame], Sign]:
    def look(segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
        value = dict(segment).get(dimension)
        if value is None or dimension not in now.columns or dimension not in then.columns:
            return UNSEEN
        shares = [number((frame[dimension].cast(pl.String) == value).mean()) for frame in (then, now)]
        return Sign(
            shares[1] < SERVES * shares[0],
            f"{dimension} {value} serves {shares[1]:.1%} of the requests, {shares[0]:.1%} then",
        )

    return look


def _moved(
    words: str, column: str, *, up: bool, top: bool = False
) -> Callable[[Segment, pl.DataFrame, pl.DataFrame], Sign]:
    """A look at the mean, or the top, of a column of the segment's answered requests."""

    def look(segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
        figures = []
        for frame in (then, now):
            values = _cut(frame, segment).filter("ok")[column].drop_nulls()
            if values.len() < MIN_N:
                return Sign(None, f"too few requests with {column}")
            figures.append(number(quantile(values.cast(pl.Float64), TOP) if top else values.mean()))
        before, after = figures
        done = after > before * (1 + CHANGED) if up else after < before * (1 - CHANGED)
        return Sign(done, f"{words} {after:.4g}, {before:.4g} then")

    return look


def _share(
    words: str, chosen: pl.Expr, needs: str, *, up: bool
) -> Callable[[Segment, pl.DataFrame, pl.DataFrame], Sign]:
    """A look at the share of a kind of request in the segment."""

    def look(segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
        cut = [pair for pair in segment if pair[0] != needs]
        shares = []
        for frame in (then, now):
            if needs not in frame.columns or frame[needs].null_count() == frame.height:
                return UNSEEN
            shares.append(number(_cut(frame, tuple(cut)).select(chosen.mean()).item()))
        before, after = shares
        done = after > before + SERVES if up else after < before / 2
        return Sign(done, f"{words} {after:.1%}, {before:.1%} then")

    return look


def _cached(segment: Segment, then: pl.DataFrame, now: pl.DataFrame) -> Sign:
    ratios = []
    for frame in (then, now):
        part = _cut(frame, tuple(pair for pair in segment if pair[0] != "cache_state")).filter("ok")
        fed = number(part["input_tokens"].sum())
        if fed == 0 or part["cached_input_tokens"].null_count() == part.height:
            return UNSEEN
        ratios.append(number(part["cached_input_tokens"].sum()) / fed)
    before, after = ratios
    return Sign(
        after > before * (1 + CHANGED) and after > SERVES, f"{after:.1%} of the input is cached, {before:.1%} then"
    )


SIGNS: dict[str, Callable[[Segment, pl.DataFrame, pl.DataFrame], Sign]] = {
    "scale_out": _replicas,
    "autoscale_policy": _replicas,
    "replica_drain": _gone("replica"),
    "rollback_version": _gone("deployment_version"),
    "raise_batch_limit": _moved("the largest batches hold", "batch_size", up=True, top=True),
    "lower_batch_limit": _moved("the largest batches hold", "batch_size", up=False, top=True),
    "input_length_cap": _moved("mean input tokens", "input_tokens", up=False),
    "output_length_control": _moved("mean output tokens", "output_tokens", up=False),
    "reasoning_budget": _moved("mean reasoning tokens", "reasoning_tokens", up=False),
    "retry_budget": _moved("mean attempts", "attempts", up=False),
    "prompt_layout": _cached,
    "prefix_caching": _cached,
    "cache_aware_routing": _cached,
    "warm_pool": _share("cold starts", pl.col("cold_start").cast(pl.String) == "true", "cold_start", up=False),
    "streaming_output": _share(
        "unstreamed requests", pl.col("streaming").cast(pl.String) == "false", "streaming", up=False
    ),
    "rate_limit": _share("refused requests", pl.col("status_class") == "shed", "status_class", up=True),
}
