"""Money as integers: text without exponent, exact quotients, parts that add up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from analysis.money import apportion, divide, per_million, per_token, pico_of, usd_text


@pytest.mark.parametrize(
    ("pico", "text"),
    [
        (11_970_000_000, "0.01197"),
        (0, "0"),
        (1, "0.000000000001"),
        (-1_500_000_000_000, "-1.5"),
        (20_000_000_000_000, "20"),
        (123_456_789_012_345_678_901_234_567_890, "123456789012345678.90123456789"),
    ],
)
def test_an_amount_is_plain_decimal_text(pico: int, text: str) -> None:
    assert usd_text(pico) == text
    assert pico_of(text) == pico


def test_text_with_more_than_twelve_decimals_is_no_amount() -> None:
    with pytest.raises(ValueError, match=r"0\.1234567890123 has more than 12 decimals"):
        pico_of("0.1234567890123")


def test_a_price_per_million_is_a_whole_number_of_pico_dollars_per_token() -> None:
    assert per_token(Decimal("0.60")) == 600_000
    assert per_token(Decimal("0.000001")) == 1
    assert per_token(Decimal("0.18000000000000002")) == 180_000
    assert per_token(Decimal("0.0000025")) == 2  # a half goes to the even one
    assert per_million(600_000) == Decimal("0.6")


def test_a_quotient_is_rounded_to_the_nearest_pico_dollar() -> None:
    assert divide(10, 4) == 2
    assert divide(7, 2) == 4
    assert divide(1, 0) is None


def test_parts_add_up_to_their_rounded_sum() -> None:
    parts = {"a": Fraction(1, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)}
    assert apportion(parts) == {"a": 1, "b": 0, "c": 0}


def test_the_units_left_over_go_to_the_largest_remainders() -> None:
    parts = {"a": Fraction(12, 10), "b": Fraction(29, 10), "c": Fraction(29, 10)}
    assert apportion(parts) == {"a": 1, "b": 3, "c": 3}


def test_parts_can_be_made_to_add_up_to_a_given_total() -> None:
    parts = {"a": Fraction(5, 2), "b": Fraction(5, 2)}
    assert apportion(parts, 6) == {"a": 3, "b": 3}
    assert apportion(parts, 3) == {"a": 2, "b": 1}
    assert apportion({}) == {}
