"""Cost per request and per token, cache hits."""

from __future__ import annotations

from analysis.aggregates.figures import figure, ratio_figures
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from tests.support.builders import frame, request

ROWS = [
    request(1, input_tokens=900, output_tokens=100, cached_input_tokens=300, cost_pico=2_000_000_000),
    request(2, input_tokens=1000, output_tokens=0, cached_input_tokens=None, cost_pico=1_000_000_000),
    request(3, input_tokens=5000, output_tokens=500, cached_input_tokens=0, cost_pico=None),
]


def test_cost_is_in_usd_and_unknown_without_a_price() -> None:
    assert measure(frame(ROWS)).get_column("cost").to_list() == [0.002, 0.001, None]


def test_ratios_take_numerator_and_denominator_from_the_same_requests() -> None:
    rows = measure(frame(ROWS))
    found = {name: figure(ratio_figures(rows, BY_ID[name], ())) for name in
             ("cost_per_1k_tokens", "cost_per_million_output_tokens", "output_tokens_per_usd", "cache_hit_ratio")}  # fmt: skip
    assert {name: value.value for name, value in found.items()} == {
        "cost_per_1k_tokens": 0.0015,  # 0.003 USD over 2,000 tokens
        "cost_per_million_output_tokens": 30.0,  # what brought no token was paid for all the same
        "output_tokens_per_usd": 100 / 0.003,
        "cache_hit_ratio": 300 / 5900,
    }
