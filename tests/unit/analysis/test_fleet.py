"""fleet.yaml: devices, models, replicas, and how a fault is told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from analysis.fleet import Device, Fleet, FleetModel, OtherCost, ReplicaRate, read_fleet
from ingest.errors import ConfigError

FULL = """\
devices: {h100-80: {tflops_bf16: 990, memory_gb: 80, bandwidth_tb_s: 3.35, usd_per_hour: 3.90}}
models:
  - {model: lm-large, parameters: 32e9, layers: 64, kv_heads: 8, head_dim: 128, weight_bytes: 2, kv_bytes: 2, device: h100-80, devices_per_replica: 2}
replicas: [{replica: "lm-large-*", model: lm-large, usd_per_hour: 7.80}, {replica: "spare-*", count: 2}]
other: [{name: network, usd_per_month: 900, split_by: output_tokens}, {name: storage, usd_per_month: 400, split_by: requests}]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_part_of_the_file_is_read(tmp_path: Path) -> None:
    fleet = read_fleet(write(tmp_path, FULL))
    device = Device("h100-80", 990e12, 80e9, 3.35e12, Decimal("3.90"))
    assert fleet == Fleet(
        devices=(device,),
        models=(FleetModel("lm-large", 32e9, 32e9, 64, 8, 128, 2.0, 2.0, device, 2),),
        replicas=(
            ReplicaRate("lm-large-*", "lm-large", Decimal("7.80"), None),
            ReplicaRate("spare-*", None, None, 2),
        ),
        other=(
            OtherCost("network", Decimal(900), "output_tokens"),
            OtherCost("storage", Decimal(400), "requests"),
        ),
        name="fleet.yaml",
        sha256=fleet.sha256,
    )


def test_a_replica_costs_its_line_else_its_models_devices(tmp_path: Path) -> None:
    fleet = read_fleet(write(tmp_path, FULL))
    assert fleet.rate("lm-large-us-1", "lm-large") == Decimal("7.80")
    assert fleet.rate("other-name", "lm-large") == Decimal("7.80")  # two devices at 3.90
    assert fleet.rate("other-name", "lm-small") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("devices: {a: {tflops: 1}}", 'device "a" has the key "tflops", which is not known.'),
        ("devices: {a: {tflops_bf16: 1, memory_gb: 0, bandwidth_tb_s: 1}}", "memory_gb is 0, and must be above 0"),
        ("models: [{parameters: 1}]", "a model of the fleet has no model"),
        (
            "models: [{model: m, parameters: 1, layers: 1, kv_heads: 1, head_dim: 1, weight_bytes: 2, kv_bytes: 2, device: h200}]",
            'device is "h200", which is not known. Known: .',
        ),
        ("other: [{name: n, usd_per_month: 1, split_by: tokens}]", 'Did you mean "input_tokens"?'),
        ("replicas: [{replica: r, count: 0}]", "count is 0, and must be at least 1"),
    ],
)
def test_a_fault_is_told_with_line_and_remedy(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_fleet(write(tmp_path, f"# fleet\n{line}\n"))
    assert caught.value.message.startswith("fleet.yaml, line 2: ")
    assert message in caught.value.message
