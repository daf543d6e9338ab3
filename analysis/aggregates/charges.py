"""Charge lines: what is added up in every table of money, and the adding itself.

Input: priced requests (of a selection, with the dimensions that are asked for), the calls of the ledger.
Output: one line per request, or per call where a request is priced by call; group sums as whole pico-USD.
A request counts once, at its last call; model, provider, requested model and replica are those of the call.
A sum of sampled rows is divided by the sampling rate exactly (as a fraction) and cut to whole units by largest
remainder, so the parts of every table add up to the same total, to the last pico-USD.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

import polars as pl

from analysis.dimensions import dimension
from analysis.ledger import DRIVERS, TOKEN_COLUMNS, Ledger, meter_tokens
from analysis.money import apportion, round_half_even
from analysis.pricebook import METERS
from ingest.errors import ConfigError
from ingest.schema import REPEATED
from ingest.selection import DIMENSIONS

CALENDAR: tuple[str, ...] = ("day", "month")  # of the start, in the time zone of the selection
WASTE: dict[str, tuple[str, ...]] = {  # kind -> status classes of a request
    "failed": ("error", "truncated", "shed"),
    "timed_out": ("timeout",),
    "retried": (),  # calls that failed inside a request that did not
    "abandoned": ("cancelled",),
}
_AT_ONCE = 500_000  # requests that are condensed together
PROMOTED = "*dimensions"  # all dimensions of the mapping file together, as the JSON text of the row
_FAILED_CALL = ("error", "truncated", "shed", "timeout")
_OF_THE_CALL = ("model", "requested_model", "provider", "replica")

Key = tuple[str | None, ...]
Cube = dict[Key, dict[str, int]]

TOKENS: tuple[str, ...] = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
MEASURES: dict[str, pl.Expr] = {  # what is summed: exact integers
    "requests": pl.col("requests"),
    "priced": pl.col("requests").filter(pl.col("unpriced_request").not_()),
    "unpriced_requests": pl.col("requests").filter(pl.col("unpriced_request")),
    "charged": pl.col("charged"),
    "cost": pl.col("cost_pico"),
    "wasted": pl.col("cost_pico").filter(pl.col("waste").is_not_null()),
    **{name: pl.col(name) for name in TOKENS},
    **{f"known_{name}": pl.col(f"known_{name}") for name in TOKENS},
}
_COVERED = pl.col("verdict").is_not_null()
GOOD: dict[str, pl.Expr] = {  # and the money of the traffic that the good ones are of
    "good": pl.col("requests").filter(pl.col("verdict") == "good"),
    "covered_charged": pl.col("charged").filter(_COVERED),
    "covered_cost": pl.col("cost_pico").filter(_COVERED),
}
DRIVER_MEASURES: dict[str, pl.Expr] = {
    **{f"{driver}_pico": pl.col(f"{driver}_pico") for driver in DRIVERS},
    "saved_pico": pl.col("saved_pico"),
    **{f"{meter}_meter": pl.col(f"{meter}_meter") for meter in METERS},
}


class KeptCharges(Protocol):
    """Charge lines of days whose requests are gone."""

    def lines(self, by: Sequence[str], timezone: str) -> pl.DataFrame:
        """Lines in the columns of `charge_lines`, several charges in one; their keys and status are not known.

        Raises:
            ConfigError: a dimension was not kept, or a day of that zone was not kept apart.
        """


def charge_lines(
    priced: pl.DataFrame,
    ledger: Ledger,
    by: Sequence[str],
    timezone: str = "UTC",
    *,
    kept: KeptCharges | None = None,
) -> pl.DataFrame:
    """One line per charge, with the dimensions `by` as text; arguments as for `condensed_lines`."""
    return _lines(priced, ledger, by, timezone, _told(priced, by, timezone, kept)).collect()


def condensed_lines(
    priced: pl.DataFrame,
    ledger: Ledger,
    by: Sequence[str],
    timezone: str = "UTC",
    *,
    kept: KeptCharges | None = None,
) -> pl.DataFrame:
    """Charge lines that agree in everything but their figures as one, so that many tables cost one pass.

    Shape: (groups, columns of the lines without keys and status), a group perhaps in several rows; figures are sums, in
    128 bits where those of all rows might pass 64; `first_ns` and `last_ns` the range of the starts.

    Args:
        priced: requests of a selection with the columns of the ledger, and those of the asked dimensions.
        by: dimensions, promoted ones included, or `day` and `month`.
        timezone: of `day` and `month`.
        kept: lines of days that were rolled up, charged at prices of `ledger` too.

    Raises:
        ConfigError: a dimension is not known, neither here nor by any request.
    """
    keys = [*(f"by_{name}" for name in by), *_KEYS]
    number = pl.Int64 if kept is None and not _is_wide(priced, ledger.calls) else pl.Int128
    figures = [pl.col(name).cast(number).sum() for name in _FIGURES]
    range_of = (pl.col("started_ns").min().alias("first_ns"), pl.col("last_ns").max())
    told = _told(priced, by, timezone, kept)
    parts, nothing = [], set(_FIGURES)
    for start in range(0, max(1, priced.height), _AT_ONCE):  # of many users there are nearly as many lines as rows
        lines = _lines(priced.slice(start, _AT_ONCE), ledger, by, timezone, [] if start else told)
        part = lines.group_by(keys).agg(*figures, *range_of).collect(engine="streaming")
        nothing -= {name for name in nothing if (part.get_column(name) != 0).any()}
        parts.append(part)
    zeros = [pl.lit(0, number).alias(name) for name in _FIGURES if name in nothing]  # held once, not per line
    columns = parts[0].columns
    return pl.concat([part.drop(nothing) for part in parts]).with_columns(zeros).select(columns)


def _is_wide(priced: pl.DataFrame, calls: pl.DataFrame) -> bool:
    """Whether a sum of figures might pass 64 bits; where none can, they add up in a fraction of the time."""
    most = 0
    for part in (priced, calls):
        told = [name for name in (*TOKEN_COLUMNS, *_AMOUNTS) if name in part.columns]
        ends = part.select(
            *(pl.col(n).max().name.suffix(" max") for n in told), *(pl.col(n).min().name.suffix(" min") for n in told)
        )
        most = max([most, *(abs(int(value)) for value in ends.row(0) if value is not None)])
    height = max(1, priced.height + calls.height)
    return most >= 2**60 // height  # a meter is a difference of four of them


def _told(priced: pl.DataFrame, by: Sequence[str], timezone: str, kept: KeptCharges | None) -> list[pl.DataFrame]:
    """Lines of days that were rolled up; every dimension is known by them or by the requests."""
    told = [] if kept is None else [kept.lines(by, timezone)]
    for name in by:
        if not any(lines.get_column(f"by_{name}").count() for lines in told):
            _check(name, priced)
    return told


def _lines(
    priced: pl.DataFrame, ledger: Ledger, by: Sequence[str], timezone: str, told: Sequence[pl.DataFrame]
) -> pl.LazyFrame:
    dims = [_dimension(name, timezone).alias(f"by_{name}") for name in by]
    whole = priced.lazy().with_columns(
        *dims,
        _verdict(priced).alias("verdict"),
        pl.col("unpriced").is_not_null().alias("unpriced_request"),
        _waste().alias("waste"),
    )
    plain = whole.filter(~pl.col("priced_by_call")).with_columns(
        pl.lit(1, pl.Int64).alias("requests"), pl.col("unpriced").is_not_null().alias("counts_unpriced")
    )
    columns = [*(f"by_{name}" for name in by), *_COLUMNS]
    frames = [_finish(plain, columns)]
    if not ledger.calls.is_empty():
        calls = _call_lines(whole, ledger.calls, by)
        frames.append(_finish(calls, columns))
    frames += [lines.lazy().select(columns) for lines in told]
    codes = [*(f"by_{name}" for name in by if name in (*REPEATED, *CALENDAR)), *_TEXT]
    coded = [frame.with_columns(pl.col(codes).cast(pl.Categorical)) for frame in frames]
    return pl.concat(coded, how="vertical_relaxed" if told else "vertical")


_KEYS: tuple[str, ...] = (
    "model",
    "provider",
    "sampling_rate",
    "unpriced_request",
    "unpriced",
    "verdict",
    "waste",
    "price_index",
)
_TEXT = ("status_class", "model", "provider", "unpriced", "verdict", "waste")
_FIGURES: tuple[str, ...] = (
    "requests",
    "charged",  # 1 for a line whose cost is known: a row of calls may have cost and no request of its own
    "counts_unpriced",  # 1 for the first line of a request with this model and reason
    *TOKENS,
    *(f"known_{name}" for name in TOKENS),
    "cost_pico",
    *(f"{driver}_pico" for driver in DRIVERS),
    "saved_pico",
    *(f"{meter}_meter" for meter in METERS),
)
_AMOUNTS: tuple[str, ...] = ("cost_pico", *(f"{driver}_pico" for driver in DRIVERS), "saved_pico")
_COLUMNS: tuple[str, ...] = ("request_key", "started_ns", "last_ns", "status_class", *_KEYS, *_FIGURES)


def _finish(lines: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    return lines.with_columns(
        pl.col("sampling_rate").fill_null(1.0),
        pl.col("unpriced_request").not_().alias("charged"),
        pl.col("started_ns").alias("last_ns"),
        *(pl.col(name).is_not_null().alias(f"known_{name}") for name in TOKENS),
        *(tokens.alias(f"{m}_meter") for m, tokens in meter_tokens().items()),
    ).select(columns)


def _call_lines(whole: pl.LazyFrame, calls: pl.DataFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Calls with what their request says; the cost of an unpriced request is left empty in all its calls."""
    inherited = [f"by_{name}" for name in by if name not in _OF_THE_CALL]
    owners = whole.filter("priced_by_call").select(
        "request_key", "started_ns", "sampling_rate", "unpriced_request", "verdict", *inherited,
        pl.col("waste").alias("_waste"), pl.col("unpriced").alias("_unpriced"),
    )  # fmt: skip
    own = [pl.col(name).cast(pl.String).alias(f"by_{name}") for name in by if name in _OF_THE_CALL]
    last = pl.col("call_index") == pl.col("call_index").max().over("request_key")
    costs = ["cost_pico", *(f"{driver}_pico" for driver in DRIVERS), "saved_pico"]
    failed = pl.col("status_class").is_in(_FAILED_CALL).fill_null(value=False)
    retried = pl.when(pl.col("_waste").is_null() & failed).then(pl.lit("retried"))
    return (
        calls.lazy()
        .drop("started_ns", strict=False)
        .with_columns(*own, last.cast(pl.Int64).alias("requests"))
        .join(owners, on="request_key", how="inner", maintain_order="left")
        .with_columns(
            *(pl.when(~pl.col("unpriced_request")).then(pl.col(c)).alias(c) for c in costs),
            pl.coalesce("_waste", retried).alias("waste"),
            (
                pl.col("unpriced").is_not_null()
                & pl.struct("request_key", "model", "provider", "unpriced").is_first_distinct()
            ).alias("counts_unpriced"),
        )
    )


