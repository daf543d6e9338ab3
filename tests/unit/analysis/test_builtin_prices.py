"""The built-in book: dated, tiered, and exact to six decimals per million."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version

import pytest

from analysis.builtin_prices import look_up, title
from analysis.pricebook import NoPrice, PriceBook

DAY = date(2026, 11, 10)


def test_the_title_names_package_and_version() -> None:
    assert title() == f"genai-prices {version('genai-prices')}"


def test_meters_are_whole_pico_dollars_per_token() -> None:
    found = look_up("anthropic", "claude-haiku-4-5", DAY, None)
    assert found is not None
    assert found.steps[0].pico_per_token == {
        "input": 1_000_000,
        "cached_input": 100_000,
        "cache_write_5m": 1_250_000,
        "cache_write_1h": 2_000_000,
        "output": 5_000_000,
    }


def test_long_prompts_have_a_step_of_their_own() -> None:
    found = look_up("anthropic", "claude-sonnet-4-5", DAY, None)
    assert found is not None
    assert [(s.above, s.pico_per_token["input"]) for s in found.steps] == [(-1, 3_000_000), (200_000, 6_000_000)]


def test_batch_work_has_its_own_price() -> None:
    found = look_up("openai", "gpt-4o-mini", DAY, "batch")
    assert found is not None
    assert found.steps[0].pico_per_token["output"] == 300_000
    assert found.notes == ()


def test_a_tier_that_the_book_does_not_know_is_told() -> None:
    found = look_up("anthropic", "claude-haiku-4-5", DAY, "scale")
    assert found is not None
    assert found.notes == ("claude-haiku-4-5: tier scale has no price; the standard price is taken",)


def test_a_model_that_the_book_does_not_know_has_no_price() -> None:
    assert look_up(None, "harbor-9b", DAY, None) is None
    assert look_up("internal", "gpt-4o", DAY, None) is None


def test_a_price_that_changes_within_the_day_is_told() -> None:
    found = look_up("deepseek", "deepseek-chat", DAY, None)
    assert found is not None
    assert found.notes == ("deepseek-chat: its price changes within the day; the price of 12:00 UTC is taken",)


def test_every_model_of_the_book_has_whole_prices_on_any_day_and_tier() -> None:
    from genai_prices.data_snapshot import get_snapshot

    odd = []
    for provider in get_snapshot().providers:
        for model in provider.models:
            for day, tier in ((DAY, None), (date(2024, 1, 1), "batch"), (None, "flex")):
                found = look_up(provider.id, model.id, day, tier)
                steps = () if found is None else found.steps
                if any(not isinstance(n, int) or n < 0 for step in steps for n in step.pico_per_token.values()):
                    odd.append((provider.id, model.id))
                if [step.above for step in steps] != sorted({step.above for step in steps}):
                    odd.append((provider.id, model.id))
    assert odd == []


def test_a_fee_per_request_is_told() -> None:
    found = look_up("perplexity", "sonar", DAY, None)
    assert found is not None
    assert found.notes == ("sonar: it also charges per request, which is not in the costs (a lower bound)",)


@pytest.mark.parametrize(
    ("fresh", "cached", "written", "made"), [(1_000, 0, 0, 50), (850, 100, 50, 50), (299_000, 1_000, 0, 7)]
)
def test_costs_are_those_of_the_package_itself(fresh: int, cached: int, written: int, made: int) -> None:
    from genai_prices import Usage, calc_price
    from genai_prices.data_snapshot import get_snapshot

    usage = Usage(
        input_tokens=fresh + cached + written, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=made
    )
    noon = datetime(2026, 11, 10, 12, tzinfo=UTC)
    compared, wrong = 0, []
    for provider in get_snapshot().providers:
        for model in provider.models:
            found = PriceBook().prices(provider.id, model.id, DAY)
            if isinstance(found, NoPrice) or any("per request" in note for note in found[0].notes):
                continue
            price = [step for step in found if step.above < fresh + cached + written][-1]
            if price.missing:
                continue
            mine = fresh * price.net["input"] + cached * price.net["cached_input"]
            mine += written * price.net["cache_write_5m"] + made * price.net["output"]
            theirs = calc_price(usage, model.id, provider_id=provider.id, genai_request_timestamp=noon).total_price
            compared += 1
            if abs(Decimal(mine) / 10**12 - theirs) > Decimal("0.0000000000005") * (fresh + cached + written + made):
                wrong.append((provider.id, model.id))  # by more than the rounding of a price to six decimals
    assert wrong == []
    assert compared > 1_500
