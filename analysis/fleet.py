"""fleet.yaml: devices, models and replicas of a self-hosted service, and what they cost.

Input: YAML text. Output: one frozen Fleet; every fault is a ConfigError with file, line, value, rule, remedy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path

from ingest.yaml_document import Node, read_yaml

SPLITS: tuple[str, ...] = ("requests", "input_tokens", "output_tokens", "cost")

_TOP = ("devices", "models", "replicas", "other")
_DEVICE = ("tflops_bf16", "memory_gb", "bandwidth_tb_s", "usd_per_hour")
_MODEL = (
    "model",
    "parameters",
    "active_parameters",
    "layers",
    "kv_heads",
    "head_dim",
    "weight_bytes",
    "kv_bytes",
    "device",
    "devices_per_replica",
)
_REPLICA = ("replica", "model", "usd_per_hour", "count")
_OTHER = ("name", "usd_per_month", "split_by")


@dataclass(frozen=True)
class Device:
    """One accelerator: FLOP/s in BF16, bytes, bytes per second, USD per hour."""

    name: str
    flops_per_s: float
    memory_bytes: float
    bandwidth_bytes_per_s: float
    usd_per_hour: Decimal | None


@dataclass(frozen=True)
class FleetModel:
    """What the roofline needs to know of a model; `active_parameters` is the part a token passes through."""

    model: str
    parameters: float
    active_parameters: float
    layers: int
    kv_heads: int
    head_dim: int
    weight_bytes: float
    kv_bytes: float
    device: Device
    devices_per_replica: int


@dataclass(frozen=True)
class ReplicaRate:
    """Price of the replicas whose name fits `pattern` (* for any text); `count` of them run, if it is given."""

    pattern: str
    model: str | None
    usd_per_hour: Decimal | None
    count: int | None


@dataclass(frozen=True)
class OtherCost:
    """A monthly amount beside tokens and replicas, split by a figure of the requests."""

    name: str
    usd_per_month: Decimal
    split_by: str


@dataclass(frozen=True)
class Fleet:
    devices: tuple[Device, ...] = ()
    models: tuple[FleetModel, ...] = ()
    replicas: tuple[ReplicaRate, ...] = ()
    other: tuple[OtherCost, ...] = ()
    name: str | None = None
    sha256: str | None = None

    def model(self, name: str | None) -> FleetModel | None:
        return next((m for m in self.models if m.model == name), None)

    def rate(self, replica: str, model: str | None) -> Decimal | None:
        """USD per hour of a replica: its first fitting line, else its model's devices; None if neither is priced."""
        for line in self.replicas:
            if fnmatchcase(replica, line.pattern) and line.usd_per_hour is not None:
                return line.usd_per_hour
        known = self.model(model)
        if known is None or known.device.usd_per_hour is None:
            return None
        return known.device.usd_per_hour * known.devices_per_replica


def read_fleet(path: Path) -> Fleet:
    """The fleet of a file.

    Raises:
        ConfigError: a line breaks a rule.
    """
    top = read_yaml(path).keys(_TOP, "the fleet file")
    devices = _devices(top.get("devices"))
    models = tuple(_model(node, devices) for node in _list_of(top, "models"))
    return Fleet(
        devices=tuple(devices.values()),
        models=models,
        replicas=tuple(_replica(node) for node in _list_of(top, "replicas")),
        other=tuple(_other(node) for node in _list_of(top, "other")),
        name=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _list_of(top: dict[str, Node], key: str) -> Sequence[Node]:
    return top[key].items(key) if key in top else ()


def _devices(node: Node | None) -> dict[str, Device]:
    found: dict[str, Device] = {}
    for name, value in node.entries("devices").items() if node else ():
        keys = value.keys(_DEVICE, f'device "{name}"')

        def figure(key: str, unit: float, value: Node = value, keys: dict[str, Node] = keys, name: str = name) -> float:
            return float(_positive(_needed(value, keys, key, f'device "{name}"'), key)) * unit

        found[name] = Device(
            name=name,
            flops_per_s=figure("tflops_bf16", 1e12),
            memory_bytes=figure("memory_gb", 1e9),
            bandwidth_bytes_per_s=figure("bandwidth_tb_s", 1e12),
            usd_per_hour=keys["usd_per_hour"].number("usd_per_hour", low=Decimal(0))
            if "usd_per_hour" in keys
            else None,
        )
    return found


def _model(node: Node, devices: dict[str, Device]) -> FleetModel:
    keys = node.keys(_MODEL, "a model of the fleet")
    name = _needed(node, keys, "model", "a model of the fleet").text("model")
    what = f'the model "{name}"'

    def figure(key: str) -> float:
        return float(_positive(_needed(node, keys, key, what), key))

    def whole(key: str) -> int:
        return _needed(node, keys, key, what).integer(key, low=1)

    parameters = figure("parameters")
    return FleetModel(
        model=name,
        parameters=parameters,
        active_parameters=figure("active_parameters") if "active_parameters" in keys else parameters,
        layers=whole("layers"),
        kv_heads=whole("kv_heads"),
        head_dim=whole("head_dim"),
        weight_bytes=figure("weight_bytes"),
        kv_bytes=figure("kv_bytes"),
        device=devices[_needed(node, keys, "device", what).choice(devices, "device")],
        devices_per_replica=whole("devices_per_replica") if "devices_per_replica" in keys else 1,
    )


def _replica(node: Node) -> ReplicaRate:
    keys = node.keys(_REPLICA, "a replica of the fleet")
    return ReplicaRate(
        pattern=_needed(node, keys, "replica", "a replica of the fleet").text("replica"),
        model=keys["model"].text("model") if "model" in keys else None,
        usd_per_hour=keys["usd_per_hour"].number("usd_per_hour", low=Decimal(0)) if "usd_per_hour" in keys else None,
        count=keys["count"].integer("count", low=1) if "count" in keys else None,
    )


def _other(node: Node) -> OtherCost:
    keys = node.keys(_OTHER, "an entry of other")
    return OtherCost(
        name=_needed(node, keys, "name", "an entry of other").text("name"),
        usd_per_month=_needed(node, keys, "usd_per_month", "an entry of other").number("usd_per_month", low=Decimal(0)),
        split_by=keys["split_by"].choice(SPLITS, "split_by") if "split_by" in keys else "requests",
    )


def _positive(node: Node, what: str) -> Decimal:
    number = node.number(what)
    if number <= 0:
        raise node.error(f"{what} is {node.value}, and must be above 0")
    return number


def _needed(node: Node, keys: dict[str, Node], key: str, what: str) -> Node:
    if key not in keys:
        raise node.error(f"{what} has no {key}")
    return keys[key]
