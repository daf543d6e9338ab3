"""prices.yaml: what it may say, and how a fault is told."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import pytest

from analysis.pricebook import Budget, CurrencyRate, Discount, PriceBook, PriceEntry
from analysis.prices import default_prices, read_prices
from ingest.errors import ConfigError

BUILTIN = f"genai-prices {version('genai-prices')}"
FULL = """\
prices:
  - {provider: Internal, model: lm-large, from: 2026-01-01, usd_per_million_tokens: {input: 0.60, cached_input: 0.15, output: 1.80}}
  - {model: lm-eu, from: 2026-02-01, currency: eur, per_million_tokens: {input: 0.5, output: 2}}
  - {model: lm-large, from: 2026-03-01, batch: true, usd_per_million_tokens: {input: 0.30, output: 0.90}}
  - {model: lm-large, from: 2026-03-01, tier: Priority, usd_per_million_tokens: {input: 1.20, output: 3.60}}
discounts: [{provider: openai, from: 2026-01-01, percent: 12}]
currencies: [{currency: EUR, from: 2026-11-01, usd: 1.08}]
budgets: [{per: tenant, usd_per_month: 5000}, {where: {tenant: acme, scenario: [rag, chat]}, usd_per_month: 12.5}]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_part_of_the_file_is_read(tmp_path: Path) -> None:
    book = read_prices(write(tmp_path, FULL))
    assert book == PriceBook(
        entries=(
            PriceEntry(
                "lm-large",
                date(2026, 1, 1),
                {"input": Decimal("0.60"), "cached_input": Decimal("0.15"), "output": Decimal("1.80")},
                provider="internal",
            ),
            PriceEntry("lm-eu", date(2026, 2, 1), {"input": Decimal("0.5"), "output": Decimal(2)}, currency="EUR"),
            PriceEntry("lm-large", date(2026, 3, 1), {"input": Decimal("0.30"), "output": Decimal("0.90")}, tier="batch"),
            PriceEntry("lm-large", date(2026, 3, 1), {"input": Decimal("1.20"), "output": Decimal("3.60")}, tier="priority"),
        ),
        discounts=(Discount(date(2026, 1, 1), Decimal(12), provider="openai"),),
        rates=(CurrencyRate("EUR", date(2026, 11, 1), Decimal("1.08")),),
        budgets=(
            Budget(Decimal(5000), per="tenant"),
            Budget(Decimal("12.5"), where=(("tenant", ("acme",)), ("scenario", ("rag", "chat")))),
        ),
        name="prices.yaml",
        sha256=book.sha256,
    )  # fmt: skip
    assert book.title == f"prices.yaml (4 entries, sha256 {(book.sha256 or '')[:12]}), then {BUILTIN}"


def test_without_a_file_the_built_in_book_is_alone() -> None:
    assert default_prices().title == BUILTIN


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {inputs: 1}}]",
            'usd_per_million_tokens has the key "inputs", which is not known.',
        ),
        ("prices: [{model: m, from: 2026-01-01, usd_per_million_token: {input: 1}}]", 'Did you mean "usd_per_million_tokens"?'),
        ("prices: [{from: 2026-01-01, usd_per_million_tokens: {input: 1}}]", "a price entry has no model"),
        ("prices: [{model: m, usd_per_million_tokens: {input: 1}}]", 'the entry of "m" has no from'),
        ("prices: [{model: m, from: 2026-01-01}]", 'the entry of "m" must have usd_per_million_tokens'),
        ("prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {}}]", 'the entry of "m" has no price. Write {input: 0.60, output: 1.80}'),
        (
            "prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {input: 0.1234567}}]",
            "the price of input is 0.1234567, and has more than 6 decimals per million tokens. Round it",
        ),
        (
            "prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {input: -1}}]",
            "the price of input is -1, and must be between 0 and 10000",
        ),
        (
            "prices: [{model: m, from: 2026-01-01, tier: flex, batch: true, usd_per_million_tokens: {input: 1}}]",
            'the entry of "m" is of tier flex and of batch; write two entries',
        ),
        ("discounts: [{from: 2026-01-01, percent: 120}]", "percent is 120, and must be between 0 and 100"),
        ("currencies: [{currency: EUR, from: 2026-01-01, usd: 0}]", "usd is 0, and must be the dollars that one unit"),
        ("currencies: [{currency: EUR, from: 2026-01-01, usd: 1e400}]", "usd is 1e400, and must have at most 60 characters"),
        ("currencies: [{currency: EUR, from: 2026-01-01, usd: 1e10}]", "usd is 1e10, and must be between 0 and 1000000000"),
        ("budgets: [{per: user, usd_per_month: 1e16}]", "usd_per_month is 1e16, and must be between 0 and 1000000000000000"),
        ("prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {input: 1e-999999999}}]", "the price of input is "),
        ("budgets: [{usd_per_month: 5}]", "a budget must have either per (a dimension) or where (dimension: value), and has neither"),
        ("budgets: [{per: user, where: {user: u}, usd_per_month: 5}]", "and has both"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_line_and_remedy(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_prices(write(tmp_path, f"# prices of the house\n{line}\n"))
    assert caught.value.message.startswith("prices.yaml, line 2: ")
    assert message in caught.value.message


def test_six_decimals_are_allowed_and_trailing_zeros_do_not_count(tmp_path: Path) -> None:
    text = "prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {input: 0.12345600, output: 1e-6}}]"
    assert read_prices(write(tmp_path, text)).entries[0].usd == {
        "input": Decimal("0.123456"),
        "output": Decimal("0.000001"),
    }


def test_two_entries_of_one_day_are_refused(tmp_path: Path) -> None:
    entry = "  - {model: m, from: 2026-01-01, usd_per_million_tokens: {input: 1}}\n"
    with pytest.raises(ConfigError) as caught:
        read_prices(write(tmp_path, "prices:\n" + entry + entry))
    assert caught.value.message == (
        'prices.yaml, line 3: "m" has two entries from 2026-01-01; the first is on line 2. '
        "Append a new price with its own first day"
    )
