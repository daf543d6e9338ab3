"""Percentiles and shares of rows that stand for different numbers of requests.

A percentile is the smallest value within which the share p of all votes lies (inverse of the weighted distribution), so
"P95 <= L" says the same as "95 % of the votes are within L" for any votes. Every figure under votes is what it would be
if each row stood there as often as it has votes. Intervals take the effective number of rows, (sum of votes)^2 / sum of
their squares, as if they were so many alike ones.
Source: metric definitions, section 9; Kish 1965 for the effective number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.statistics import Interval, exact, quantile_ends, quantile_expr, quantile_interval, rank

Percentile = Callable[[str | pl.Expr, float | Fraction], pl.Expr]


@dataclass(frozen=True)
class Sorted:
    """Known values in ascending order; `reached` is the votes up to and with each, None where each row has `each`."""

    values: pl.Series
    reached: pl.Series | None = None
    squares: int = 0
    each: int = 1

    @staticmethod
    def of(frame: pl.DataFrame, column: str) -> Sorted:
        """The known values of a column of a measured frame."""
        votes = frame.get_column("votes")
        if frame.is_empty() or votes.max() == votes.min():
            each = 1 if frame.is_empty() else int(votes.item(0))
            return Sorted(frame.get_column(column).drop_nulls().sort(), each=each)
        known = frame.select(pl.col(column).alias("value"), "votes").drop_nulls().sort("value", "votes")
        votes = known.get_column("votes")
        return Sorted(known.get_column("value"), votes.cum_sum(), int((votes.cast(pl.Int128) ** 2).sum()))

    @property
    def n(self) -> int:
        """Rows."""
        return self.values.len()

    @cached_property
    def total(self) -> int:
        """Votes of all rows."""
        return self.n * self.each if self.reached is None or not self.n else int(self.reached.item(-1))

    @property
    def effective(self) -> int:
        """Rows of equal votes that would tell as much."""
        return self.n if self.reached is None or not self.n else self.total * self.total // self.squares

    def item(self, vote: int) -> float:
        """The value that the vote of this number (from 1) has."""
        place = (vote - 1) // self.each if self.reached is None else int(self.reached.search_sorted(vote, side="left"))
        return float(self.values.item(place))

    def at(self, p: float | Fraction, beside: int = 0) -> float | None:
        """The p-quantile; None without values, or where it falls among `beside` votes that are slower than all."""
        vote = rank(p, self.total + beside)
        return self.item(vote) if self.n and vote <= self.total else None

    def within(self, limit: float) -> int:
        """Votes of the values at or below a limit."""
        rows = int(self.values.search_sorted(limit, side="right"))
        return rows * self.each if self.reached is None or not rows else int(self.reached.item(rows - 1))

    def interval(self, p: Fraction) -> Interval | None:
        """95 % interval of the p-quantile; None where the effective rows are too few.

        Under votes its ends are the values at the shares that the ranks have among the effective rows.
        """
        if self.reached is None:
            return quantile_interval(self.values, p)
        ends = quantile_ends(self.effective, p)
        if ends is None:
            return None
        low, high = (self.at(Fraction(place, self.effective)) for place in (ends.low, ends.high))
        return None if low is None or high is None else (low, high)


def mixed(frame: pl.DataFrame) -> bool:
    """Whether rows stand for different numbers of requests."""
    votes = frame.get_column("votes")
    return not frame.is_empty() and votes.max() != votes.min()


def effective(part: int, whole: int, squares: int) -> tuple[float, float]:
    """Votes for and in all as numbers of rows of equal votes: what the interval of a share is told of."""
    if squares == 0:
        return 0.0, 0.0
    return part * whole / squares, whole * whole / squares


def percentiles_of(frame: pl.DataFrame) -> Percentile:
    """How a percentile of rows of the frame is told in select and group_by: null where a group has no value.

    Where rows have different votes, the smallest value within which that share of the votes lies.
    """
    return _weighted_quantile if mixed(frame) else quantile_expr


def _weighted_quantile(column: str | pl.Expr, p: float | Fraction) -> pl.Expr:
    value = pl.col(column) if isinstance(column, str) else column
    fraction = exact(p)
    order = value.arg_sort(nulls_last=True)
    reached = pl.when(value.is_not_null()).then(pl.col("votes")).otherwise(0).gather(order).cum_sum().cast(pl.Int128)
    wanted = (reached.last() * fraction.numerator + (fraction.denominator - 1)) // fraction.denominator
    place = (reached < wanted.clip(lower_bound=1)).sum()
    return value.gather(order).get(place, null_on_oob=True)


def weighted_mean(expr: pl.Expr) -> pl.Expr:
    """Mean of the known values, each by its votes; null without any."""
    votes = pl.when(expr.is_not_null()).then(pl.col("votes"))
    return pl.when(expr.count() > 0).then(exact_sum(expr * votes) / votes.sum())
