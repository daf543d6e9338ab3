"""How far the time of a model lies above what its devices could do at best.

Input: bad requests of a finding, the fleet file. Output: facts prefill_floor_ratio and decode_floor_ratio, None without
a fleet file, without the model in it, or without the stage times.
Source: metric definitions, section 12; with several tokens a step (speculation) the decode ratio may lie below 1.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.fleet import Fleet
from analysis.roofline import decode_floor_s, roofline
from analysis.rules.rule import Fact

LONG_PROMPT = 800  # uncached tokens from which prefill time is work and not overhead
MIN_REQUESTS = 30


def floor_ratios(bad: pl.DataFrame, fleet: Fleet | None) -> dict[str, Fact]:
    """Measured time over its floor, for the model with most bad requests."""
    facts: dict[str, Fact] = {"prefill_floor_ratio": None, "decode_floor_ratio": None}
    if fleet is None or "model" not in bad.columns or bad.height < MIN_REQUESTS:
        return facts
    names = bad["model"].drop_nulls().cast(pl.String).value_counts().sort("count", "model", descending=[True, False])
    model = fleet.model(str(names["model"][0])) if names.height else None
    if model is None:
        return facts
    mine = bad.filter(pl.col("ok") & (pl.col("model").cast(pl.String) == model.model))
    long = mine.filter(pl.col("uncached") > LONG_PROMPT)
    prefill = quantile(long.select(rate=pl.col("t_prefill") / pl.col("uncached"))["rate"], 0.5)
    made = mine.filter(pl.col("output_tokens") > pl.col("llm_calls"))
    per_token = made.select(rate=pl.col("t_decode") / (pl.col("output_tokens") - pl.col("llm_calls")))["rate"]
    decode = quantile(per_token, 0.5)
    if prefill is not None:
        facts["prefill_floor_ratio"] = prefill / roofline(model).prefill_floor_s
    if decode is not None:
        facts["decode_floor_ratio"] = decode / decode_floor_s(model, 0.0)
    return facts
