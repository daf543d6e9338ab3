"""Times over the floor of the devices."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.causes.floors import floor_ratios
from analysis.causes.rows import prepare
from analysis.fleet import Device, Fleet, FleetModel
from analysis.metrics.measure import measure
from tests.support.builders import frame, request

# the worked model: prefill floor 32.3 us per token, decode floor 9.55 ms at an empty cache
DEVICE = Device("h100-80", 990e12, 80e9, 3.35e12, None)
FLEET = Fleet(models=(FleetModel("lm-large", 32e9, 32e9, 64, 8, 128, 2, 2, DEVICE, 2),))


def rows(model: str, count: int = 40) -> pl.DataFrame:
    return prepare(
        measure(
            frame(
                request(
                    n, at_s=float(n), ttft_ms=323.0, tpot_ms=19.1, model=model, input_tokens=1000, output_tokens=101,
                    prefill_ms=323.2, decode_ms=1910.0,
                )
                for n in range(count)
            )
        )
    ).frame  # fmt: skip


def test_the_ratios_are_measured_time_over_the_floor_of_the_model() -> None:
    found = floor_ratios(rows("lm-large"), FLEET)
    assert found["prefill_floor_ratio"] == pytest.approx(10.0, rel=0.01)
    assert found["decode_floor_ratio"] == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("model", "fleet", "count"), [("lm-large", None, 40), ("other", FLEET, 40), ("lm-large", FLEET, 20)]
)
def test_without_a_fleet_a_known_model_or_enough_requests_nothing_is_said(
    model: str, fleet: Fleet | None, count: int
) -> None:
    found = floor_ratios(rows(model, count), fleet)
    assert found == {"prefill_floor_ratio": None, "decode_floor_ratio": None}
