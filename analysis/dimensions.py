"""Dimensions of a measured frame as text: columns, computed ones and those a mapping file promoted.

`where` of an objective and filters of a selection compare text; a promoted dimension lies in the JSON column
`dimensions`.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ingest.schema import REPEATED
from ingest.selection import DIMENSIONS

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

TEXTS = frozenset(  # dimensions that are text or codes for it
    {*DIMENSIONS} & {*REPEATED, "session", "cache_state", "input_bucket", "output_bucket"}
)
Where = tuple[tuple[str, tuple[str, ...]], ...]


def dimension(name: str) -> pl.Expr:
    """Values of a dimension as text, null where a request has none; a quoted JSON value loses its quotes."""
    if name in DIMENSIONS:
        return pl.col(name).cast(pl.String)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return pl.col("dimensions").str.json_path_match(f'$["{escaped}"]')


def matches(where: Where) -> pl.Expr:
    """True for requests that have one of the values of every dimension named; never null."""
    expr = pl.lit(value=True)
    for name, values in where:
        told = pl.col(name) if name in TEXTS else dimension(name)  # codes need no text to be compared
        expr = expr & told.is_in([_canonical(name, value) for value in values]).fill_null(value=False)
    return expr


def grouped(pairs: Iterable[tuple[str, str]]) -> Where:
    """(dimension, value) pairs with the values of one dimension together, in order of first mention."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return tuple((name, tuple(values)) for name, values in found.items())


def _canonical(name: str, value: str) -> str:
    if name == "hour" and value.isdigit():
        return str(int(value))
    if name == "weekday" and len(value) >= 3:
        for number, day in enumerate(WEEKDAYS, 1):
            if day.startswith(value.lower()):
                return str(number)
    if name in ("streaming", "degraded", "cold_start"):
        return value.lower()
    return value
