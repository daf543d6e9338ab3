"""Why the bill changed: the difference of two selections in steps that add up to it.

Input: priced requests, before and after. Output: CostStep records in the order in which they are
taken; each step moves one thing from its value before to its value after, the earlier ones moved already:
    volume              how many requests there were, of the same kinds
    mix                 which kinds (model x scenario) they were
    tokens_per_request  how long prompts and answers of a kind were
    cache               which part of the input was read from or written to a prompt cache
    price               what a token cost
    new, vanished       kinds that have no counterpart on the other side, whole
Prices are what a kind paid per token of a driver (analysis/ledger): of several calls, over the models they went to. A
driver that a kind did not use on one side has the other side's price, so its price step is 0. Requests without a price
are in neither side. Another order would give other parts; this one is printed, and the sum is the same.
Source: comparing two weeks (metric definitions, section 10). Exact fractions; the steps add up to the last pico-USD.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.charges import Key, fraction_of
from analysis.ledger import DRIVER_METERS, DRIVERS, meter_tokens
from analysis.money import apportion, usd_text
from analysis.result import CostStep

BY = ("model", "scenario")
STEPS: dict[str, str] = {
    "volume": "more or fewer requests",
    "mix": "other models and scenarios",
    "tokens_per_request": "longer or shorter prompts and answers",
    "cache": "more or less input from prompt caches",
    "price": "other prices per token",
    "new": "models and scenarios that were not there before",
    "vanished": "models and scenarios that are gone",
}
_CACHED = ("uncached_input", "cached_input", "cache_write")  # they share the input between them


@dataclass(frozen=True)
class _Kind:
    """One model and scenario on one side: requests, tokens and pico-USD per driver."""

    requests: Fraction
    tokens: dict[str, Fraction]
    cost: dict[str, Fraction]

    @property
    def total(self) -> Fraction:
        return sum(self.cost.values(), Fraction(0))


@dataclass(frozen=True)
class _Unit:
    """A kind per request: input tokens from and beside caches, other tokens; shares of the first; price per driver."""

    cacheable: Fraction
    other: dict[str, Fraction]
    share: dict[str, Fraction]
    price: dict[str, Fraction]


def cost_steps(before: pl.DataFrame, after: pl.DataFrame) -> list[CostStep]:
    """The steps from the cost before to the cost after; none if a side has no priced request."""
    old, new = _kinds(before), _kinds(after)
    if not old or not new:
        return []
    exact = dict.fromkeys(STEPS, Fraction(0))
    exact["new"] = sum((new[key].total for key in new.keys() - old.keys()), Fraction(0))
    exact["vanished"] = -sum((old[key].total for key in old.keys() - new.keys()), Fraction(0))
    common = sorted(old.keys() & new.keys(), key=lambda key: [(part is None, part or "") for part in key])
    n_old, n_new = (sum((side[key].requests for key in common), Fraction(0)) for side in (old, new))
    for key in common:
        _add_steps(exact, old[key], new[key], n_new / n_old)
    whole = apportion(exact)
    return [CostStep(name, title, usd_text(whole[name])) for name, title in STEPS.items()]


def _add_steps(exact: dict[str, Fraction], old: _Kind, new: _Kind, growth: Fraction) -> None:
    """Steps of one kind. `growth`: requests after over before, of all kinds that are on both sides."""
    unit_old, unit_new = _unit(old, new), _unit(new, old)
    scaled = old.requests * growth
    longer = _Unit(unit_new.cacheable, unit_new.other, unit_old.share, unit_old.price)
    cached = _Unit(unit_new.cacheable, unit_new.other, unit_new.share, unit_old.price)
    path = [
        ("volume", scaled, unit_old),
        ("mix", new.requests, unit_old),
        ("tokens_per_request", new.requests, longer),
        ("cache", new.requests, cached),
        ("price", new.requests, unit_new),
    ]
    at = old.requests * _cost(unit_old)
    for name, requests, unit in path:
        then = requests * _cost(unit)
        exact[name] += then - at
        at = then


def _cost(unit: _Unit) -> Fraction:
    """Pico-USD of one request."""
    input_cost = sum((unit.share[m] * unit.price[m] for m in _CACHED), Fraction(0)) * unit.cacheable
    return input_cost + sum((tokens * unit.price[meter] for meter, tokens in unit.other.items()), Fraction(0))


def _unit(kind: _Kind, other: _Kind) -> _Unit:
    """The kind per request; a driver it did not use has the price of the other side, and 0 if neither used it."""
    cacheable = sum((kind.tokens[m] for m in _CACHED), Fraction(0))
    share_of = kind if cacheable else other
    whole = sum((share_of.tokens[m] for m in _CACHED), Fraction(0))
    return _Unit(
        cacheable=cacheable / kind.requests,
        other={m: kind.tokens[m] / kind.requests for m in DRIVERS if m not in _CACHED},
        share={m: share_of.tokens[m] / whole if whole else Fraction(0) for m in _CACHED},
        price={
            m: next((p for p in (_price(kind, m), _price(other, m)) if p is not None), Fraction(0)) for m in DRIVERS
        },
    )


def _price(kind: _Kind, meter: str) -> Fraction | None:
    return kind.cost[meter] / kind.tokens[meter] if kind.tokens[meter] else None


def _kinds(priced: pl.DataFrame) -> dict[Key, _Kind]:
    """Priced requests by model and scenario, sampled sums divided by their rate."""
    tokens = meter_tokens()
    charged = pl.col("price_index").is_not_null() | pl.col("priced_by_call")  # not a replay from a response cache
    keys = [*BY, "sampling_rate"]
    sums = (
        priced.lazy()
        .filter(pl.col("unpriced").is_null())
        .with_columns(pl.col("sampling_rate").fill_null(1.0))
        .group_by(keys)
        .agg(
            pl.len().alias("requests"),
            *(
                pl.when(charged)
                .then(pl.sum_horizontal(tokens[m] for m in meters))
                .otherwise(0)
                .sum()
                .alias(f"n_{name}")
                for name, meters in DRIVER_METERS.items()
            ),
            *(pl.col(f"{name}_pico").cast(pl.Int128).sum() for name in DRIVERS),
        )
        .sort(keys, nulls_last=True)
        .collect()
    )
    found: dict[Key, _Kind] = {}
    for row in sums.iter_rows(named=True):
        share = fraction_of(row["sampling_rate"])
        key = tuple(row[name] for name in BY)
        kind = found.get(
            key, _Kind(Fraction(0), dict.fromkeys(DRIVERS, Fraction(0)), dict.fromkeys(DRIVERS, Fraction(0)))
        )
        cost = {name: kind.cost[name] + Fraction(int(row[f"{name}_pico"])) / share for name in DRIVERS}
        counts = {name: kind.tokens[name] + Fraction(row[f"n_{name}"]) / share for name in DRIVERS}
        # calls may state tokens that their request does not: their cost is then that of one unit
        counts = {name: Fraction(1) if cost[name] and not counts[name] else counts[name] for name in DRIVERS}
        found[key] = _Kind(kind.requests + Fraction(row["requests"]) / share, counts, cost)
    return found
