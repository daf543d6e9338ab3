"""Where the time went: seconds of each stage over all requests, the slowest 5 % and the bad ones.

Input: a measured frame with `good_verdict`. Output: StageShare records in the order of time; a stage that no request
has measured is left out. Shares are time-weighted: seconds of the stage over seconds of E2E, so they sum to 1.
Stages never exceed E2E by more than the tolerance: a request whose stages do (clocks of two hosts apart) is left out
of the table; `skewed` tells.
Source: metric definitions, sections 1 and 7.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.verdicts import BAD
from analysis.aggregates.weighted import Sorted
from analysis.result import StageShare
from ingest.schema import NS_PER_S, STAGES

TOLERANCE_NS = 1_000_000  # stage times are often written in whole milliseconds, so sums may be off by some
TOLERANCE_SHARE = 0.001
BEFORE_FIRST_TOKEN = (
    "gateway",
    "network",
    "guardrail",
    "retrieval",
    "rerank",
    "queue",
    "prefill",
    "before_first_token",
)
_NAMED = [stage for stage in STAGES if stage != "unattributed"]
_EXPLAINED = pl.sum_horizontal(pl.col(f"{stage}_ns").fill_null(0) for stage in _NAMED)
_REST = pl.col("e2e_ns") - _EXPLAINED


def stage_shares(frame: pl.DataFrame) -> list[StageShare]:
    """Stages with their shares; unattributed is what no stage explains, so the seconds sum to E2E."""
    rows = staged(frame)
    if rows.is_empty():
        return []
    ordered = Sorted.of(rows, "e2e_ns")
    limit = ordered.at(0.95)
    slow = rows.filter(pl.col("e2e_ns") > limit)
    bad = rows.filter(pl.col("good_verdict") == BAD) if "good_verdict" in rows.columns else rows.clear()
    one_call = rows.filter((pl.col("llm_calls").fill_null(1) <= 1) & pl.col("ttft_ns").is_not_null())
    low, high = (ordered.at(p) for p in (0.985, 0.995))
    near = rows.filter(pl.col("e2e_ns").is_between(low, high))
    whole, slowest, bads, first, at_p99 = (_seconds(part) for part in (rows, slow, bad, one_call, near))
    # network and filters lie on both sides of the first token, so their sum may pass TTFT: the shares stay within 1
    ttft = one_call.select(exact_sum(pl.col("ttft_ns") / NS_PER_S * pl.col("weight"))).item()
    ttft = max(ttft or 0.0, sum(first[stage] for stage in BEFORE_FIRST_TOKEN))
    found: list[StageShare] = []
    for stage in STAGES:
        n = rows.height if stage == "unattributed" else rows.get_column(f"{stage}_ns").count()
        if n == 0:
            continue
        found.append(
            StageShare(
                stage=stage,
                seconds=whole[stage],
                share=_ratio(whole[stage], whole["e2e"]),
                share_slowest_5_percent=_ratio(slowest[stage], slowest["e2e"]),
                n=n,
                mean_seconds=_ratio(whole[stage], _requests(rows, stage)),
                share_of_ttft=_ratio(first[stage], ttft) if stage in BEFORE_FIRST_TOKEN else None,
                mean_seconds_slowest_5_percent=_ratio(slowest[stage], _requests(slow)),
                mean_seconds_bad=_ratio(bads[stage], _requests(bad)),
                share_p99=_ratio(at_p99[stage], at_p99["e2e"]),
                share_bad=_ratio(bads[stage], bads["e2e"]),
            )
        )
    return found


def staged(frame: pl.DataFrame) -> pl.DataFrame:
    """Requests with a known E2E whose stages fit into it, with `unattributed_ns` filled in."""
    columns = [
        *(f"{stage}_ns" for stage in STAGES),
        "e2e_ns",
        "ttft_ns",
        "llm_calls",
        "good_verdict",
        "weight",
        "votes",
    ]
    return (
        frame.lazy()
        .select(name for name in columns if name in frame.columns)
        .filter(pl.col("e2e_ns").is_not_null() & ~skewed())
        .with_columns(unattributed().alias("unattributed_ns"))
        .collect()
    )


def unattributed() -> pl.Expr:
    """Nanoseconds of E2E that no stage explains, as the source states them, else what the stages leave."""
    return pl.coalesce("unattributed_ns", _REST)


def skewed() -> pl.Expr:
    """Whether the stages of a request are longer than its E2E, beyond what rounding explains; never null."""
    allowed = pl.max_horizontal(pl.lit(float(TOLERANCE_NS)), pl.col("e2e_ns") * TOLERANCE_SHARE)
    return (allowed < -_REST).fill_null(value=False)


def _seconds(rows: pl.DataFrame) -> dict[str, float]:
    """Seconds of every stage and of E2E, divided by the sampling rate; 0 for a stage that nobody measured."""
    known = [stage for stage in STAGES if rows.get_column(f"{stage}_ns").null_count() < rows.height]
    weight = pl.col("weight")
    sums = rows.select(
        *(exact_sum(pl.col(f"{stage}_ns") / NS_PER_S * weight).alias(stage) for stage in known),
        exact_sum(pl.col("e2e_ns") / NS_PER_S * weight).alias("e2e"),
    )
    return dict.fromkeys(STAGES, 0.0) | {name: float(value) for name, value in sums.row(0, named=True).items()}


def _requests(rows: pl.DataFrame, stage: str = "unattributed") -> float:
    """Requests that the rows with a known stage stand for."""
    known = rows.filter(pl.col(f"{stage}_ns").is_not_null())
    return float(known.select(exact_sum(pl.col("weight"))).item())


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