def _verdict(priced: pl.DataFrame) -> pl.Expr:
    """The verdict of requests that an objective covers; null for those that none is about, and where nothing judged."""
    if "good_verdict" not in priced.columns:
        return pl.lit(None, pl.String)
    return pl.when("is_covered").then("good_verdict") if "is_covered" in priced.columns else pl.col("good_verdict")


def _waste() -> pl.Expr:
    kinds = {status: kind for kind, statuses in WASTE.items() for status in statuses}
    return pl.col("status_class").replace_strict(kinds, default=None, return_dtype=pl.String)


def _dimension(name: str, timezone: str) -> pl.Expr:
    if name in CALENDAR:
        local = pl.from_epoch("started_ns", time_unit="ns").dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
        day = local.dt.date().cast(pl.String)
        return day if name == "day" else day.str.slice(0, len("2026-11"))
    if name == PROMOTED:
        return pl.col("dimensions")
    return dimension(name)


def _check(name: str, priced: pl.DataFrame) -> None:
    if name in (*CALENDAR, PROMOTED) or (name in DIMENSIONS and name in priced.columns):
        return
    if (
        name not in DIMENSIONS
        and "dimensions" in priced.columns
        and priced.select(dimension(name).is_not_null().any()).item()
    ):
        return
    if name not in DIMENSIONS and priced.is_empty():
        return  # nobody is there to say whether a mapping file made such a dimension
    known = ", ".join(sorted([*DIMENSIONS, *CALENDAR]))
    raise ConfigError(
        f'costs cannot be split by "{name}": no request of the selection has that dimension. Known: {known}, '
        "and the dimensions of the mapping file"
    )


