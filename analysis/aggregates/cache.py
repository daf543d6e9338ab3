"""Prompt cache: which share of the input was read from it, and what that saved.

Input: a measured frame; the saving comes from the ledger. Output: one Cache record. Tokens of sampled input are
divided by its rate; the ratio weighs each request by its votes. Source: metric definitions, section 6.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.result import Cache


def cache(frame: pl.DataFrame, saved_usd: str | None) -> Cache:
    """Hit ratio over requests for which the cached part and the input are known."""
    known = frame.select("cached_input_tokens", "input_tokens", "weight", "votes").filter(
        pl.col("cached_input_tokens").is_not_null() & pl.col("input_tokens").is_not_null()
    )
    votes = pl.col("votes").cast(pl.Int128)
    plain = known.select((pl.col(name) * votes).sum() for name in ("cached_input_tokens", "input_tokens")).row(0)
    cached, whole = known.select(
        exact_sum(pl.col("cached_input_tokens") * pl.col("weight")).alias("cached"),
        exact_sum(pl.col("input_tokens") * pl.col("weight")).alias("whole"),
    ).row(0)
    return Cache(
        hit_ratio=plain[0] / plain[1] if plain[1] else None,
        n_known=known.height,
        hit_requests=known.filter(pl.col("cached_input_tokens") > 0).height,
        cached_input_tokens=round(cached) if known.height else None,
        input_tokens_known=round(whole) if known.height else None,
        saved_usd=saved_usd,
        response_cache_hits=int(frame.get_column("response_cached").fill_null(value=False).sum()),
    )
