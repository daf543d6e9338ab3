"""Scalars out of Polars, as floats.

Polars types what a column's mean or a cell may be as nearly anything; here it becomes a float, or None.
"""

from __future__ import annotations

import polars as pl

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


def mean(frame: pl.DataFrame, column: str) -> float:
    return number(frame[column].mean())


def voted_share(frame: pl.DataFrame, column: str) -> float | None:
    """Share of the requests for which a column is true, each by its votes; None without requests."""
    whole = number(frame["votes"].sum())
    return number(frame.filter(column)["votes"].sum()) / whole if whole else None


def weighted_mean(frame: pl.DataFrame, column: str) -> float:
    """Mean of a column by the weight `w`; 0 without weight."""
    total = number(frame["w"].sum())
    return number((frame[column] * frame["w"]).sum()) / total if total else 0.0
