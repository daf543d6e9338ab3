"""What a replica could do at best: the roofline of a self-hosted model.

Input: a model of the fleet file. Output: FLOPs, bytes and the least times possible.
Source: metric definitions, section 12. P is the part of the parameters a token passes through; all of them must lie
in memory. Cached input costs no FLOPs. Attention's own FLOPs are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.fleet import FleetModel

MEMORY_SHARE = 0.9  # of the device memory: the rest is activations and the engine, as vLLM's default has it


@dataclass(frozen=True)
class Roofline:
    """Limits of one replica of a model; the floors are the least times possible."""

    flops_per_token: float
    kv_token_bytes: float
    weight_bytes: float
    kv_capacity_tokens: int
    prefill_floor_s: float  # per uncached input token
    decode_floor_s: float  # per step, with an empty KV cache
    ridge: float  # FLOP per byte; below it bandwidth is the limit


def roofline(model: FleetModel) -> Roofline:
    """Limits of a replica; a KV capacity of 0 says that the weights alone fill the memory."""
    devices = model.devices_per_replica
    kv_token = kv_token_bytes(model)
    weights = model.parameters * model.weight_bytes
    free = MEMORY_SHARE * model.device.memory_bytes * devices - weights
    return Roofline(
        flops_per_token=2 * model.active_parameters,
        kv_token_bytes=kv_token,
        weight_bytes=weights,
        kv_capacity_tokens=max(0, int(free // kv_token)),
        prefill_floor_s=2 * model.active_parameters / (model.device.flops_per_s * devices),
        decode_floor_s=decode_floor_s(model, 0.0),
        ridge=model.device.flops_per_s / model.device.bandwidth_bytes_per_s,
    )


def kv_token_bytes(model: FleetModel) -> float:
    """Bytes of one token in the KV cache: a key and a value per layer and head."""
    return 2 * model.layers * model.kv_heads * model.head_dim * model.kv_bytes


def flops(model: FleetModel, uncached_tokens: float, output_tokens: float) -> float:
    """Work of a request: one multiplication and one addition per parameter and token; cached input costs none."""
    return 2 * model.active_parameters * (uncached_tokens + output_tokens)


def decode_floor_s(model: FleetModel, context_tokens: float) -> float:
    """Least seconds of one decode step whose sequences hold `context_tokens` in the KV cache together."""
    return _step_bytes(model, context_tokens) / (model.device.bandwidth_bytes_per_s * model.devices_per_replica)


def intensity(model: FleetModel, tokens_per_step: float, context_tokens: float = 0.0) -> float:
    """FLOP per byte of a step that works on that many tokens: a batch in decode, a prompt in prefill."""
    return 2 * model.active_parameters * tokens_per_step / _step_bytes(model, context_tokens)


def _step_bytes(model: FleetModel, context_tokens: float) -> float:
    return model.active_parameters * model.weight_bytes + context_tokens * kv_token_bytes(model)
