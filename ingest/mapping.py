"""A house's own names: mapping.yaml, read and checked with line numbers.

Input: YAML text. Output: one frozen Mapping; it goes before every built-in list of names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal, cast

from ingest.bounds import LEAST_RATE
from ingest.errors import ConfigError
from ingest.schema import REQUESTS, STAGES
from ingest.selection import DIMENSIONS, parse_instant, zone_of
from ingest.yaml_document import Node, parse_yaml, read_yaml

Unit = Literal["", "s", "ms", "us", "ns"]

KEYS = ("columns", "attributes", "stages", "dimensions", "timezone", "start", "sampling_rate")
UNITS: tuple[Unit, ...] = ("s", "ms", "us", "ns")
# what a mapping may fill: columns that a source states, under their short names, and what columns are worked out from
_NOT_STATED = {
    "request_key",
    "upload_id",
    "source",
    "root",
    "dimensions",
    "flags",
    "attributes",
    "n_call_rows",
    "generation_basis",
    "itl_basis",
    "token_gaps_ns",
    "sampling_rate",
}
PSEUDO_FIELDS = ("first_output", "tpot", "status", "retries")
FIELDS: dict[str, str] = {  # short name -> canonical column, or the pseudo field itself
    column.name.removesuffix("_ns").removesuffix("_usd"): column.name
    for column in REQUESTS
    if column.name not in _NOT_STATED
} | {name: name for name in PSEUDO_FIELDS}
COLUMN_FIELDS = FIELDS | {"sampling_rate": "sampling_rate"}  # of flat tables; spans tell it in their trace state
_STAGE_PATTERN = re.compile(r"[^\s].*")


@dataclass(frozen=True)
class ColumnSource:
    """Source column that gives a canonical column of a flat table; `unit` of a duration or an epoch time."""

    name: str
    unit: Unit = ""


@dataclass(frozen=True)
class Mapping:
    """Names that go before the built-in ones.

    columns: short canonical name (COLUMN_FIELDS: `ttft`, `input_tokens`) -> source column of flat tables.
    attributes: canonical field -> span attributes, best first.
    stages: pattern of a span name (`vector.*`, with * for any text) -> stage, in order.
    dimensions: dimension -> attribute or source column that is promoted to it.
    timezone: IANA zone of times without zone.
    start_ns: instant from which times count that are told from the start of a trace or run (key `start`).
    sampling_rate: share of requests the source kept; rows of a flat table that state their own keep it.
    """

    columns: dict[str, ColumnSource] = field(default_factory=dict)
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stages: tuple[tuple[str, str], ...] = ()
    dimensions: dict[str, str] = field(default_factory=dict)
    timezone: str = "UTC"
    sampling_rate: float | None = None
    start_ns: int | None = None


def read_mapping(path: Path) -> Mapping:
    """The mapping of a file.

    Raises:
        ConfigError: it cannot be read, or breaks a rule; the message names file, line, value and remedy.
    """
    return _mapping(read_yaml(path))


def parse_mapping(text: str, name: str = "mapping.yaml") -> Mapping:
    """The mapping of a YAML text.

    Raises:
        ConfigError: it breaks a rule; the message names file, line, value and remedy.
    """
    return _mapping(parse_yaml(text, name))


def _mapping(root: Node) -> Mapping:
    entries = root.keys(KEYS, "the mapping file")
    return Mapping(
        columns=_columns(entries["columns"]) if "columns" in entries else {},
        attributes=_attributes(entries["attributes"]) if "attributes" in entries else {},
        stages=_stages(entries["stages"]) if "stages" in entries else (),
        dimensions=_dimensions(entries["dimensions"]) if "dimensions" in entries else {},
        timezone=_timezone(entries["timezone"]) if "timezone" in entries else "UTC",
        sampling_rate=_rate(entries["sampling_rate"]) if "sampling_rate" in entries else None,
        start_ns=_start(entries["start"], entries.get("timezone")) if "start" in entries else None,
    )


def _columns(node: Node) -> dict[str, ColumnSource]:
    columns: dict[str, ColumnSource] = {}
    for name, value in node.keys(COLUMN_FIELDS, "columns").items():
        if isinstance(value.value, dict):
            parts = value.keys(("from", "unit"), f"columns, {name}")
            if "from" not in parts:
                raise value.error(f"columns, {name} lacks the key from: the name of the source column")
            unit = cast("Unit", parts["unit"].choice(UNITS, f"the unit of {name}")) if "unit" in parts else ""
            columns[name] = ColumnSource(parts["from"].text(f"columns, {name}, from"), unit)
        else:
            columns[name] = ColumnSource(value.text(f"columns, {name}"))
    return columns


def _attributes(node: Node) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for name, value in node.keys(FIELDS, "attributes").items():
        what = f"attributes, {name}"
        items = value.items(what) if isinstance(value.value, list) else [value]
        if not items:
            raise value.error(f"{what} is an empty list; name an attribute or leave the key out")
        names[name] = tuple(item.text(what) for item in items)
    return names


def _stages(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple(
        (pattern, value.choice(STAGES, f'the stage of "{pattern}"'))
        for pattern, value in node.entries("stages").items()
        if _STAGE_PATTERN.fullmatch(pattern)
    )


def _dimensions(node: Node) -> dict[str, str]:
    dimensions: dict[str, str] = {}
    for name, value in node.entries("dimensions").items():
        if name in DIMENSIONS:
            raise value.error(f'dimensions, "{name}" is a dimension already; map it under columns or attributes')
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", name):
            raise value.error(f'dimensions, "{name}" must be letters, digits, and _ . - (at most 64)')
        dimensions[name] = value.text(f"dimensions, {name}")
    return dimensions


def _timezone(node: Node) -> str:
    name = node.text("timezone")
    try:
        zone_of(name)
    except ConfigError as error:
        raise node.error(error.message) from None
    return name


def _start(node: Node, zone: Node | None) -> int:
    try:
        return parse_instant(node.text("start"), _timezone(zone) if zone is not None else "UTC")
    except ConfigError as error:
        raise node.error(f"start: {error.message}") from None


def _rate(node: Node) -> float:
    rate = float(node.number("sampling_rate", low=Decimal(0), high=Decimal(1)))
    if rate == 0:
        raise node.error("sampling_rate is 0, and must be above 0: the share of requests that the source kept")
    if rate < LEAST_RATE:
        raise node.error(f"sampling_rate is {node.value}, and must be at least {LEAST_RATE:g}")
    return rate
