"""Durations, lengths, shares and amounts as a user writes them, read exactly.

Output: `Fraction`, so that 500ms is the same float as 0.5s and a percentage loses nothing on its way.
"""

from __future__ import annotations

import re
from fractions import Fraction

from analysis.errors import ObjectivesError
from analysis.settings import KIBI

UNITS: dict[str, Fraction] = {
    "ns": Fraction(1, 1_000_000_000),
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86_400),
    "w": Fraction(604_800),
}
MOST_S = 10**9  # of any duration: 31 years; no limit of a request and no window is longer
MOST = 10**15  # of any other figure: beyond it a float no longer tells whole numbers apart
_LONGEST, _FURTHEST = 60, 30  # characters and powers of ten of a number; beyond, its exact form would fill the memory
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DURATION = re.compile(rf"^({_NUMBER})\s*([a-zµ]+)$")
_PERCENT = re.compile(rf"^({_NUMBER})\s*%$")
_PLAIN = re.compile(rf"^({_NUMBER})$")
_AMOUNT = re.compile(rf"^({_NUMBER})\s*([A-Za-z]{{3}})$")
_LENGTH = re.compile(r"^([0-9]{1,12})\s*(k?)$")


def seconds(text: str) -> Fraction:
    """Seconds of a duration such as 500ms, 4h or 28d.

    Raises:
        ObjectivesError: no number with a unit.
    """
    found = _DURATION.match(text.strip())
    if not found:
        plain = _PLAIN.match(text.strip())
        advice = "Write 500ms, 0.5s, 4h or 28d"
        if plain:
            advice = f"Write {text.strip()}ms or {float(_exact(text.strip()) / 1000):g}s"
        problem = "has no unit" if plain else "is no duration"
        raise ObjectivesError(f"{text} {problem}. {advice}")
    unit = found[2].replace("µ", "u")
    if unit not in UNITS:
        raise ObjectivesError(f'{text} has the unit "{found[2]}", which is not known. Known: {", ".join(UNITS)}')
    length_s = _exact(found[1]) * UNITS[unit]
    if length_s > MOST_S:
        raise ObjectivesError(f"{text} is longer than {MOST_S} s, the longest duration that is read")
    return length_s


def ratio(text: str) -> Fraction:
    """A share written 0.95 or 95%.

    Raises:
        ObjectivesError: neither.
    """
    percent = _PERCENT.match(text.strip())
    if percent:
        return _exact(percent[1]) / 100
    return number(text)


def number(text: str) -> Fraction:
    """A bare number.

    Raises:
        ObjectivesError: no number.
    """
    found = _PLAIN.match(text.strip())
    if not found:
        raise ObjectivesError(f"{text} is no number")
    return _exact(found[1])


def usd(text: str) -> Fraction:
    """An amount such as 0.0039 USD.

    Raises:
        ObjectivesError: no currency, or another one.
    """
    found = _AMOUNT.match(text.strip())
    if not found:
        raise ObjectivesError(f"{text} is no amount. Write it with its currency: 0.0039 USD")
    if found[2].upper() != "USD":
        raise ObjectivesError(f"{text} is in {found[2].upper()}; thresholds are in USD")
    return _exact(found[1])


def length(text: str) -> int:
    """Tokens of a length such as 512 or 2k (2048).

    Raises:
        ObjectivesError: neither.
    """
    found = _LENGTH.match(text.strip())
    if not found:
        raise ObjectivesError(f"{text} is no length in tokens. Write 512 or 2k")
    return int(found[1]) * (KIBI if found[2] else 1)


def _exact(text: str) -> Fraction:
    """The number as written, if its exact form is of a size that can be worked with."""
    digits, _, power = text.lower().partition("e")
    if len(digits) > _LONGEST or len(power) > 4 or abs(int(power or 0)) > _FURTHEST:
        raise ObjectivesError(f"{text[:_LONGEST]} has more than {_LONGEST} digits or a power of ten beyond {_FURTHEST}")
    exact = Fraction(text)
    if exact > MOST:
        raise ObjectivesError(f"{text} is above {MOST:.0e}, the largest number that is read")
    return exact
