"""What a recommendation would have done to the spend of the incident's time.

Input: the scene, the candidate. Output: CostEffect: USD over the incident and what they are made of, or why there is no
figure. Tokens are priced as this traffic was: input, cached input and output each at the mean price that its requests
paid; replicas at the mean price of the replica hours that were loaded.
"""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import number
from analysis.causes.prediction import served_share
from analysis.causes.rows import DRIVERS
from analysis.causes.scene import Scene
from analysis.causes.segment import within
from analysis.result import CostEffect

PICO = 1_000_000_000_000
BUSY_GOAL = 0.7  # of replica time: above it queues grow steeply
INPUT, OUTPUT = ("uncached_input_pico", "cached_input_pico"), ("output_pico",)
SETTINGS = frozenset(
    {
        *("raise_batch_limit", "lower_batch_limit", "load_balancing", "priority_scheduling", "chunked_prefill"),
        *("rollback_version", "region_routing", "gc_tuning", "async_guardrail", "proxy_buffering", "host_overhead"),
        *("connection_reuse", "streaming_output", "rerank_budget", "parallel_retrieval", "retry_budget"),
        *("timeout_degrade", "postprocess_optimise"),
    }
)
UNKNOWN = {
    **dict.fromkeys(
        ("retrieval_cache", "semantic_cache", "tool_timeout_cache"),
        "The share of repeated questions is not in the traces.",
    ),
    **dict.fromkeys(
        ("quantisation", "faster_kernels", "speculative_decoding", "kv_compression", "kv_offload", "faster_guardrail"),
        "Replicas and tokens stay as they are until fewer replicas suffice; how many is not in the traces.",
    ),
    **dict.fromkeys(
        ("prefill_decode_split", "pool_isolation", "raise_kv_capacity", "frontend_scaling"),
        "The price of the further hardware is not in the price files.",
    ),
    "budget_alert": "It tells of spend and changes none by itself.",
    "slo_review": "It changes the objective, not the service.",
    "reasoning_budget": "How many reasoning tokens a limit would save is not in the traces.",
}
NO_HOURS = "Replica hours with their cost were not loaded."
NO_PRICE = "No request of the incident has a price."


