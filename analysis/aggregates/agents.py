"""Agents and quality: steps of a request and what they cost beside their work; quality beside cost and latency.

Input: a measured frame. Output: AgentFigures over requests with status ok that have several model calls or a tool
step; QualityLine per model where a source carries a score. A step is a model call or a tool call; where a source
does not tell one of the two, how many steps there were is not known, and neither is the overhead of one. Percentiles,
means and shares weigh each request by its votes; `n` counts rows.
Source: each step of an agent pays gateway, retrieval and post-processing again, and they add up.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.weighted import percentiles_of, weighted_mean
from analysis.result import AgentFigures, QualityLine

_STEPS = pl.col("model_calls").fill_null(1) + pl.col("tool_steps").fill_null(0)


def agent_figures(frame: pl.DataFrame) -> AgentFigures | None:
    """Figures of requests with more than one step; None without any."""
    several = frame.select("status_class", "model_calls", "tool_steps", "overhead", "e2e", "votes").filter(
        OK & (_STEPS > 1)
    )
    if several.is_empty():
        return None
    percentile, votes = percentiles_of(several), pl.col("votes")
    each = pl.col("overhead") / (pl.col("model_calls") + pl.col("tool_steps"))
    row = several.select(
        weighted_mean(pl.col("model_calls")).alias("calls_mean"),
        percentile("model_calls", 0.95).alias("calls_p95"),
        weighted_mean(pl.col("tool_steps")).alias("tool_steps_mean"),
        percentile(each, 0.5).alias("overhead_per_step_p50"),
        percentile(each, 0.95).alias("overhead_per_step_p95"),
        percentile("overhead", 0.5).alias("overhead_p50"),
        percentile("overhead", 0.95).alias("overhead_p95"),
    ).row(0, named=True)
    both = several.filter(pl.col("overhead").is_not_null() & pl.col("e2e").is_not_null())
    overhead, whole = both.select(exact_sum(pl.col(name) * votes) for name in ("overhead", "e2e")).row(0)
    return AgentFigures(n=several.height, overhead_share=overhead / whole if whole else None, **row)


def quality_lines(frame: pl.DataFrame) -> list[QualityLine]:
    """Mean quality per model, with mean cost and median latency of the same requests; empty without any score."""
    scored = frame.select("model", "quality", "cost", "e2e", "ttft", "votes").drop_nulls("quality")
    percentile = percentiles_of(scored)
    table = (
        scored.group_by("model")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            weighted_mean(pl.col("quality")).alias("quality_mean"),
            weighted_mean(pl.col("cost")).alias("cost_mean_usd"),
            percentile("e2e", 0.5).alias("e2e_p50"),
            percentile("ttft", 0.5).alias("ttft_p50"),
        )
        .sort("model", nulls_last=True)
    )
    return [QualityLine(**row) for row in table.to_dicts()]
