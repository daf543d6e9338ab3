"""Limits of one request: a constant, a table by input length, or a line in the tokens.

    2100ms                                                    one limit for all
    500ms + 0.4ms/token                                       a + b for every uncached input token
    {"<2k": 800ms, "2k-8k": 2s, else: "500ms + 0.4ms/token"}  by input length; a band holds its lower edge

A token is an uncached input token (what prefill works on), unless written /input_token or /output_token. Where the
cached part is not known, all of the input counts. A request outside all bands has no limit and is not judged.
Source: metric definitions, section 4: a fixed limit is unfair across lengths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import polars as pl

from analysis import durations
from analysis.errors import ObjectivesError
from analysis.metrics.metric import Metric, Unit

_TOKENS: dict[str, pl.Expr] = {
    "token": pl.col("input_tokens") - pl.col("cached_input_tokens").fill_null(0),
    "uncached_input_token": pl.col("input_tokens") - pl.col("cached_input_tokens").fill_null(0),
    "input_token": pl.col("input_tokens"),
    "output_token": pl.col("output_tokens"),
}
_SLOPE = re.compile(r"^(.+?)\s*/\s*([a-z_]+)$")
_BAND = re.compile(r"^\s*(?:(<|>=)\s*([0-9]+k?)|([0-9]+k?)\s*-\s*([0-9]+k?))\s*$")


@dataclass(frozen=True)
class Line:
    """base + slope x tokens, in the unit of the metric."""

    base: float
    slope: float = 0.0
    tokens: str = "token"

    def expr(self) -> pl.Expr:
        if self.slope == 0.0:
            return pl.lit(self.base)
        return self.base + self.slope * _TOKENS[self.tokens]


@dataclass(frozen=True)
class Band:
    """Input lengths [low, high) in tokens with their limit; null: open on that side."""

    low: int | None
    high: int | None
    limit: Line


@dataclass(frozen=True)
class Threshold:
    """The limit of a metric; `text` as the user wrote it."""

    text: str
    bands: tuple[Band, ...]
    otherwise: Line | None

    @property
    def constant(self) -> float | None:
        """The limit where it is the same for every request."""
        if self.bands or self.otherwise is None or self.otherwise.slope != 0.0:
            return None
        return self.otherwise.base

    def limit(self) -> pl.Expr:
        """Limit of each request: null where a needed length is unknown or no band holds it."""
        expr: pl.Expr = pl.lit(None, pl.Float64()) if self.otherwise is None else self.otherwise.expr()
        if not self.bands:
            return expr
        for band in reversed(self.bands):
            expr = pl.when(_holds(band)).then(band.limit.expr()).otherwise(expr)
        return pl.when(pl.col("input_tokens").is_not_null()).then(expr)

    def has_limit(self) -> pl.Expr:
        """False for a request that no band holds, so that no limit is meant for it; null where the length is unknown."""
        if not self.bands or self.otherwise is not None:
            return pl.lit(value=True)
        return pl.any_horizontal(_holds(band) for band in self.bands)


def read_threshold(value: object, metric: Metric) -> Threshold:
    """A threshold in the unit of its metric.

    Args:
        value: scalar text, or a mapping from bands of input length to limits.
        metric: whose unit the limit must have.

    Raises:
        ObjectivesError: no unit, a unit of something else, or a band that is none.
    """
    if not isinstance(value, dict):
        text = str(value).strip()
        return Threshold(text, (), _read_line(text, metric))
    bands: list[Band] = []
    otherwise: Line | None = None
    for key, limit in value.items():
        line = _read_line(str(limit).strip(), metric)
        if str(key).strip() == "else":
            otherwise = line
        else:
            bands.append(_read_band(str(key), line))
    if not bands:
        raise ObjectivesError("a threshold table needs at least one band such as <2k")
    bands.sort(key=lambda band: (band.low or 0, band.high or 0))
    for before, after in pairwise(bands):
        if before.high is None or (after.low or 0) < before.high:
            raise ObjectivesError("two bands of the threshold table overlap")
    return Threshold("; ".join(f"{key}: {limit}" for key, limit in value.items()), tuple(bands), otherwise)


def read_limit(text: str, unit: Unit) -> Fraction:
    """One limit in a unit: 500ms, 0.0039 USD, 1%, 0.01 or 12.

    Raises:
        ObjectivesError: not of that unit.
    """
    if unit in (Unit.SECOND, Unit.SECOND_PER_TOKEN):
        return durations.seconds(text)
    if unit is Unit.USD:
        return durations.usd(text)
    if unit is Unit.RATIO:
        return durations.ratio(text)
    return durations.number(re.sub(r"\s*(?:/s|per second)$", "", text) if unit is Unit.PER_SECOND else text)


def _read_line(text: str, metric: Metric) -> Line:
    base, slope, tokens = Fraction(0), Fraction(0), "token"
    for part in re.split(r"(?<![eE])\s*\+\s*", text):
        sloped = _SLOPE.match(part.strip())
        if sloped and sloped[2] in _TOKENS:
            if slope:
                raise ObjectivesError(f"{text} has two parts per token; one is possible")
            slope, tokens = read_limit(sloped[1], metric.unit), sloped[2]
        else:
            base += read_limit(part.strip(), metric.unit)
    return Line(float(base), float(slope), tokens)


def _read_band(key: str, line: Line) -> Band:
    found = _BAND.match(key)
    if not found:
        raise ObjectivesError(f'"{key}" is no band of input length. Write <2k, 2k-8k, >=8k or else')
    if found[1] == "<":
        return Band(None, durations.length(found[2]), line)
    if found[1] == ">=":
        return Band(durations.length(found[2]), None, line)
    low, high = durations.length(found[3]), durations.length(found[4])
    if low >= high:
        raise ObjectivesError(f'band "{key}" is empty')
    return Band(low, high, line)


def _holds(band: Band) -> pl.Expr:
    tokens = pl.col("input_tokens")
    expr = pl.lit(value=True)
    if band.low is not None:
        expr = expr & (tokens >= band.low)
    if band.high is not None:
        expr = expr & (tokens < band.high)
    return expr