class CostEffects:
    """Effects on cost within one scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def of(self, identity: str, candidate: Candidate | None) -> CostEffect:
        """The effect of one recommendation against this cause."""
        if identity in ("scale_out", "autoscale_policy", "warm_pool", "rightsize_replicas"):
            return self._replicas(identity, candidate)
        if identity == "replica_drain":
            return CostEffect("0.00", "The drained replica is paid either way.")
        if identity in SETTINGS:
            return CostEffect("0.00", "Settings change; replicas and tokens stay as they are.")
        if identity in UNKNOWN:
            return CostEffect(None, UNKNOWN[identity])
        if candidate is None:
            return CostEffect(None, "The cause is not known, so nothing is known to be undone.")
        if identity == "rate_limit":
            return self._refused(candidate)
        if identity in ("prompt_layout", "prefix_caching", "cache_aware_routing"):
            return self._cache(candidate)
        if identity == "input_length_cap":
            return self._back_to_normal(candidate, INPUT, "Input of a normal request")
        if identity == "output_length_control":
            return self._back_to_normal(candidate, OUTPUT, "Output of a normal request")
        if identity == "model_routing":
            return self._back_to_normal(candidate, DRIVERS, "Models of a normal time")
        return CostEffect(None, "No model of this remedy's cost.")

    def _replicas(self, identity: str, candidate: Candidate | None) -> CostEffect:
        hours = self._scene.replica_hours
        if hours is None or hours.height == 0 or hours["cost_usd"].null_count():
            return CostEffect(None, NO_HOURS)
        mine = self._of_pools(hours, candidate)
        up = number(mine["up_s"].sum())
        if candidate is None or up <= 0:
            return CostEffect(None, "How many replicas it takes is not known.")
        further = _further(identity, candidate, mine)
        if further is None:
            return CostEffect(None, "How many replicas it takes is not known.")
        pico = round(further * number(mine["cost_usd"].sum()) / up * self._scene.interval.length)
        many = f"{abs(further):.1f}".removesuffix(".0")
        words = f"{many} {'further' if further >= 0 else 'fewer'} {'replica' if many == '1' else 'replicas'}"
        return CostEffect(_usd(pico), f"{words}, at the price of the replica hours.")

    def _of_pools(self, hours: pl.DataFrame, candidate: Candidate | None) -> pl.DataFrame:
        if candidate is None:
            return hours.head(0)
        if not candidate.reach:
            own = [(name, value) for name, value in candidate.segment if name in hours.columns]
            return hours.filter(within(own))
        keys = [name for name in ("model", "region") if name in self._scene.rows.dimensions]
        pool = pl.concat_str([pl.col(name).fill_null("?") for name in keys], separator="|") if keys else pl.lit("all")
        return hours.filter(pool.is_in(list(candidate.reach)))

    def _own(self, frame: pl.DataFrame, candidate: Candidate) -> pl.DataFrame:
        """Answered requests of the segment that have a price."""
        segment = [pair for pair in candidate.segment if pair[0] in frame.columns]
        return frame.filter(within(segment) & pl.col("ok") & pl.col("cost_pico").is_not_null())

    def _refused(self, candidate: Candidate) -> CostEffect:
        served = served_share(identity="rate_limit", candidate=candidate)
        mine = self._own(self._scene.inside, candidate)
        if mine.height == 0:
            return CostEffect(None, NO_PRICE)
        if served >= 1:
            return CostEffect(None, "How many requests a limit refuses is not known.")
        pico = -(1 - served) * number((mine["cost_pico"] * mine["votes"]).sum()) * self._scene.rows.each
        return CostEffect(_usd(pico), f"{1 - served:.0%} of the requests are refused and not paid.")

    def _cache(self, candidate: Candidate) -> CostEffect:
        """Cached tokens that the normal would have had, at the input price less the cached price."""
        inside, normal = (self._own(frame, candidate) for frame in (self._scene.inside, self._scene.normal))
        if not {"uncached_input_pico", "cached_input_pico"} <= set(inside.columns) or inside.height == 0:
            return CostEffect(None, NO_PRICE)
        if not self._scene.rows.has("cached_input_tokens") or normal.height == 0:
            return CostEffect(None, "Cached tokens of a normal time are not known.")
        kinds = _kinds(inside, "model", "scenario")
        both = _sums(inside.with_columns(w=pl.lit(1.0)), kinds).join(_sums(normal, kinds), on=kinds, suffix="_usual")
        expected = pl.min_horizontal(
            pl.col("fed") * pl.col("cached_usual") / pl.col("fed_usual"),
            pl.col("n") * pl.col("cached_usual") / pl.col("n_usual"),
        )
        price = (pl.col("pico_uncached") + pl.col("pico_uncached_usual")) / (
            pl.col("uncached") + pl.col("uncached_usual")
        ) - (pl.col("pico_cached") + pl.col("pico_cached_usual")) / (pl.col("cached") + pl.col("cached_usual"))
        lost = (expected - pl.col("cached")).clip(0)
        found = both.select(pico=(lost * price).fill_nan(0.0).fill_null(0.0).sum(), tokens=lost.fill_nan(0.0).sum())
        pico = -number(found["pico"][0]) * self._scene.scale
        tokens = number(found["tokens"][0]) * self._scene.scale
        return CostEffect(_usd(pico), f"{tokens:,.0f} input tokens are cached again, at the price of cached input.")

    def _back_to_normal(self, candidate: Candidate, drivers: tuple[str, ...], words: str) -> CostEffect:
        """These cost drivers at the mean of a normal request of the same scenario."""
        inside, normal = (self._own(frame, candidate) for frame in (self._scene.inside, self._scene.normal))
        known = [name for name in drivers if name in inside.columns]
        if not known or inside.height == 0:
            return CostEffect(None, NO_PRICE)
        if normal.height == 0:
            return CostEffect(None, "There is no normal time to compare with.")
        kinds = _kinds(inside, "scenario")
        spent = pl.sum_horizontal(pl.col(name).cast(pl.Float64).fill_null(0.0) for name in known)
        usual = normal.group_by(kinds).agg(usual=(spent * pl.col("w")).sum() / pl.col("w").sum())
        both = inside.group_by(kinds).agg(spent=spent.sum(), n=pl.len()).join(usual, on=kinds).sort("spent", "n")
        pico = number((both["n"] * both["usual"] - both["spent"]).sum()) * self._scene.scale
        return CostEffect(_usd(pico), f"{words}, for as many requests.")


def _further(identity: str, candidate: Candidate, mine: pl.DataFrame) -> float | None:
    """Replicas that the remedy adds, negative where it takes some away."""
    replicas = mine["replica"].n_unique()
    growth, missing = candidate.facts.get("arrivals_growth"), candidate.facts.get("replicas_missing")
    if identity in ("scale_out", "autoscale_policy"):
        if isinstance(missing, float):
            return missing
        return (growth - 1) * replicas if isinstance(growth, float) else None
    if identity == "warm_pool":
        slots = mine["hour_ns"].n_unique() * replicas
        return replicas * max(0.0, 1 - number(mine["up_s"].sum()) / (3600.0 * slots)) if slots else None
    busy = candidate.facts.get("busy_share")
    if not isinstance(busy, float):
        return None
    return -float(int(replicas * max(0.0, 1 - busy / BUSY_GOAL)))


def _kinds(frame: pl.DataFrame, *names: str) -> list[str]:
    """Dimensions that tell kinds of request apart; one that is there in any case, where none of them is."""
    return [name for name in names if name in frame.columns] or ["pool"]


def _sums(frame: pl.DataFrame, kinds: list[str]) -> pl.DataFrame:
    cached, weight = pl.col("cached_input_tokens").fill_null(0), pl.col("w")
    return (
        frame.group_by(kinds)
        .agg(
            n=weight.sum(),
            fed=(pl.col("input_tokens") * weight).sum(),
            cached=(cached * weight).sum(),
            uncached=((pl.col("input_tokens") - cached) * weight).sum(),
            pico_uncached=(pl.col("uncached_input_pico").cast(pl.Float64) * weight).sum(),
            pico_cached=(pl.col("cached_input_pico").cast(pl.Float64) * weight).sum(),
        )
        .sort(kinds)
    )


def _usd(pico: float) -> str:
    """Dollars with two decimals, more where they would be none."""
    exact = Decimal(round(pico)) / PICO
    if exact == 0:
        return "0.00"
    return f"{exact:.2f}" if abs(exact) >= Decimal("0.01") else f"{exact:.2g}"
