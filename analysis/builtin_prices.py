"""The built-in price book: genai-prices, offline, as dated prices per meter.

Input: provider, model, day, tier. Output: pico-USD per token and meter, per context length, or None.
Source: the package's data, rounded to 6 decimals per million because some of its prices carry float noise.
Its live updater is never started.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

from analysis.money import per_token

_METERS: dict[str, str] = {  # our meter -> the package's name of the price
    "input": "input_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "audio_input": "input_audio_mtok",
    "image_input": "input_image_mtok",
    "output": "output_mtok",
    "reasoning": "output_reasoning_mtok",
    "audio_output": "output_audio_mtok",
}
_NEWEST = date(9999, 1, 1)


@dataclass(frozen=True)
class Step:
    """Prices of prompts longer than `above` tokens."""

    id: str
    above: int
    pico_per_token: dict[str, int]


@dataclass(frozen=True)
class BuiltinPrice:
    book: str
    provider: str
    day: date
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    tiered: bool  # whether the tier that was asked for has prices of its own


@cache
def title() -> str:
    """Name and version of the package, for every export."""
    import genai_prices  # 0.4 s to import: only who asks for a price waits for it

    return f"genai-prices {genai_prices.__version__}"


@lru_cache(maxsize=65_536)  # names come from outside: a bound keeps hostile ones from filling the memory
def look_up(provider: str | None, model: str, day: date | None, tier: str | None) -> BuiltinPrice | None:
    """Prices of a model on a day (its newest without a day), or None if the book does not know it."""
    from genai_prices import Usage, calc_price

    when = day or _NEWEST
    context = {"processing": "batch"} if tier == "batch" else {"service_tier": tier} if tier else None
    try:
        found = calc_price(
            Usage(),
            model,
            provider_id=provider,
            genai_request_timestamp=datetime(when.year, when.month, when.day, 12, tzinfo=UTC),
            price_context=context,
        )
    except LookupError:
        return None
    notes = [] if day else [f"{model}: requests without a start time have the newest price"]
    tiered = tier is not None and any(context == dict(v.when) for v in found.model.price_variants or ())
    if tier and not tiered:
        notes.append(f"{model}: tier {tier} has no price; the standard price is taken")
    if isinstance(found.model.prices, list) and any(hasattr(p.constraint, "start_time") for p in found.model.prices):
        notes.append(f"{model}: its price changes within the day; the price of 12:00 UTC is taken")
    if getattr(found.model_price, "requests_kcount", None) is not None:
        notes.append(f"{model}: it also charges per request, which is not in the costs (a lower bound)")
    steps = _steps(found.model_price, f"{found.provider.id}/{found.model.id}", tier if tiered else None)
    if not steps:
        return None
    return BuiltinPrice(title(), found.provider.id, when, steps, tuple(notes), tiered)


def _steps(model_price: Any, name: str, tier: str | None) -> tuple[Step, ...]:
    raw = {meter: getattr(model_price, theirs, None) for meter, theirs in _METERS.items()}
    raw = {meter: price for meter, price in raw.items() if price is not None}
    if not raw:
        return ()  # priced by the hour, page or search: nothing to multiply tokens with
    starts = sorted({t.start for price in raw.values() for t in getattr(price, "tiers", ())})
    steps = []
    for above in (-1, *starts):
        prices = {meter: per_token(_at(price, above)) for meter, price in raw.items()}
        figures = hashlib.sha256(repr(sorted(prices.items())).encode()).hexdigest()[:8]  # tells a price from its next
        identity = ":".join(["genai-prices", name, *([tier] if tier else []), *([f">{above}"] if above >= 0 else [])])
        steps.append(Step(f"{identity}:{figures}", above, prices))
    return tuple(steps)


def _at(price: Any, above: int) -> Decimal:
    """The price of prompts longer than `above`: crossing a step applies its rate to all tokens."""
    if isinstance(price, Decimal):
        return price
    reached: list[Decimal] = [tier.price for tier in price.tiers if tier.start <= above]
    base: Decimal = price.base
    return reached[-1] if reached else base
