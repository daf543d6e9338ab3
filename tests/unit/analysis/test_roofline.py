"""The roofline: the worked figures of lm-large."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from analysis.fleet import Device, Fleet, FleetModel
from analysis.roofline import Roofline, decode_floor_s, flops, intensity, kv_token_bytes, roofline

H100 = Device("h100-80", 990e12, 80e9, 3.35e12, Decimal("3.90"))
LARGE = FleetModel("lm-large", 32e9, 32e9, 64, 8, 128, 2.0, 2.0, H100, 2)
FLEET = Fleet(devices=(H100,), models=(LARGE,))
MS = 1_000_000


def near(value: float, tolerance: float | None = None) -> Any:
    return pytest.approx(value, abs=tolerance)


def test_the_worked_figures_of_lm_large() -> None:
    found = roofline(LARGE)
    assert found == Roofline(
        flops_per_token=64e9,
        kv_token_bytes=262_144,
        weight_bytes=64e9,
        kv_capacity_tokens=305_175,
        prefill_floor_s=near(32.3e-6, 0.05e-6),
        decode_floor_s=near(9.55e-3, 0.005e-3),
        ridge=near(295.5, 0.05),
    )


def test_decoding_one_sequence_has_intensity_one_and_three_hundred_reach_the_ridge() -> None:
    assert intensity(LARGE, 1) == 1.0
    assert intensity(LARGE, 295) < roofline(LARGE).ridge <= intensity(LARGE, 296)


def test_context_makes_a_step_longer() -> None:
    # 100,000 tokens x 262,144 B more to read, over 6.7 TB/s
    assert decode_floor_s(LARGE, 100_000) - decode_floor_s(LARGE, 0) == near(0.0039126, 1e-6)


def test_cached_input_costs_no_work() -> None:
    assert flops(LARGE, 1_000, 100) == 2 * 32e9 * 1_100


def test_of_a_mixture_of_experts_only_the_active_part_works_and_all_of_it_lies_in_memory() -> None:
    experts = FleetModel("moe", 100e9, 10e9, 64, 8, 128, 1.0, 1.0, H100, 2)
    found = roofline(experts)
    assert kv_token_bytes(experts) == 131_072
    assert (found.flops_per_token, found.weight_bytes, found.kv_capacity_tokens) == (20e9, 100e9, 335_693)


def test_a_model_that_does_not_fit_has_no_room_for_a_cache() -> None:
    assert roofline(FleetModel("huge", 400e9, 400e9, 64, 8, 128, 2.0, 2.0, H100, 2)).kv_capacity_tokens == 0
