"""Scalars out of Polars, as floats.

Polars types what a column's mean or a cell may be as nearly anything; here it becomes a float, or None.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.aggregates.weighted import mixed, percentiles_of

STEADY_DIGITS = 12  # sums over threads differ in the last of sixteen digits; the same input must give the same bytes


def steady(value: float | str | None) -> float | str | None:
    """A figure without the digits that the order of a parallel sum decides."""
    return float(f"{value:.{STEADY_DIGITS}g}") if isinstance(value, float) else value


def number(value: object) -> float:
    """The value as a float; nothing (no rows, all null) is 0."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def known(value: object) -> float | None:
    """The value as a float, None where there is none."""
    return float(value) if isinstance(value, (int, float)) else None


def votes_in(frame: pl.DataFrame) -> pl.Series | None:
    """Votes of the rows, where they stand for different numbers of requests; None where all count alike."""
    return frame["votes"] if "votes" in frame.columns and mixed(frame) else None


def mean(frame: pl.DataFrame, column: str) -> float:
    """Mean of the known values, each by its votes; 0 without any."""
    votes = votes_in(frame)
    if votes is None:
        return number(frame[column].mean())
    whole = number(votes.filter(frame[column].is_not_null()).sum())
    return number((frame[column] * votes).sum()) / whole if whole else 0.0


def total(frame: pl.DataFrame, column: str) -> float:
    """Sum of a column by votes, of any part of the rows; in the ratio of two such sums the unit of a vote cancels out."""
    return number((frame[column].cast(pl.Float64) * frame["votes"]).sum())


def share_of(frame: pl.DataFrame, claim: pl.Series) -> float | None:
    """Share of the requests of which a claim is true among those of which it is known, each by its votes."""
    votes = votes_in(frame)
    if votes is None:
        return known(claim.mean())
    whole = number(votes.filter(claim.is_not_null()).sum())
    return number(votes.filter(claim.fill_null(value=False)).sum()) / whole if whole else None


def percentile(frame: pl.DataFrame, column: str, p: float) -> float | None:
    """The p-quantile of the known values, by votes."""
    if votes_in(frame) is None:
        return quantile(frame[column], p)
    return known(frame.select(percentiles_of(frame)(column, p)).item())


def voted_share(frame: pl.DataFrame, column: str) -> float | None:
    """Share of the requests for which a column is true, each by its votes; None without requests."""
    whole = number(frame["votes"].sum())
    return number(frame.filter(column)["votes"].sum()) / whole if whole else None


def weighted_mean(frame: pl.DataFrame, column: str) -> float:
    """Mean of a column by the weight `w`, and by votes; 0 without weight."""
    votes = votes_in(frame)
    weight = frame["w"] if votes is None else frame["w"] * votes
    whole = number(weight.sum())
    return number((frame[column] * weight).sum()) / whole if whole else 0.0
