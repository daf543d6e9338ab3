"""Money as integers: pico-USD (1e-12 USD), so price times tokens is exact.

Input and output: Python integers, fractions and decimal text. No float ever holds an amount.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

PICO = 10**12  # pico-USD of one USD
PRICE_DECIMALS = 6  # of a price per million tokens: 1e-6 USD per million is one pico-USD per token


def usd_text(pico: int) -> str:
    """Decimal text of an amount: no exponent, no trailing zeros (0.01197)."""
    sign = "-" if pico < 0 else ""
    whole, rest = divmod(abs(pico), PICO)
    return f"{sign}{whole}.{rest:012d}".rstrip("0").rstrip(".")


def pico_of(text: str) -> int:
    """Pico-USD of decimal text.

    Raises:
        ValueError: more than 12 decimals.
    """
    exact = Fraction(Decimal(text)) * PICO  # a fraction, for the decimal context would round after 28 digits
    if exact.denominator != 1:
        raise ValueError(f"{text} has more than 12 decimals")
    return exact.numerator


def per_token(usd_per_million: Decimal) -> int:
    """Pico-USD per token of a price per million tokens, rounded half to even to 6 decimals where it has more."""
    return round_half_even(Fraction(usd_per_million) * PICO / 1_000_000)


def per_million(pico_per_token: int) -> Decimal:
    """USD per million tokens of pico-USD per token."""
    return Decimal(pico_per_token).scaleb(-PRICE_DECIMALS)


def round_half_even(exact: Fraction) -> int:
    """Nearest integer; a half goes to the even one."""
    return round(exact)


def divide(pico: int | Fraction, by: int | Fraction) -> int | None:
    """Nearest pico-USD of a quotient; None without a divisor."""
    return None if by == 0 else round_half_even(Fraction(pico) / Fraction(by))


def apportion(parts: Mapping[K, Fraction], total: int | None = None) -> dict[K, int]:
    """Whole numbers that stand for the parts and add up to their rounded sum, or to `total`.

    Largest remainder: every part is cut to a whole number, and the units left over go to the parts that lost
    most. Ties go to the earlier part, so the order of `parts` must be a total order of its keys.
    """
    floors = {key: part.numerator // part.denominator for key, part in parts.items()}
    wanted = round_half_even(sum(parts.values(), Fraction(0))) if total is None else total
    left = wanted - sum(floors.values())
    if left and parts:
        every, left = divmod(left, len(parts))
        by_remainder = sorted(parts, key=lambda key: parts[key] - floors[key], reverse=True)
        luckier = set(by_remainder[:left])
        return {key: floors[key] + every + (key in luckier) for key in parts}
    return floors
