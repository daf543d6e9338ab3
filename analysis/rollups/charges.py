"""Money of days whose requests are gone, as charge lines beside those of requests that still stand.

Input: a store, a selection, the ledger of its requests. Output: lines in the columns of aggregates/charges, and the
ledger with the prices of then among its own. Sums of kept dimensions are exact; what was not kept apart is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.aggregates.charges import CALENDAR, PROMOTED
from analysis.dimensions import dimension, grouped, matches
from analysis.ledger import Ledger
from analysis.pricebook import Price
from analysis.rollups.days import Day, refuse_cut, rolled_days
from analysis.rollups.roll_up import price_key
from ingest.errors import ConfigError
from ingest.schema_rolled import CHARGE_AMOUNTS, CHARGE_COUNTS
from ingest.selection import DIMENSIONS, Selection, to_datetime, to_iso, zone_of
from ingest.store.database import Store

FILTERS = ("user", "tenant", "scenario", "region")  # that the lines of a request have in common
TOLD = (*FILTERS, "model", "provider")  # that the lines can be split by


@dataclass(frozen=True)
class RolledCharges:
    """Lines of the days that were rolled up, within the selection; `ledger` knows their prices."""

    rows: pl.DataFrame
    days: tuple[Day, ...]
    ledger: Ledger

    def lines(self, by: Sequence[str], timezone: str) -> pl.DataFrame:
        """As KeptCharges promises."""
        since = to_iso(self.days[-1].end_ns)
        for name in by:
            if name in DIMENSIONS and name not in TOLD:
                raise ConfigError(
                    f'costs cannot be split by "{name}" before {since}: those days were rolled up by '
                    f"{', '.join(TOLD)} and the dimensions of the mapping file. Ask from {since} on"
                )
        if set(by) & set(CALENDAR):
            _refuse_midnights(self.days, timezone)
        return self.rows.with_columns(_by(name, timezone).alias(f"by_{name}") for name in by)


def rolled_charges(store: Store, selection: Selection, ledger: Ledger) -> RolledCharges | None:
    """The charges of rolled-up days of a selection; None if it has none.

    Raises:
        ConfigError: the selection cuts such a day, or filters by what was not kept.
    """
    days = rolled_days(store, selection)
    if not days:
        return None
    refuse_cut(selection, days)
    for name, _ in selection.where:
        if name in DIMENSIONS and name not in FILTERS:
            since = to_iso(days[-1].end_ns)
            raise ConfigError(
                f'costs before {since} cannot be filtered by "{name}": those days were rolled up by '
                f"{', '.join(FILTERS)}. Split by it (model and provider), or ask from {since} on"
            )
    stored = store.read("rolled_charges", *_between(days))
    prices = {row["price_key"]: _price(row["price"]) for row in store.read("rolled_prices").iter_rows(named=True)}
    known = {price_key(price): at for at, price in reversed(list(enumerate(ledger.prices)))}
    used = sorted(set(stored.get_column("price_key").drop_nulls()) - set(known))
    indexes = known | {key: len(ledger.prices) + at for at, key in enumerate(used)}
    figures = {name: pl.col(name) for name in CHARGE_COUNTS}
    rows = stored.filter(matches(grouped(selection.where))).select(
        *TOLD, "dimensions",
        pl.lit(None, pl.String).alias("request_key"),
        pl.col("first_ns").alias("started_ns"),
        "last_ns",
        pl.lit(None, pl.String).alias("status_class"),
        *("sampling_rate", "unpriced_request", "unpriced", "verdict", "waste"),
        pl.col("price_key").replace_strict(indexes, default=None, return_dtype=pl.Int32).alias("price_index"),
        *figures.values(),
        *(_amount(name).alias(name) for name in CHARGE_AMOUNTS),
    )  # fmt: skip
    both = (*ledger.prices, *(prices[key] for key in used))
    return RolledCharges(rows, days, replace(ledger, prices=both))


def _amount(name: str) -> pl.Expr:
    """The amount, null where the requests have no price, as in lines of requests."""
    return pl.when(~pl.col("unpriced_request")).then(pl.col(name))


def _by(name: str, timezone: str) -> pl.Expr:
    if name in CALENDAR:
        local = pl.from_epoch("started_ns", time_unit="ns").dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
        day = local.dt.date().cast(pl.String)
        return day if name == "day" else day.str.slice(0, len("2026-11"))
    return pl.col("dimensions") if name == PROMOTED else dimension(name)


def _refuse_midnights(days: Sequence[Day], timezone: str) -> None:
    """Days that were kept by midnights of other zones cannot be told by those of this one."""
    zone = zone_of(timezone)
    for day in days:
        first, last = (to_datetime(ns).astimezone(zone).date() for ns in (day.start_ns, day.end_ns - 1))
        if first != last:
            raise ConfigError(
                f"{to_iso(day.start_ns)} to {to_iso(day.end_ns)} was rolled up in one, and midnight of {timezone} lies "
                "in it. Ask in UTC, or in the time zone of the service's objectives"
            )


def _between(days: Sequence[Day]) -> tuple[str, list[object]]:
    return "start_ns >= ? AND start_ns < ?", [days[0].start_ns, days[-1].end_ns]


def _price(text: str) -> Price:
    told = json.loads(text)
    told["assumed"] = tuple((meter, source) for meter, source in told["assumed"])
    return Price(**told | {"missing": tuple(told["missing"]), "notes": tuple(told["notes"])})
