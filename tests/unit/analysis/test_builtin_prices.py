"""The built-in book: dated, tiered, and exact to six decimals per million."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version

from analysis.builtin_prices import look_up, title

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
