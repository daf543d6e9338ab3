"""prices.yaml: dated prices, discounts, currencies and budgets of a house.

Input: YAML text. Output: one frozen PriceBook; every fault is a ConfigError with file, line, value, rule, remedy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

from analysis.money import PRICE_DECIMALS
from analysis.pricebook import (
    BATCH,
    METERS,
    MOST_USD_PER_MILLION,
    STANDARD_TIERS,
    Budget,
    CurrencyRate,
    Discount,
    PriceBook,
    PriceEntry,
)
from ingest.yaml_document import Node, read_yaml

MOST_USD_PER_UNIT = Decimal(10**9)  # of a currency; with the highest price it stays within 128 bits of pico-USD
MOST_USD_PER_MONTH = Decimal(10**15)  # of a budget; more than the world has
_TOP = ("prices", "discounts", "currencies", "budgets", "builtin")
_PRICES_KEY = "usd_per_million_tokens"
_ENTRY = ("provider", "model", "from", _PRICES_KEY, "per_million_tokens", "tier", "batch", "currency")
_DISCOUNT = ("provider", "model", "from", "percent")
_CURRENCY = ("currency", "from", "usd")
_BUDGET = ("per", "where", "usd_per_month")


def default_prices() -> PriceBook:
    """The built-in book alone."""
    return PriceBook()


def read_prices(path: Path) -> PriceBook:
    """The price book of a file, in front of the built-in one.

    Raises:
        ConfigError: a line breaks a rule.
    """
    document = read_yaml(path)
    return _book(document, path.name, hashlib.sha256(path.read_bytes()).hexdigest())


def _book(document: Node, name: str, sha256: str) -> PriceBook:
    top = document.keys(_TOP, "the price file")
    entries = [_entry(node) for node in _list_of(top, "prices")]
    _refuse_doubles(entries, _list_of(top, "prices"))
    return PriceBook(
        entries=tuple(entries),
        discounts=tuple(_discount(node) for node in _list_of(top, "discounts")),
        rates=tuple(_rate(node) for node in _list_of(top, "currencies")),
        budgets=tuple(_budget(node) for node in _list_of(top, "budgets")),
        name=name,
        sha256=sha256,
        builtin=top["builtin"].flag("builtin") if "builtin" in top else True,
    )


def _list_of(top: dict[str, Node], key: str) -> Sequence[Node]:
    return top[key].items(key) if key in top else ()


def _entry(node: Node) -> PriceEntry:
    keys = node.keys(_ENTRY, "a price entry")
    model = _needed(node, keys, "model", "a price entry").text("model")
    start = _needed(node, keys, "from", f'the entry of "{model}"').day("from")
    currency = keys["currency"].text("currency").upper() if "currency" in keys else "USD"
    given = [key for key in (_PRICES_KEY, "per_million_tokens") if key in keys]
    if len(given) != 1:
        raise node.error(f'the entry of "{model}" must have {_PRICES_KEY}, or per_million_tokens beside currency')
    meters = keys[given[0]].keys(METERS, given[0])
    if not meters:
        raise keys[given[0]].error(f'the entry of "{model}" has no price. Write {{input: 0.60, output: 1.80}}')
    tier = keys["tier"].text("tier").lower() if "tier" in keys else None
    if tier in STANDARD_TIERS:
        tier = None
    if "batch" in keys and keys["batch"].flag("batch"):
        if tier not in (None, BATCH):
            raise keys["batch"].error(f'the entry of "{model}" is of tier {tier} and of batch; write two entries')
        tier = BATCH
    return PriceEntry(
        model=model,
        start=start,
        usd={meter: _price(value, meter) for meter, value in meters.items()},
        provider=keys["provider"].text("provider").lower() if "provider" in keys else None,
        tier=tier,
        currency=currency,
    )


def _price(node: Node, meter: str) -> Decimal:
    price = node.number(f"the price of {meter}", low=Decimal(0), high=MOST_USD_PER_MILLION)
    exponent = price.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > PRICE_DECIMALS:
        raise node.error(
            f"the price of {meter} is {node.value}, and has more than {PRICE_DECIMALS} decimals per million tokens. "
            "Round it, so that price times tokens stays exact"
        )
    return price


def _discount(node: Node) -> Discount:
    keys = node.keys(_DISCOUNT, "a discount")
    return Discount(
        start=_needed(node, keys, "from", "a discount").day("from"),
        percent=_needed(node, keys, "percent", "a discount").number("percent", low=Decimal(0), high=Decimal(100)),
        provider=keys["provider"].text("provider").lower() if "provider" in keys else None,
        model=keys["model"].text("model") if "model" in keys else None,
    )


def _rate(node: Node) -> CurrencyRate:
    keys = node.keys(_CURRENCY, "a currency")
    rate = _needed(node, keys, "usd", "a currency")
    usd = rate.number("usd", low=Decimal(0), high=MOST_USD_PER_UNIT)
    if usd == 0:
        raise rate.error("usd is 0, and must be the dollars that one unit of the currency buys, such as 1.08")
    return CurrencyRate(
        currency=_needed(node, keys, "currency", "a currency").text("currency").upper(),
        start=_needed(node, keys, "from", "a currency").day("from"),
        usd=usd,
    )


def _budget(node: Node) -> Budget:
    keys = node.keys(_BUDGET, "a budget")
    if ("per" in keys) == ("where" in keys):
        raise node.error("a budget must have either per (a dimension) or where (dimension: value), and has "
                         + ("both" if "per" in keys else "neither"))  # fmt: skip
    where: list[tuple[str, tuple[str, ...]]] = []
    if "where" in keys:
        for dimension, value in keys["where"].entries("where").items():
            several = value.items(dimension) if isinstance(value.value, list) else [value]
            where.append((dimension, tuple(item.text(dimension) for item in several)))
    return Budget(
        usd_per_month=_needed(node, keys, "usd_per_month", "a budget").number(
            "usd_per_month", low=Decimal(0), high=MOST_USD_PER_MONTH
        ),
        per=keys["per"].text("per") if "per" in keys else None,
        where=tuple(where),
    )


def _needed(node: Node, keys: dict[str, Node], key: str, what: str) -> Node:
    if key not in keys:
        raise node.error(f"{what} has no {key}")
    return keys[key]


def _refuse_doubles(entries: Sequence[PriceEntry], nodes: Sequence[Node]) -> None:
    seen: dict[tuple[str | None, str, str | None, date], int] = {}
    for entry, node in zip(entries, nodes, strict=True):
        key = (entry.provider, entry.model.casefold(), entry.tier, entry.start)
        if key in seen:
            raise node.error(
                f'"{entry.model}" has two entries from {entry.start}; the first is on line {seen[key]}. '
                "Append a new price with its own first day"
            )
        seen[key] = node.line
