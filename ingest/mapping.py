"""A house's own names: mapping.yaml, read and checked with line numbers.

Input: YAML text. Output: one frozen Mapping.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["", "s", "ms", "us", "ns"]


@dataclass(frozen=True)
class ColumnSource:
    """Source column that gives a canonical column of a flat table; `unit` of a duration or an epoch time."""

    name: str
    unit: Unit = ""


@dataclass(frozen=True)
class Mapping:
    """Names that go before the built-in ones.

    columns: canonical column -> source column of flat tables.
    attributes: canonical field -> span attributes, best first.
    stages: pattern of a span name (`vector.*`, with * for any text) -> stage, in order.
    dimensions: dimension -> attribute or source column that is promoted to it.
    timezone: IANA zone of times without zone.
    sampling_rate: share of requests the source kept.
    """

    columns: dict[str, ColumnSource] = field(default_factory=dict)
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stages: tuple[tuple[str, str], ...] = ()
    dimensions: dict[str, str] = field(default_factory=dict)
    timezone: str = "UTC"
    sampling_rate: float | None = None