def cube(lines: pl.DataFrame, by: Sequence[str], measures: dict[str, pl.Expr]) -> Cube:
    """The sums of `sums` per key, for tables that are not long."""
    frame = sums(lines, by, measures)
    width = len(by)
    return {row[:width]: dict(zip(measures, map(int, row[width:]), strict=True)) for row in frame.iter_rows()}


def sums(lines: pl.DataFrame, by: Sequence[str], measures: dict[str, pl.Expr]) -> pl.DataFrame:
    """Sums per group in whole units (Int128), groups in the order of their key, unknown values last.

    Each measure of all groups together adds up to its rounded total, whatever `by` is.
    """
    keys = [f"by_{name}" for name in by]
    per_rate = (
        lines.lazy()
        .group_by([*keys, "sampling_rate"])
        .agg(*(expr.cast(pl.Int128).sum().alias(name) for name, expr in measures.items()))
        .sort([*keys, "sampling_rate"], nulls_last=True)
        .collect()
    )
    rates = {rate: fraction_of(rate) for rate in per_rate.get_column("sampling_rate").unique()}
    if set(rates.values()) <= {Fraction(1)}:
        return per_rate.drop("sampling_rate")
    common = math.lcm(*(rate.numerator for rate in rates.values()))  # n / (a / b) = n x b / a
    factors = {rate: share.denominator * (common // share.numerator) for rate, share in rates.items()}
    if not _fits(per_rate, list(measures), max(factors.values())):
        return _sums_by_fractions(per_rate, keys, list(measures), rates)
    scale = pl.col("sampling_rate").replace_strict(factors, return_dtype=pl.Int128)
    whole = per_rate.group_by(keys, maintain_order=True).agg((pl.col(name) * scale).sum() for name in measures)
    return whole.with_columns(_apportioned(whole.get_column(name), common) for name in measures)


def _fits(per_rate: pl.DataFrame, names: Sequence[str], factor: int) -> bool:
    """Whether sums of scaled figures stay within 127 bits."""
    if per_rate.is_empty():
        return True
    most = max(int(n) for n in per_rate.select(pl.col(name).abs().max() for name in names).row(0))
    return most * factor * per_rate.height < 2**126


def _apportioned(scaled: pl.Series, common: int) -> pl.Series:
    """scaled / common in whole numbers that add up to the rounded sum: largest remainder, ties to the earlier."""
    parts = scaled.to_frame("n").with_columns((pl.col("n") // common).alias("floor"))
    rest = (pl.col("n") - pl.col("floor") * common).cast(pl.Int64 if common < 2**63 else pl.Int128)  # sorts faster
    parts = parts.with_columns(rest.alias("rest"))
    wanted = round_half_even(Fraction(int(scaled.sum()), common))
    left = wanted - int(parts.get_column("floor").sum())
    if left == 0:
        return parts.get_column("floor").alias(scaled.name)
    least = parts.get_column("rest").sort(descending=True).item(left - 1)  # the smallest that may be rounded up
    above, equal = pl.col("rest") > least, pl.col("rest") == least
    lucky = above | (equal & (equal.cum_sum() <= left - above.sum()))
    return parts.select((pl.col("floor") + lucky.cast(pl.Int128)).alias(scaled.name)).to_series()


def _sums_by_fractions(
    per_rate: pl.DataFrame, keys: list[str], names: list[str], rates: dict[float, Fraction]
) -> pl.DataFrame:
    """The same for rates whose common denominator is too large for integers of 128 bits."""
    width = len(keys)
    exact: dict[Key, dict[str, Fraction]] = {}
    for row in per_rate.iter_rows():
        into = exact.setdefault(row[:width], dict.fromkeys(names, Fraction(0)))
        for name, value in zip(names, row[width + 1 :], strict=True):
            into[name] += Fraction(value) / rates[row[width]]
    shared = {name: apportion({key: values[name] for key, values in exact.items()}) for name in names}
    columns = {key: [found[at] for found in exact] for at, key in enumerate(keys)}
    figures = {name: pl.Series(list(shared[name].values()), dtype=pl.Int128) for name in names}
    return pl.DataFrame({**columns, **figures}, schema_overrides=dict.fromkeys(keys, pl.String))


def total(lines: pl.DataFrame, measures: dict[str, pl.Expr]) -> dict[str, int]:
    """Sums over all lines, in whole units; zeros if there are none."""
    found = cube(lines.with_columns(pl.lit("all").alias("by_all")), ["all"], measures)
    return next(iter(found.values()), dict.fromkeys(measures, 0))


def fraction_of(rate: float) -> Fraction:
    """The sampling rate as its shortest decimal text says it: 0.0815 is 163/2000."""
    if not math.isfinite(rate) or rate <= 0:
        raise ValueError(f"a sampling rate of {rate} cannot be divided by")
    return Fraction(Decimal(repr(float(rate))))
