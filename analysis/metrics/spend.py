"""Cost of a request and per token, cache hits, and what a unit of capacity yields.

Input: `cost_pico` (exact integer pico-USD, null where there is no price) of priced requests. The float USD made here
serves thresholds and charts; sums of money are made elsewhere, on the integers.
Source: metric definitions, section 6.
"""

from __future__ import annotations

import polars as pl

from analysis.division import divided
from analysis.metrics.metric import Better, Kind, Metric, Unit

PICO = 1e12
_COST = divided(pl.col("cost_pico"), PICO)
_TOKENS = pl.col("input_tokens") + pl.col("output_tokens")


def _ratio(
    metric_id: str,
    title: str,
    numerator: pl.Expr,
    denominator: pl.Expr,
    *,
    scale: float = 1.0,
    unit: Unit = Unit.USD,
    better: Better = Better.LOWER,
    needs: tuple[str, ...],
    says: str,
) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=unit,
        better=better,
        kind=Kind.RATIO,
        needs=needs,
        numerator=numerator,
        denominator=denominator,
        scale=scale,
        says=says,
        source="price book and the tokens of the source",
    )


COST = Metric(
    id="cost",
    title="Cost",
    unit=Unit.USD,
    better=Better.LOWER,
    kind=Kind.REQUEST,
    needs=("cost_pico",),
    expr=_COST,
    says="Price of all tokens of the request, retries included; unknown where there is no price.",
    source="price book",
)

SPEND: tuple[Metric, ...] = (
    _ratio(
        "cost_per_1k_tokens",
        "Cost per 1,000 tokens",
        _COST,
        _TOKENS,
        scale=1e3,
        needs=("cost_pico", "input_tokens", "output_tokens"),
        says="Cost over input and output tokens, times 1,000.",
    ),
    _ratio(
        "cost_per_million_output_tokens",
        "Cost per million output tokens",
        _COST,
        pl.col("output_tokens"),
        scale=1e6,
        needs=("cost_pico", "output_tokens"),
        says="Cost over output tokens, times a million.",
    ),
    _ratio(
        "output_tokens_per_usd",
        "Output tokens per USD",
        pl.col("output_tokens"),
        _COST,
        unit=Unit.TOKENS_PER_USD,
        better=Better.HIGHER,
        needs=("cost_pico", "output_tokens"),
        says="Output tokens that one USD buys.",
    ),
    _ratio(
        "cache_hit_ratio",
        "Prompt cache hit ratio",
        pl.col("cached_input_tokens"),
        pl.col("input_tokens"),
        unit=Unit.RATIO,
        better=Better.HIGHER,
        needs=("cached_input_tokens", "input_tokens"),
        says="Cached input tokens over input tokens, of requests for which the cached part is known.",
    ),
)


def _fleet(metric_id: str, title: str, unit: Unit, *, better: Better, needs: tuple[str, ...], says: str) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=unit,
        better=better,
        kind=Kind.FLEET,
        needs=needs,
        says=says,
        source="replica hours as loaded or from the fleet file",
    )


FLEET: tuple[Metric, ...] = (
    _fleet(
        "gpu_cost_per_million_output_tokens",
        "GPU cost per million output tokens",
        Unit.USD,
        better=Better.LOWER,
        needs=("replica_hours.cost_usd", "output_tokens"),
        says="Cost of the model's replica hours, idle ones included, over the output tokens it produced, times a million.",
    ),
    _fleet(
        "gpu_utilization",
        "GPU utilization",
        Unit.RATIO,
        better=Better.HIGHER,
        needs=("replica_hours.busy_s", "replica_hours.up_s"),
        says="Busy over up seconds of replica hours: a busy share, not a hardware counter.",
    ),
    _fleet(
        "mfu",
        "Model FLOPs utilization",
        Unit.RATIO,
        better=Better.HIGHER,
        needs=("fleet", "replica_hours.up_s"),
        says="Floating-point work of the tokens over what the devices could have done while up; attention is left out.",
    ),
)
