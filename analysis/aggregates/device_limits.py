"""How near self-hosted models came to the limits of their devices.

Input: requests with tokens, batch sizes and stage times; replica hours; the fleet file. Output: one RooflineLine per
model of the fleet that requests name, and the MFU over all of them.
Source: metric definitions, section 12. Attention's FLOPs are left out, so shares are a little too low for long
prompts. Decode is taken one token per step: where speculative decoding yields several, the measured time per token
may lie below the floor of a step, which is a sign of it and no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from analysis.aggregates.statistics import quantile_expr
from analysis.fleet import Fleet, FleetModel
from analysis.result import RooflineLine
from analysis.roofline import decode_floor_s, flops, intensity, roofline

AT_THE_LIMIT = 0.5  # above one half, the device's limit is the larger part of the measured time
KV_FULL = 0.9  # share of the KV cache at which admission begins to wait or to preempt


def mfu(requests: pl.DataFrame, hours: pl.DataFrame | None, fleet: Fleet | None) -> float | None:
    """Share of the devices' FLOPs, while up, that went into tokens; None without fleet file or replica hours.

    Args:
        requests: model, tokens and `sampling_rate`; work of a sample is divided by it.
        hours: model and `up_s` of replica hours within the same range; never sampled.
    """
    if fleet is None or hours is None:
        return None
    done = _work(requests, fleet)
    up = _up_seconds(hours)
    both = [model for model in fleet.models if model.model in done and up.get(model.model, 0.0) > 0]
    if not both:
        return None
    work = sum(done[model.model] for model in both)
    return work / sum(_peak(model) * up[model.model] for model in both)


def roofline_lines(requests: pl.DataFrame, hours: pl.DataFrame | None, fleet: Fleet | None) -> list[RooflineLine]:
    """How near each model of the fleet came to its limits, by name.

    Args:
        requests: rows of the store with status `ok` and the model, in any order; unmeasured columns are null.
        hours: as in `mfu`.
    """
    if fleet is None:
        return []
    done, up = _work(requests, fleet), _up_seconds(hours)
    lines = []
    for model in sorted(fleet.models, key=lambda m: m.model):
        rows = requests.filter(pl.col("model") == model.model)
        if rows.is_empty():
            continue
        seconds = up.get(model.model, 0.0)
        share = done.get(model.model, 0.0) / (_peak(model) * seconds) if seconds else None
        lines.append(_line(model, _measured(rows), share))
    return lines


@dataclass(frozen=True)
class _Measured:
    """Medians over the requests of one model; null where no request has the figure."""

    uncached_tokens: float | None
    context_tokens: float | None
    batch_size: float | None
    prefill_s_per_token: float | None
    decode_s_per_token: float | None
    kv_cache_usage: float | None  # P95
    preemptions: float | None  # mean


def _measured(rows: pl.DataFrame) -> _Measured:
    uncached = pl.col("input_tokens") - pl.col("cached_input_tokens").fill_null(0)
    after_first = pl.col("output_tokens") - pl.col("llm_calls").fill_null(1)
    calls = pl.col("llm_calls").fill_null(1).clip(1)
    found = rows.select(
        quantile_expr(uncached / calls, 0.5).alias("uncached_tokens"),
        quantile_expr((pl.col("input_tokens") + pl.col("output_tokens") / 2) / calls, 0.5).alias("context_tokens"),
        quantile_expr("batch_size", 0.5).alias("batch_size"),
        quantile_expr((pl.col("prefill_ns") / 1e9 / uncached).filter(uncached > 0), 0.5).alias("prefill_s_per_token"),
        quantile_expr((pl.col("generation_ns") / 1e9 / after_first).filter(after_first > 0), 0.5).alias(
            "decode_s_per_token"
        ),
        quantile_expr("kv_cache_usage", 0.95).alias("kv_cache_usage"),
        pl.col("preemptions").mean(),
    )
    return _Measured(**found.row(0, named=True))


def _line(model: FleetModel, measured: _Measured, mfu_share: float | None) -> RooflineLine:
    limits = roofline(model)
    batch = measured.batch_size if measured.batch_size is not None and measured.batch_size > 0 else 1.0
    context = batch * (measured.context_tokens or 0.0)
    floor = decode_floor_s(model, context)
    prefill_use = _use(limits.prefill_floor_s, measured.prefill_s_per_token)
    decode_use = _use(floor, measured.decode_s_per_token)
    prefill_intensity = None if measured.uncached_tokens is None else intensity(model, measured.uncached_tokens)
    full = (measured.kv_cache_usage or 0.0) >= KV_FULL and (measured.preemptions or 0.0) > 0
    reached = [
        name
        for name, near in (
            ("kv_capacity", full),
            ("compute", (prefill_use or 0.0) >= AT_THE_LIMIT),
            ("bandwidth", (decode_use or 0.0) >= AT_THE_LIMIT),
        )
        if near
    ]
    return RooflineLine(
        model=model.model,
        flops_per_token=limits.flops_per_token,
        kv_token_bytes=limits.kv_token_bytes,
        weight_bytes=limits.weight_bytes,
        kv_capacity_tokens=limits.kv_capacity_tokens,
        prefill_floor_s_per_token=limits.prefill_floor_s,
        decode_floor_s_per_step=floor,
        ridge=limits.ridge,
        batch_size=measured.batch_size,
        prefill_intensity=prefill_intensity,
        decode_intensity=intensity(model, batch, context),
        prefill_s_per_token=measured.prefill_s_per_token,
        decode_s_per_token=measured.decode_s_per_token,
        compute_use=prefill_use,
        bandwidth_use=decode_use,
        kv_cache_usage_p95=measured.kv_cache_usage,
        mfu=mfu_share,
        prefill_bound=None if prefill_intensity is None else _bound(prefill_intensity, limits.ridge),
        decode_bound=_bound(intensity(model, batch, context), limits.ridge),
        limits=reached,
        speculative=None if decode_use is None else decode_use > 1,
    )


def _bound(value: float, ridge: float) -> str:
    return "compute" if value >= ridge else "bandwidth"


def _use(floor: float, measured: float | None) -> float | None:
    return floor / measured if measured else None


def _work(requests: pl.DataFrame, fleet: Fleet) -> dict[str, float]:
    """FLOPs per model of the fleet, sampled rows divided by their rate."""
    uncached = pl.col("input_tokens") - pl.col("cached_input_tokens").fill_null(0)
    sums = (
        requests.with_columns(pl.col("sampling_rate").fill_null(1.0))
        .group_by("model", "sampling_rate")
        .agg(uncached.sum().alias("uncached"), pl.col("output_tokens").sum().alias("output"))
        .sort("model", "sampling_rate", nulls_last=True)  # floats are added in one order, or the last digit moves
    )
    done: dict[str, float] = {}
    for name, rate, fresh, output in sums.iter_rows():
        model = fleet.model(name)
        if model is not None:
            done[model.model] = done.get(model.model, 0.0) + flops(model, fresh, output) / rate
    return done


def _up_seconds(hours: pl.DataFrame | None) -> dict[str, float]:
    if hours is None:
        return {}
    known = hours.filter(pl.col("model").is_not_null() & pl.col("up_s").is_not_null())
    return {
        str(name): math.fsum(part.get_column("up_s"))
        for (name,), part in known.partition_by("model", as_dict=True).items()
    }


def _peak(model: FleetModel) -> float:
    return model.device.flops_per_s * model.devices_per_replica
