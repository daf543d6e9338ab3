"""Why the bill changed: one reason at a time, new and vanished kinds apart, parts that add up."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.aggregates.cost_change import cost_steps
from analysis.ledger import keep_ledger
from analysis.pricebook import PriceBook, PriceEntry
from tests.support.money import calls, requests


def book(**usd: str) -> PriceBook:
    prices = {"input": "1", "cached_input": "0.1", "output": "2"} | usd
    meters = {meter: Decimal(price) for meter, price in prices.items()}
    models = ("m", "n")
    return PriceBook(tuple(PriceEntry(model, date(2026, 1, 1), meters) for model in models), builtin=False)


def priced(*rows: dict[str, Any], prices: PriceBook | None = None, inner: pl.DataFrame | None = None) -> pl.DataFrame:
    return keep_ledger(requests(*rows), inner, prices or book()).requests


def row(fresh: int, cached: int = 0, made: int = 0, **more: Any) -> dict[str, Any]:
    tokens = {"input_tokens": fresh + cached, "cached_input_tokens": cached, "output_tokens": made}
    return {"model": "m", "scenario": "rag", **tokens, **more}


def steps(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, str]:
    """Steps that are not 0."""
    return {step.id: step.change_usd for step in cost_steps(before, after) if step.change_usd != "0"}


def test_twice_the_requests_are_volume() -> None:
    one = row(1_000_000)
    assert steps(priced(one), priced(one, one)) == {"volume": "1"}


def test_other_kinds_in_the_same_number_are_mix() -> None:
    cheap, dear = row(1_000_000, scenario="chat"), row(3_000_000)
    assert steps(priced(cheap, cheap, dear), priced(cheap, dear, dear)) == {"mix": "2"}


def test_longer_answers_are_tokens_per_request() -> None:
    assert steps(priced(row(0, made=100_000)), priced(row(0, made=250_000))) == {"tokens_per_request": "0.3"}


def test_a_lost_prompt_cache_is_cache() -> None:
    # 1 M input: half of it cached costs 0.5 + 0.05, none of it costs 1
    assert steps(priced(row(500_000, 500_000)), priced(row(1_000_000))) == {"cache": "0.45"}


def test_a_price_cut_is_price() -> None:
    one = row(1_000_000, made=500_000)
    assert steps(priced(one), priced(one, prices=book(output="1"))) == {"price": "-0.5"}


def test_a_new_kind_and_one_that_is_gone_are_lines_of_their_own() -> None:
    stays = row(1_000_000)
    before, after = priced(stays, row(2_000_000, model="n")), priced(stays, row(3_000_000, scenario="chat"))
    assert steps(before, after) == {"new": "3", "vanished": "-2"}


def test_several_reasons_at_once_in_their_order() -> None:
    before = priced(row(1_000_000, made=1_000_000))
    longer = row(2_000_000, made=1_000_000)
    after = priced(longer, longer, prices=book(input="0.5"))
    # 3 -> volume 6 -> tokens 2 x 4 = 8 -> price 2 x 3 = 6
    assert steps(before, after) == {"volume": "3", "tokens_per_request": "2", "price": "-2"}


def test_a_replay_from_a_response_cache_costs_nothing_and_is_no_longer_prompt() -> None:
    one = row(1_000_000)
    assert steps(priced(one), priced(one, {**one, "response_cached": True})) == {
        "volume": "1",
        "tokens_per_request": "-1",
    }


def test_calls_that_state_more_than_their_request_keep_their_cost() -> None:
    inner = calls({"request_key": "r-0", "model": "m", "input_tokens": 0, "output_tokens": 500_000})
    before = priced({**row(10), "n_call_rows": 1, "output_tokens": None}, inner=inner)
    assert steps(before, priced(row(0, scenario="chat", made=500_000))) == {"new": "1", "vanished": "-1"}


def test_unpriced_requests_are_in_neither_side() -> None:
    one = row(1_000_000)
    assert steps(priced(one, row(5, model="stranger")), priced(one)) == {}
    assert cost_steps(priced(row(5, model="stranger")), priced(one)) == []


def test_a_sample_stands_for_what_it_was_taken_from() -> None:
    one = row(1_000_000)
    assert steps(priced(one), priced({**one, "sampling_rate": 0.25})) == {"volume": "3"}


COUNT = st.integers(0, 10**6)
ROW = st.builds(
    row, COUNT, COUNT, COUNT, model=st.sampled_from(["m", "n"]), scenario=st.sampled_from(["rag", "chat", None]),
    sampling_rate=st.sampled_from([1.0, 0.0815]), status_class=st.sampled_from(["ok", "error"]),
)  # fmt: skip
PRICE = st.integers(0, 10**8).map(lambda n: str(Decimal(n).scaleb(-6)))


@given(st.lists(ROW, min_size=1, max_size=8), st.lists(ROW, min_size=1, max_size=8), PRICE, PRICE)
@settings(max_examples=40, deadline=None)
def test_steps_add_up_to_the_change(
    before: list[dict[str, Any]], after: list[dict[str, Any]], input_usd: str, output_usd: str
) -> None:
    old, new = priced(*before), priced(*after, prices=book(input=input_usd, output=output_usd))

    def cost(frame: pl.DataFrame) -> float:
        return float((frame["cost_pico"] / frame["sampling_rate"]).sum())

    total = sum(Decimal(step.change_usd) for step in cost_steps(old, new))
    assert abs(float(total) * 1e12 - (cost(new) - cost(old))) <= 1 + 1e-9 * (cost(new) + cost(old))
