"""What a metric is: a record, and nothing that runs.

A metric of kind `request` is a figure of one request, null where the trace cannot say. The other kinds are figures of
many requests: `ratio` is a quotient of two sums (a share of requests is one of ones and zeros), `volume` a sum per
second of wall clock, `fleet` a figure that needs replica hours or the fleet file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl


class Unit(StrEnum):
    SECOND = "s"
    SECOND_PER_TOKEN = "s/token"  # noqa: S105 - a token of text
    RATIO = "ratio"
    COUNT = "count"
    USD = "USD"
    PER_SECOND = "per_s"
    TOKENS_PER_USD = "tokens/USD"


class Better(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"


class Kind(StrEnum):
    REQUEST = "request"
    RATIO = "ratio"
    VOLUME = "volume"
    FLEET = "fleet"


@dataclass(frozen=True)
class Metric:
    """One metric.

    needs: columns of `requests` (or of a measured frame) without which it is unknown.
    expr: of a request metric: its value in `unit`, over the columns of `requests`.
    numerator, denominator: of a ratio, summed over the requests for which both are known; of a volume, the numerator
        alone, divided by seconds. Over the columns of a measured frame.
    scale: factor of a ratio, such as 1e6 for "per million".
    column: name in a measured frame; the id, unless a dimension has that name.
    elapsed: a running request is known to have at least its elapsed time of it, so a limit can be passed early.
    """

    id: str
    title: str
    unit: Unit
    better: Better
    kind: Kind
    needs: tuple[str, ...]
    says: str
    source: str
    expr: pl.Expr | None = None
    numerator: pl.Expr | None = None
    denominator: pl.Expr | None = None
    scale: float = 1.0
    column_name: str = ""
    elapsed: bool = False

    @property
    def column(self) -> str:
        return self.column_name or self.id

    @property
    def per_request(self) -> bool:
        return self.kind is Kind.REQUEST
