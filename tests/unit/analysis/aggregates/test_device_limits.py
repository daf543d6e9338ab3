"""Shares of the devices' limits that requests reached."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from analysis.aggregates.device_limits import mfu, roofline_lines
from analysis.fleet import Device, Fleet, FleetModel
from analysis.result import RooflineLine
from analysis.roofline import decode_floor_s, intensity, roofline
from tests.support.money import ns, replica_hours, requests

H100 = Device("h100-80", 990e12, 80e9, 3.35e12, Decimal("3.90"))
LARGE = FleetModel("lm-large", 32e9, 32e9, 64, 8, 128, 2.0, 2.0, H100, 2)
FLEET = Fleet(devices=(H100,), models=(LARGE,))
MS = 1_000_000


def near(value: float, tolerance: float | None = None) -> Any:
    return pytest.approx(value, abs=tolerance)


def test_mfu_is_the_work_of_the_tokens_over_the_peak_while_up() -> None:
    rows = requests(
        {"model": "lm-large", "input_tokens": 60_000, "cached_input_tokens": 10_000, "output_tokens": 5_000},
        {"model": "lm-large", "input_tokens": 1_000, "output_tokens": 100, "sampling_rate": 0.1},
        {"model": "someone-else", "input_tokens": 10**6, "output_tokens": 10},
    )
    hours = replica_hours({"replica": "a", "model": "lm-large", "hour_ns": ns("2026-03-02T11:00:00Z"), "up_s": 10.0})
    # (55,000 + 11,000) tokens x 64 GFLOP over 10 s of 1980 TFLOP/s
    assert mfu(rows, hours, FLEET) == pytest.approx(66_000 * 64e9 / 1.98e16)
    assert mfu(rows, None, FLEET) is None
    assert mfu(rows, hours, None) is None
    assert mfu(rows.filter(model="someone-else"), hours, FLEET) is None


def test_a_line_sets_measured_times_against_the_floors() -> None:
    row = {
        "model": "lm-large", "input_tokens": 3_000, "cached_input_tokens": 1_000, "output_tokens": 201, "llm_calls": 1,
        "batch_size": 4.0, "prefill_ns": 100 * MS, "generation_ns": 4_000 * MS, "kv_cache_usage": 0.5, "preemptions": 0.0,
    }  # fmt: skip
    (line,) = roofline_lines(requests(row, row, {"model": "other"}), None, FLEET)
    context = 4 * 3_100.5
    floor = decode_floor_s(LARGE, context)
    assert line == RooflineLine(
        model="lm-large",
        flops_per_token=64e9,
        kv_token_bytes=262_144,
        weight_bytes=64e9,
        kv_capacity_tokens=305_175,
        prefill_floor_s_per_token=roofline(LARGE).prefill_floor_s,
        decode_floor_s_per_step=floor,
        ridge=roofline(LARGE).ridge,
        batch_size=4.0,
        prefill_intensity=2_000.0,
        decode_intensity=intensity(LARGE, 4, context),
        prefill_s_per_token=50e-6,
        decode_s_per_token=0.02,
        compute_use=near(0.646, 0.001),
        bandwidth_use=near(floor / 0.02),
        kv_cache_usage_p95=0.5,
        mfu=None,
        prefill_bound="compute",
        decode_bound="bandwidth",
        limits=["compute", "bandwidth"],
        speculative=False,
    )
    assert line.bandwidth_use == near(0.502, 0.001)


def test_a_full_cache_with_preemptions_is_a_limit_and_a_full_one_alone_is_not() -> None:
    row = {"model": "lm-large", "input_tokens": 10, "output_tokens": 2, "kv_cache_usage": 0.95}
    assert roofline_lines(requests({**row, "preemptions": 1.0}), None, FLEET)[0].limits == ["kv_capacity"]
    assert roofline_lines(requests({**row, "preemptions": 0.0}), None, FLEET)[0].limits == []


def test_more_than_a_token_per_step_is_a_sign_of_speculation() -> None:
    row = {"model": "lm-large", "input_tokens": 10, "output_tokens": 101, "generation_ns": 500 * MS}  # 5 ms a token
    assert roofline_lines(requests(row), None, FLEET)[0].speculative is True


def test_without_fleet_or_requests_there_is_no_line() -> None:
    assert roofline_lines(requests({"model": "lm-large"}), None, None) == []
    assert roofline_lines(requests({"model": "other"}), None, FLEET) == []
    assert roofline_lines(requests({"model": "lm-large"}), None, FLEET)[0].speculative is None
