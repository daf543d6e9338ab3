"""The price book: which price holds for a model on a day.

Input: entries of the user's file, in front of the built-in book (analysis/builtin_prices).
Output: per provider, model, day and tier the prices of all meters in integer pico-USD per token, or the reason
why there is none. An entry holds from its day (UTC) on for requests that START that day; before the first entry
of a model there is no price, and the built-in book is not asked.
Source: disjoint token buckets, each at its own price; a missing price is "unpriced", never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

from analysis import builtin_prices
from analysis.money import per_token, round_half_even

METERS: tuple[str, ...] = (
    "input",
    "cached_input",
    "cache_write_5m",
    "cache_write_1h",
    "audio_input",
    "image_input",
    "output",
    "reasoning",
    "audio_output",
)
STANDARD_TIERS = frozenset({"", "default", "standard", "auto", "on_demand"})  # names under which sources mean no tier
BATCH = "batch"
MOST_USD_PER_MILLION = Decimal(10_000)  # 1e10 pico-USD per token x 1e8 tokens stays within 63 bits

# a meter without a price of its own is charged at the next one; cache writes cost more than input at most providers
FALLBACKS: dict[str, str] = {
    "cached_input": "input",
    "cache_write_5m": "input",
    "cache_write_1h": "cache_write_5m",
    "audio_input": "input",
    "image_input": "input",
    "reasoning": "output",
    "audio_output": "output",
}
_SILENT = {"reasoning"}  # billed as output by rule, not for want of a price


@dataclass(frozen=True)
class PriceEntry:
    """One line of the file. `usd` is the price per million tokens in `currency`."""

    model: str
    start: date
    usd: dict[str, Decimal]
    provider: str | None = None
    tier: str | None = None
    currency: str = "USD"


@dataclass(frozen=True)
class Discount:
    start: date
    percent: Decimal
    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class CurrencyRate:
    currency: str
    start: date
    usd: Decimal


@dataclass(frozen=True)
class Budget:
    """An amount per calendar month: for each value of `per`, or for the requests that match `where`."""

    usd_per_month: Decimal
    per: str | None = None
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Price:
    """Prices of every meter in pico-USD per token, as listed and after discounts.

    `assumed`: meter -> the meter whose price stands in for it. `missing`: meters without any price.
    `above`: it holds for prompts longer than this many tokens.
    """

    id: str
    book: str
    model: str
    provider: str | None
    listed: dict[str, int]
    net: dict[str, int]
    above: int = -1
    assumed: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tier: str | None = None


@dataclass(frozen=True)
class NoPrice:
    """Why there is no price, as a sentence without a full stop."""

    says: str


@dataclass(frozen=True)
class PriceBook:
    """The user's entries, then the built-in book.

    `name` and `sha256` are those of the file; null when there is none.
    """

    entries: tuple[PriceEntry, ...] = ()
    discounts: tuple[Discount, ...] = ()
    rates: tuple[CurrencyRate, ...] = ()
    budgets: tuple[Budget, ...] = ()
    name: str | None = None
    sha256: str | None = None
    builtin: bool = True

    @property
    def title(self) -> str:
        """Which books, which versions."""
        own = []
        if self.name is not None:
            count = "1 entry" if len(self.entries) == 1 else f"{len(self.entries)} entries"
            own = [f"{self.name} ({count}, sha256 {(self.sha256 or '')[:12]})"]
        return ", then ".join(own + ([builtin_prices.title()] if self.builtin else []))

    def prices(
        self, provider: str | None, model: str | None, day: date | None, tier: str | None = None
    ) -> tuple[Price, ...] | NoPrice:
        """Prices that hold for a model on a day, by rising `above`; the last one below the prompt's length counts.

        A null day (a source without a wall clock) takes the newest entry, and says so in the notes.
        """
        if model is None:
            return NoPrice("no model is stated")
        tier = None if tier is None or tier.lower() in STANDARD_TIERS else tier.lower()
        entries = self._entries_of(provider, model)
        if isinstance(entries, NoPrice):
            return entries
        if entries:
            found = self._own(entries, provider, model, day, tier)
            return found if isinstance(found, NoPrice) else (found,)
        return self._built_in(provider, model, day, tier)

    def _entries_of(self, provider: str | None, model: str) -> tuple[PriceEntry, ...] | NoPrice:
        """Entries of the model: the provider's own, else those without provider; all, if the row has none."""
        wanted = model.casefold()
        entries = [entry for entry in self.entries if entry.model.casefold() == wanted]
        if provider is not None:
            own = [e for e in entries if e.provider is not None and e.provider.casefold() == provider.casefold()]
            return tuple(own or [e for e in entries if e.provider is None])
        unbound = tuple(e for e in entries if e.provider is None)
        providers = sorted({e.provider for e in entries if e.provider is not None})
        if not unbound and len(providers) > 1:
            names = " and ".join(providers) if len(providers) == 2 else ", ".join(providers)
            return NoPrice(f"{model} has prices of {names}, and the requests name no provider")
        return unbound or tuple(entries)

    def _own(
        self, entries: tuple[PriceEntry, ...], provider: str | None, model: str, day: date | None, tier: str | None
    ) -> Price | NoPrice:
        tiered = [e for e in entries if e.tier == tier]
        notes: list[str] = []
        if tier is not None and not tiered:
            tiered = [e for e in entries if e.tier is None]
            notes.append(f"{model}: tier {tier} has no entry; the standard price is taken")
        begun = [e for e in tiered if day is None or e.start <= day]
        name = f"{provider} / {model}" if provider else model
        if not tiered:
            return NoPrice(f"no price for {name} in the standard tier")
        if not begun:
            first = min(e.start for e in tiered)
            return NoPrice(f"no price for {name} on {day}; the first entry starts {first}")
        entry = max(begun, key=lambda e: e.start)
        if day is None:
            notes.append(f"{model}: requests without a start time have the newest price, of {entry.start}")
        rate = self._rate(entry.currency, day or entry.start)
        if isinstance(rate, NoPrice):
            return rate
        listed = {meter: per_token(usd * rate) for meter, usd in entry.usd.items()}
        if max(listed.values()) > per_token(MOST_USD_PER_MILLION):
            return NoPrice(f"the price of {name} is above {MOST_USD_PER_MILLION} USD per million tokens")
        owner = entry.provider or provider
        parts = [self.name or "prices", "/".join(p for p in (entry.provider, entry.model) if p), str(entry.start)]
        identity = ":".join(parts + ([entry.tier] if entry.tier else []))
        price = complete(
            Price(identity, self.name or "prices", model, owner, listed, {}, notes=tuple(notes), tier=entry.tier)
        )
        return self._discounted(price, day or entry.start)

    def _built_in(
        self, provider: str | None, model: str, day: date | None, tier: str | None
    ) -> tuple[Price, ...] | NoPrice:
        found = builtin_prices.look_up(provider, model, day, tier) if self.builtin else None
        name = f"{provider} / {model}" if provider else model
        if found is None:
            own = [self.name or "the price file"] if self.entries else []
            books = " or ".join([*own, *([builtin_prices.title()] if self.builtin else [])])
            return NoPrice(f"no price for {name} in {books or 'any book'}; add an entry to prices.yaml")
        prices = []
        for step in found.steps:
            price = Price(
                step.id, found.book, model, provider or found.provider, step.pico_per_token, {}, step.above,
                notes=found.notes, tier=tier if found.tiered else None,
            )  # fmt: skip
            prices.append(self._discounted(complete(price), day or found.day))
        return tuple(prices)

    def _rate(self, currency: str, day: date) -> Decimal | NoPrice:
        if currency == "USD":
            return Decimal(1)
        rates = [rate for rate in self.rates if rate.currency == currency and rate.start <= day]
        if not rates:
            return NoPrice(f"no rate from {currency} to USD on {day}; add one under currencies")
        return max(rates, key=lambda rate: rate.start).usd

    def _discounted(self, price: Price, day: date) -> Price:
        percent = self._discount(price.provider, price.model, day)
        keep = 1 - Fraction(percent) / 100
        net = {meter: round_half_even(pico * keep) for meter, pico in price.listed.items()}
        return replace(price, net=net)

    def _discount(self, provider: str | None, model: str, day: date) -> Decimal:
        """The most particular discount that has begun: model before provider before all, then the newest."""
        fitting = [
            d
            for d in self.discounts
            if d.start <= day
            and (d.provider is None or (provider is not None and d.provider.casefold() == provider.casefold()))
            and (d.model is None or d.model.casefold() == model.casefold())
        ]
        if not fitting:
            return Decimal(0)
        return max(fitting, key=lambda d: (d.model is not None, d.provider is not None, d.start)).percent


def complete(price: Price) -> Price:
    """The price with a figure for every meter that has one, itself or by a stand-in."""
    listed = dict(price.listed)
    assumed: list[tuple[str, str]] = []
    missing: list[str] = []
    for meter in METERS:
        source = meter
        while source not in price.listed and source in FALLBACKS:
            source = FALLBACKS[source]
        if source not in price.listed:
            missing.append(meter)
        elif source != meter:
            listed[meter] = price.listed[source]
            if meter not in _SILENT:
                assumed.append((meter, source))
    return replace(price, listed=listed, assumed=tuple(assumed), missing=tuple(missing))
