"""Figures that are sums over requests, kept so that they can be added up when the requests are gone.

Input: an objective on a mean, a sum, a rate, a volume or a quotient of sums. Output: what is summed of a request, as
whole numbers of 1e-12 of its unit; and out of such sums the figure that the requests would have given.
Objectives on cost and on the fleet have none: their figures need prices and replica hours of their day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.exact import SCALE
from analysis.aggregates.figures import OK, is_share
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Kind, Metric
from analysis.objectives import Objective

FIGURES, NUMERATOR, DENOMINATOR = "figures", "numerator", "denominator"
SUMS: dict[str, pl.DataType] = {FIGURES: pl.Int64(), NUMERATOR: pl.Int128(), DENOMINATOR: pl.Int128()}


@dataclass(frozen=True)
class Parts:
    """What is added up of requests: those that are `known`, with their numerator, and the denominator of a quotient."""

    known: pl.Expr
    numerator: pl.Expr
    denominator: pl.Expr


@dataclass(frozen=True)
class Summed:
    """Sums of the requests of one sampling rate; `votes` as their weight among requests of other rates."""

    figures: int
    numerator: int
    denominator: int
    rate: float
    votes: int


def parts_of(item: Objective) -> Parts | None:
    """What an objective adds up; None where it counts requests, or needs more than requests."""
    metric = BY_ID.get(item.metric)
    if item.target is not None or item.percentile is not None or metric is None or "cost_pico" in metric.needs:
        return None
    if metric.per_request:
        value = pl.col(metric.column)
        known = value.is_not_null() & OK if item.statistic == "mean" else value.is_not_null()
        return Parts(known, value, pl.lit(1))
    if metric.numerator is None or metric.kind is Kind.FLEET or is_share(metric):
        return None
    if metric.kind is Kind.VOLUME:
        return Parts(metric.numerator.is_not_null(), metric.numerator, pl.lit(1))
    if metric.denominator is None:
        return None
    both = metric.numerator.is_not_null() & metric.denominator.is_not_null()
    return Parts(both, metric.numerator, metric.denominator)


def sums_of(item: Objective) -> list[pl.Expr]:
    """Aggregations of a group of requests: FIGURES, NUMERATOR and DENOMINATOR; all 0 where there is nothing to add."""
    parts = parts_of(item)
    if parts is None:
        return [pl.lit(0, kind).alias(name) for name, kind in SUMS.items()]

    def total(value: pl.Expr) -> pl.Expr:
        scaled = (value.cast(pl.Float64) * SCALE).round(0).cast(pl.Int128)
        return pl.when(parts.known.fill_null(value=False)).then(scaled).sum()

    return [
        parts.known.fill_null(value=False).sum().cast(pl.Int64).alias(FIGURES),
        total(parts.numerator).alias(NUMERATOR),
        total(parts.denominator).alias(DENOMINATOR),
    ]


def value_of(item: Objective, sums: Iterable[Summed], seconds: float | None) -> float | None:
    """The figure of an objective over requests told by their sums; None where none has it.

    Args:
        sums: one entry per sampling rate, or several.
        seconds: length of the time that they arrived in, for figures per second.
    """
    told = [one for one in sums if one.figures]
    if not told:
        return None
    metric = BY_ID[item.metric]
    if metric.kind is Kind.RATIO or item.statistic == "mean":
        return _quotient(metric, told)
    # the numerator of a volume is weighted by the metric itself
    weighted = metric.kind is Kind.VOLUME
    total = sum(Fraction(one.numerator) / (1 if weighted else Fraction(one.rate)) for one in told) / int(SCALE)
    if metric.kind is Kind.VOLUME or item.statistic == "rate":
        return float(total) / seconds if seconds else None
    return float(total)


def _quotient(metric: Metric, told: list[Summed]) -> float | None:
    above = sum(one.numerator * one.votes for one in told)
    below = sum(one.denominator * one.votes for one in told)
    return float(Fraction(above, below)) * metric.scale if below > 0 else None
