"""Which price holds: by day, provider, tier, currency and discount, own entries first."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from importlib.metadata import version

import pytest

from analysis.pricebook import CurrencyRate, Discount, NoPrice, Price, PriceBook, PriceEntry

BUILTIN = f"genai-prices {version('genai-prices')}"
MAY, JUNE, JULY = date(2026, 5, 4), date(2026, 6, 1), date(2026, 7, 1)


def entry(model: str, start: date, usd_input: str, **more: object) -> PriceEntry:
    return PriceEntry(model, start, {"input": Decimal(usd_input), "output": Decimal(2)}, **more)  # type: ignore[arg-type]


def paid(found: tuple[Price, ...] | NoPrice, meter: str = "input") -> int:
    assert not isinstance(found, NoPrice), found
    return found[-1].net[meter]


def test_an_entry_holds_from_its_day_until_the_next() -> None:
    book = PriceBook((entry("m", JULY, "1.25"), entry("m", JUNE, "2.5")))
    assert paid(book.prices(None, "m", date(2026, 6, 30))) == 2_500_000
    assert paid(book.prices(None, "m", JULY)) == 1_250_000


def test_before_the_first_entry_there_is_no_price_and_the_built_in_book_is_not_asked() -> None:
    book = PriceBook((entry("gpt-4o", JUNE, "1", provider="acme"),))
    assert book.prices("acme", "gpt-4o", MAY) == NoPrice(
        "no price for acme / gpt-4o on 2026-05-04; the first entry starts 2026-06-01"
    )


def test_the_users_entry_stands_before_the_built_in_one() -> None:
    book = PriceBook((entry("gpt-4o", JUNE, "9"),))
    assert paid(book.prices("openai", "gpt-4o", JULY)) == 9_000_000
    assert paid(PriceBook().prices("openai", "gpt-4o", JULY)) == 2_500_000


def test_a_row_or_an_entry_without_provider_is_matched_by_model_alone() -> None:
    book = PriceBook((entry("m", JUNE, "1", provider="acme"), entry("n", JUNE, "3")))
    assert paid(book.prices(None, "m", JULY)) == 1_000_000
    assert paid(book.prices("zeta", "n", JULY)) == 3_000_000
    assert paid(book.prices("ACME", "M", JULY)) == 1_000_000


def test_the_providers_own_entry_stands_before_one_without_provider() -> None:
    book = PriceBook((entry("m", JUNE, "1"), entry("m", JUNE, "2", provider="acme")))
    assert paid(book.prices("acme", "m", JULY)) == 2_000_000
    assert paid(book.prices("zeta", "m", JULY)) == 1_000_000
    assert paid(book.prices(None, "m", JULY)) == 1_000_000


def test_another_providers_price_is_not_taken() -> None:
    book = PriceBook((entry("m-70b", JUNE, "1", provider="acme"),))
    assert book.prices("zeta", "m-70b", JULY) == NoPrice(
        f"no price for zeta / m-70b in the price file or {BUILTIN}; add an entry to prices.yaml"
    )


def test_two_providers_prices_are_not_guessed_between() -> None:
    book = PriceBook((entry("m", JUNE, "1", provider="zeta"), entry("m", JUNE, "2", provider="acme")))
    assert book.prices(None, "m", JULY) == NoPrice("m has prices of acme and zeta, and the requests name no provider")


def test_a_request_without_a_start_has_the_newest_price_and_a_note() -> None:
    found = PriceBook((entry("m", JUNE, "1"), entry("m", JULY, "2"))).prices(None, "m", None)
    assert paid(found) == 2_000_000
    assert not isinstance(found, NoPrice)
    assert found[0].notes == ("m: requests without a start time have the newest price, of 2026-07-01",)


def test_a_tier_has_its_own_price_and_falls_back_to_the_standard_one_with_a_note() -> None:
    book = PriceBook((entry("m", JUNE, "2"), entry("m", JUNE, "1", tier="batch")))
    assert paid(book.prices(None, "m", JULY, "batch")) == 1_000_000
    assert paid(book.prices(None, "m", JULY, "default")) == 2_000_000
    found = book.prices(None, "m", JULY, "flex")
    assert paid(found) == 2_000_000
    assert not isinstance(found, NoPrice)
    assert found[0].notes == ("m: tier flex has no entry; the standard price is taken",)


def test_a_meter_without_price_is_charged_at_its_stand_in_and_told() -> None:
    found = PriceBook((entry("m", JUNE, "2"),)).prices(None, "m", JULY)
    assert not isinstance(found, NoPrice)
    assert paid(found, "cached_input") == 2_000_000
    assert paid(found, "reasoning") == 2_000_000  # the price of output
    assert found[0].assumed == (
        ("cached_input", "input"),
        ("cache_write_5m", "input"),
        ("cache_write_1h", "input"),
        ("audio_input", "input"),
        ("image_input", "input"),
        ("audio_output", "output"),
    )


def test_a_meter_without_stand_in_is_missing() -> None:
    found = PriceBook((PriceEntry("embed", JUNE, {"input": Decimal("0.02")}),)).prices(None, "embed", JULY)
    assert not isinstance(found, NoPrice)
    assert found[0].missing == ("output", "reasoning", "audio_output")


def test_an_hour_of_cache_costs_what_five_minutes_cost_where_it_has_no_price() -> None:
    usd = {"input": Decimal(3), "cache_write_5m": Decimal("3.75"), "output": Decimal(15)}
    found = PriceBook((PriceEntry("m", JUNE, usd),)).prices(None, "m", JULY)
    assert paid(found, "cache_write_1h") == 3_750_000


def test_a_discount_lowers_what_is_paid_and_not_what_is_listed() -> None:
    book = PriceBook((entry("m", JUNE, "0.60", provider="openai"),), (Discount(JULY, Decimal(12), provider="openai"),))
    before, after = book.prices("openai", "m", JUNE), book.prices("openai", "m", JULY)
    assert not isinstance(after, NoPrice)
    assert (paid(before), paid(after), after[0].listed["input"]) == (600_000, 528_000, 600_000)


def test_the_most_particular_discount_holds() -> None:
    discounts = (
        Discount(JUNE, Decimal(10)),
        Discount(JUNE, Decimal(20), provider="openai"),
        Discount(JUNE, Decimal(30), provider="openai", model="m"),
    )
    book = PriceBook((entry("m", JUNE, "1"), entry("n", JUNE, "1")), discounts)
    assert [paid(book.prices(p, m, JULY)) for p, m in (("openai", "m"), ("openai", "n"), ("acme", "m"))] == [
        700_000, 800_000, 900_000,
    ]  # fmt: skip


def test_another_currency_is_turned_into_dollars_at_the_rate_of_the_day() -> None:
    rates = (CurrencyRate("EUR", JUNE, Decimal("1.08")), CurrencyRate("EUR", JULY, Decimal("1.1")))
    book = PriceBook((entry("m", date(2026, 1, 1), "0.5", currency="EUR"),), rates=rates)
    assert paid(book.prices(None, "m", JUNE)) == 540_000
    assert paid(book.prices(None, "m", JULY)) == 550_000
    assert book.prices(None, "m", MAY) == NoPrice("no rate from EUR to USD on 2026-05-04; add one under currencies")


@pytest.mark.parametrize(("model", "says"), [(None, "no model is stated"), ("nobody-1", f"no price for nobody-1 in {BUILTIN}; add an entry to prices.yaml")])  # fmt: skip
def test_what_nobody_prices_has_a_reason(model: str | None, says: str) -> None:
    assert PriceBook().prices(None, model, JULY) == NoPrice(says)
