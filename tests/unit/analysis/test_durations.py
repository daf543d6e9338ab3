"""Units: read exactly, refused with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from analysis import durations
from analysis.errors import ObjectivesError


def test_durations_are_exact() -> None:
    texts = ("500ms", "0.5s", "4h", "28d", "250us", "1.5 min", "2w", "7ns")
    assert [durations.seconds(text) for text in texts] == [
        Fraction(1, 2),
        Fraction(1, 2),
        14_400,
        2_419_200,
        Fraction(1, 4000),
        90,
        1_209_600,
        Fraction(7, 1_000_000_000),
    ]


def test_a_duration_without_unit_is_refused_with_two_that_have_one() -> None:
    with pytest.raises(ObjectivesError) as raised:
        durations.seconds("500")
    assert raised.value.message == "500 has no unit. Write 500ms or 0.5s"


@pytest.mark.parametrize("text", ["", "fast", "-3s", "1 year", "nan s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ObjectivesError):
        durations.seconds(text)


def test_a_share_is_a_number_or_a_percentage() -> None:
    assert [durations.ratio(text) for text in ("95%", "0.95", "99.9 %")] == [
        Fraction(19, 20),
        Fraction(19, 20),
        Fraction(999, 1000),
    ]


def test_an_amount_carries_its_currency() -> None:
    assert durations.usd("0.0039 USD") == Fraction(39, 10_000)
    for text in ("0.0039", "3 EUR"):
        with pytest.raises(ObjectivesError):
            durations.usd(text)


def test_a_length_of_2k_is_2048_tokens() -> None:
    assert [durations.length(text) for text in ("512", "2k", "32k")] == [512, 2048, 32_768]
    with pytest.raises(ObjectivesError):
        durations.length("2M")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (durations.seconds, "1e30d", "1e30 is above 1e+15, the largest number that is read"),
        (durations.seconds, "1e10s", "1e10s is longer than 1000000000 s, the longest duration that is read"),
        (durations.seconds, "1e400s", "1e400 has more than 60 digits or a power of ten beyond 30"),
        (durations.seconds, "1e999999999", "1e999999999 has more than 60 digits or a power of ten beyond 30"),
        (durations.seconds, "1e-999999999s", "1e-999999999 has more than 60 digits or a power of ten beyond 30"),
        (durations.seconds, "9" * 61 + "s", "9" * 60 + " has more than 60 digits or a power of ten beyond 30"),
        (durations.ratio, "1e400%", "1e400 has more than 60 digits or a power of ten beyond 30"),
        (durations.number, "1e400", "1e400 has more than 60 digits or a power of ten beyond 30"),
        (durations.usd, "1e400 USD", "1e400 has more than 60 digits or a power of ten beyond 30"),
        (durations.length, "9" * 5000, "9" * 5000 + " is no length in tokens. Write 512 or 2k"),
    ],
)
def test_a_number_beyond_measure_is_refused(read: Callable[[str], object], text: str, message: str) -> None:
    with pytest.raises(ObjectivesError) as raised:
        read(text)
    assert raised.value.message == message
