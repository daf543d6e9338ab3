"""Facts that rest on what a house logs beside the columns: attributes that a mapping file made dimensions.

Input: the scene, the bad requests. Output: facts, None where the attribute is not there or too rare. The dimensions are
    adapter                 name of the LoRA adapter that a request asked for
    response_schema         name or hash of the schema that the answer must follow
    prompt_hash             hash of the normalized prompt
    expert_load             load of the busiest expert over the mean of all, 1 where they are even
    client_last_token_ns    when the client had the last token, nanoseconds since 1970 UTC
and the columns of image and audio tokens.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.figures import known
from analysis.causes.scene import Scene
from analysis.rules.rule import Fact
from ingest.schema import NS_PER_S

DIMENSIONS = ("adapter", "response_schema", "prompt_hash", "expert_load", "client_last_token_ns")
FACTS = (
    *("adapter_miss_ratio", "first_of_schema_ratio", "repeated_prompt_share", "expert_imbalance"),
    *("client_tpot_ratio", "media_bad_share"),
)
MIN_N = 30
ADAPTER_GAP_S = 300.0  # an adapter that was not asked for in so long may have been evicted
ABOVE_TEXT = 1.5  # times the prefill that text of the same length takes (KB-14)
STEP_BAND = 1.25  # batches on both sides of a step; within it a steady growth stays below 1.25 (KB-30)
MIN_BATCH = 4
MAX_BATCH = 512


def promoted_facts(bad: pl.DataFrame, scene: Scene) -> dict[str, Fact]:
    """All of them."""
    facts: dict[str, Fact] = dict.fromkeys(FACTS)
    if not set(DIMENSIONS) & set(scene.inside.columns):
        return facts | {"media_bad_share": _media(bad, scene)}
    inside = scene.inside.filter("ok")
    return {
        "adapter_miss_ratio": _first_use(inside, "adapter", ADAPTER_GAP_S),
        "first_of_schema_ratio": _first_use(scene.rows.frame.filter("ok"), "response_schema", None),
        "repeated_prompt_share": _repeated(scene.inside),
        "expert_imbalance": _imbalance(inside),
        "client_tpot_ratio": _client(inside, scene.rows.start_ns),
        "media_bad_share": _media(bad, scene),
    }


def batch_step(rows: pl.DataFrame) -> float | None:
    """The largest step of the median time per token between neighboring batch sizes; None with too few requests.

    Shape: `batch_size`, `m_tpot`, no nulls.
    """
    batches = rows["batch_size"]
    steps = []
    for edge in range(MIN_BATCH, min(int(quantile(batches, 0.99) or 0), MAX_BATCH) + 1):
        below = rows.filter((pl.col("batch_size") >= edge / STEP_BAND) & (pl.col("batch_size") < edge))["m_tpot"]
        above = rows.filter((pl.col("batch_size") >= edge) & (pl.col("batch_size") < edge * STEP_BAND))["m_tpot"]
        if min(below.len(), above.len()) >= MIN_N:
            before, after = quantile(below, 0.5), quantile(above, 0.5)
            if before and after:
                steps.append(after / before)
    return max(steps) if steps else None


def _wait_column(frame: pl.DataFrame) -> str | None:
    """Time before the first token that a first use lengthens."""
    names = ("t_prefill", "t_before_first_token")
    return next((name for name in names if frame[name].null_count() < frame.height), None)


def _first_use(frame: pl.DataFrame, name: str, gap_s: float | None) -> float | None:
    """Median prefill per uncached token of first uses over that of the others; on each replica, after a gap if given."""
    column = _wait_column(frame)
    if name not in frame.columns or column is None:
        return None
    groups = [name, *(["replica"] if "replica" in frame.columns else [])]
    rows = frame.drop_nulls([name, column, "uncached"]).sort("at", maintain_order=True)
    since = pl.col("at").diff().over(groups)
    first = since.is_null() if gap_s is None else since.is_null() | (since > gap_s)
    rows = rows.select(first.alias("first"), (pl.col(column) / pl.col("uncached").clip(1)).alias("wait"))
    firsts, others = rows.filter("first")["wait"], rows.filter(~pl.col("first"))["wait"]
    if min(firsts.len(), others.len()) < MIN_N:
        return None
    usual = quantile(others, 0.5)
    return (quantile(firsts, 0.5) or 0.0) / usual if usual else None


def _repeated(frame: pl.DataFrame) -> float | None:
    if "prompt_hash" not in frame.columns:
        return None
    hashes = frame["prompt_hash"].drop_nulls()
    return 1 - hashes.n_unique() / hashes.len() if hashes.len() >= MIN_N else None


def _imbalance(frame: pl.DataFrame) -> float | None:
    if "expert_load" not in frame.columns:
        return None
    loads = frame["expert_load"].cast(pl.String).cast(pl.Float64, strict=False).drop_nulls()
    middle = quantile(loads, 0.5) if loads.len() >= MIN_N else None
    return None if middle is None else middle - 1


def _client(frame: pl.DataFrame, start_ns: int) -> float | None:
    """Median of the client's time per token over the server's."""
    if not {"client_last_token_ns", "m_tpot", "m_ttft"} <= set(frame.columns):
        return None
    last = pl.col("client_last_token_ns").cast(pl.String).cast(pl.Int64, strict=False)
    spent = (last - start_ns) / NS_PER_S - pl.col("at") - pl.col("m_ttft")
    ratios = (
        frame.filter((pl.col("output_tokens") > 1) & (pl.col("m_tpot") > 0))
        .select(ratio=spent / (pl.col("output_tokens") - 1) / pl.col("m_tpot"))["ratio"]
        .drop_nulls()
    )
    return quantile(ratios, 0.5) if ratios.len() >= MIN_N else None


def _media(bad: pl.DataFrame, scene: Scene) -> float | None:
    """Share of the bad requests that carry media and prefill longer than text of their length does."""
    names = [name for name in ("image_input_tokens", "audio_input_tokens") if scene.rows.has(name)]
    if not names or bad.height == 0:
        return None
    media = pl.sum_horizontal(pl.col(name).fill_null(0) for name in names) > 0
    text = scene.inside.filter(pl.col("ok") & ~media & (pl.col("uncached") > 0))
    rate = quantile(text.select(rate=pl.col("t_prefill") / pl.col("uncached"))["rate"].drop_nulls(), 0.5)
    if text.height < MIN_N or rate is None:
        return None
    return known(bad.select((media & (pl.col("t_prefill") > ABOVE_TEXT * rate * pl.col("uncached"))).mean()).item())
