"""What a recommendation promises against a run of the simulator in which it is followed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.support.simulator import LONGEST_S, promised, remedied, scored, simulated

FOLLOWED = (  # incident, seed, recommendation
    ("traffic_surge", 1, "scale_out"),
    ("traffic_surge", 1, "autoscale_policy"),
    ("traffic_surge", 2, "scale_out"),
    ("slow_replica", 1, "replica_drain"),
    ("slow_replica", 2, "replica_drain"),
    ("long_output_shift", 1, "output_length_control"),
    ("long_output_shift", 2, "output_length_control"),
)


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
def test_a_run_with_the_remedy_has_what_the_recommendation_promised(tmp_path: Path) -> None:
    told = []
    for incident, seed, remedy in FOLLOWED:
        case = simulated(tmp_path, "run", "--incident", incident, "--seed", str(seed))
        folder = tmp_path / "found" / f"{incident}-{seed}"
        scored(case, folder)
        findings = json.loads((folder / "findings.json").read_text())["findings"]
        after = remedied(tmp_path, incident, seed, remedy)
        found = promised(case, findings, remedy, after)
        sys.stdout.writelines(
            f"\n{incident} {seed} {remedy} {name}: {one['value']:.4g} promised, {value:.4g} seen"
            for name, value, one in found
        )
        told += found
    errors = [abs(one["value"] / value - 1) for _, value, one in told]
    held = sum(one["value_low"] <= value <= one["value_high"] for _, value, one in told)
    sys.stdout.write(f"\n{len(told)} promises: median error {median(errors):.3f}, {held} of {len(told)} held\n")
    assert len(told) >= 20
    assert median(errors) <= 0.20
    assert held >= 0.9 * len(told)
