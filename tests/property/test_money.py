"""Money over generated requests: exact against Python's Decimal, whatever the order, the split or the sample."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, localcontext
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from analysis.aggregates.charges import MEASURES, charge_lines, cube, total
from analysis.aggregates.cost import costs
from analysis.ledger import COST_COLUMNS, DRIVERS, keep_ledger, meter_tokens
from analysis.money import apportion, usd_text
from analysis.pricebook import PriceBook, PriceEntry
from tests.support.examples import tried
from tests.support.money import calls, requests

PRICES = st.integers(0, 10**10).map(lambda millionths: Decimal(millionths).scaleb(-6))
NAMES = st.sampled_from(["u-1", "u-2", "=cmd", "", None])


@st.composite
def books(draw: st.DrawFn) -> PriceBook:
    """Two models, each with a price for every meter that the file may name, or for some of them."""
    entries = []
    for model in ("m", "n"):
        usd = {"input": draw(PRICES), "output": draw(PRICES)}
        for meter in ("cached_input", "cache_write_5m", "cache_write_1h", "reasoning"):
            if draw(st.booleans()):
                usd[meter] = draw(PRICES)
        entries.append(PriceEntry(model, date(2026, 1, 1), usd))
    return PriceBook(tuple(entries), builtin=False)


@st.composite
def row(draw: st.DrawFn) -> dict[str, Any]:
    fresh, cached, write, hour, text, thought = (draw(st.integers(0, 10**6)) for _ in range(6))
    return {
        "model": draw(st.sampled_from(["m", "n", "stranger"])),
        "user": draw(NAMES),
        "scenario": draw(st.sampled_from(["rag", "chat", None])),
        "status_class": draw(st.sampled_from(["ok", "error", "timeout", "cancelled"])),
        "input_tokens": fresh + cached + write + hour,
        "cached_input_tokens": cached,
        "cache_write_tokens": write + hour,
        "cache_write_1h_tokens": hour,
        "output_tokens": text + thought,
        "reasoning_tokens": thought,
    }


ROWS = st.lists(row(), min_size=1, max_size=12)


def by_hand(r: dict[str, Any], book: PriceBook) -> Decimal | None:
    """The cost in USD by decimals alone."""
    entry = next((e for e in book.entries if e.model == r["model"]), None)
    counted = r["input_tokens"] + r["output_tokens"]
    if counted == 0:
        return Decimal(0)
    if entry is None:
        return None
    usd = entry.usd
    hour = r["cache_write_1h_tokens"]
    write = r["cache_write_tokens"] - hour
    fresh = r["input_tokens"] - r["cached_input_tokens"] - write - hour
    five = usd.get("cache_write_5m", usd["input"])
    millionths = (
        fresh * usd["input"]
        + r["cached_input_tokens"] * usd.get("cached_input", usd["input"])
        + write * five
        + hour * usd.get("cache_write_1h", five)
        + (r["output_tokens"] - r["reasoning_tokens"]) * usd["output"]
        + r["reasoning_tokens"] * usd.get("reasoning", usd["output"])
    )
    return Decimal(millionths) / 1_000_000


@given(ROWS, books())
@tried(30)
def test_every_cost_is_what_decimals_say(rows: list[dict[str, Any]], book: PriceBook) -> None:
    with localcontext() as context:
        context.prec = 60
        expected = [by_hand(r, book) for r in rows]
        found = keep_ledger(requests(*rows), None, book).requests["cost_pico"].to_list()
        assert [None if e is None else e * 10**12 for e in expected] == found
        known = [e for e in expected if e is not None]
        ledger = keep_ledger(requests(*rows), None, book)
        total_usd = costs(ledger.requests, None, ledger=ledger).total_usd
        assert (None if not known else sum(known, Decimal(0))) == (None if total_usd is None else Decimal(total_usd))


@given(ROWS, books())
@tried(20)
def test_no_token_is_billed_twice_and_none_is_left_out(rows: list[dict[str, Any]], book: PriceBook) -> None:
    frame = requests(*rows).with_columns(*(e.alias(f"_{meter}") for meter, e in meter_tokens().items()))
    billed = frame.select(pl.sum_horizontal(f"_{meter}" for meter in meter_tokens()))
    stated = frame.select(pl.col("input_tokens") + pl.col("output_tokens"))
    assert billed.rows() == stated.rows()
    priced = keep_ledger(requests(*rows), None, book).requests.filter(pl.col("cost_pico").is_not_null())
    assert priced.select(pl.sum_horizontal(f"{d}_pico" for d in DRIVERS)).rows() == priced.select("cost_pico").rows()


@given(ROWS, books(), st.floats(0.001, 1.0), st.data())
@tried(20)
def test_parts_add_up_to_the_total_in_every_partition(
    rows: list[dict[str, Any]], book: PriceBook, rate: float, data: st.DataObject
) -> None:
    rates = data.draw(st.lists(st.sampled_from([rate, 1.0, 0.25]), min_size=len(rows), max_size=len(rows)))
    sampled = [{**r, "sampling_rate": share} for r, share in zip(rows, rates, strict=True)]
    ledger = keep_ledger(requests(*sampled), None, book)
    lines = charge_lines(ledger.requests, ledger, ["user", "scenario", "model", "status_class"])
    whole = total(lines, MEASURES)
    for by in (["user"], ["scenario", "model"], ["user", "scenario", "model", "status_class"]):
        parts = cube(lines, by, MEASURES).values()
        assert {name: sum(part[name] for part in parts) for name in MEASURES} == whole
    found = costs(ledger.requests, None, ["scenario"], ledger=ledger)
    if found.total_usd is not None:
        amounts = [Decimal(row.cost_usd or "0") for row in found.rows]
        assert sum(amounts) == Decimal(found.total_usd)
        assert sum(Decimal(d.cost_usd) for d in found.drivers) == Decimal(found.total_usd)
        assert sum(Decimal(d.cost_usd) for d in found.days) == Decimal(found.total_usd)
        assert sum(map(Decimal, found.wasted.values())) == Decimal(found.wasted_usd or "0")
        assert usd_text(whole["cost"]) == found.total_usd


@given(ROWS, books(), st.randoms(use_true_random=False))
@tried(20)
def test_the_order_of_rows_changes_nothing(rows: list[dict[str, Any]], book: PriceBook, random: Any) -> None:
    keyed = [{**r, "request_key": f"r-{number}"} for number, r in enumerate(rows)]
    shuffled = list(keyed)
    random.shuffle(shuffled)
    first, second = (keep_ledger(requests(*some), None, book) for some in (keyed, shuffled))
    by = ["user", "scenario"]
    assert costs(first.requests, None, by, ledger=first) == costs(second.requests, None, by, ledger=second)


@given(ROWS, books(), st.integers(1, 4))
@tried(15)
def test_a_request_costs_the_same_as_the_sum_of_its_calls(
    rows: list[dict[str, Any]], book: PriceBook, parts: int
) -> None:
    """Splitting the tokens of a request over calls of one model moves no money."""
    inner = [
        {"request_key": f"r-{number}", "call_index": at, "model": r["model"], **_share(r, parts, at)}
        for number, r in enumerate(rows)
        for at in range(parts)
    ]
    whole = keep_ledger(requests(*rows), None, book)
    split = keep_ledger(requests(*({**r, "n_call_rows": parts} for r in rows)), calls(*inner), book)
    assert whole.requests.select(COST_COLUMNS).rows() == split.requests.select(COST_COLUMNS).rows()
    assert costs(whole.requests, None, ledger=whole).cubes == costs(split.requests, None, ledger=split).cubes


@given(st.lists(st.fractions(0, 10**9, max_denominator=10**4), min_size=1, max_size=20))
@tried()
def test_apportioned_parts_are_off_by_less_than_one_unit(parts: list[Any]) -> None:
    exact = dict(enumerate(parts))
    whole = apportion(exact)
    assert sum(whole.values()) == round(sum(parts))
    assert all(abs(whole[key] - exact[key]) <= 1 for key in exact)


def _share(r: dict[str, Any], parts: int, at: int) -> dict[str, int]:
    """Tokens of one of several calls, cut bucket by bucket so that no part outgrows its whole."""
    hour, thought = r["cache_write_1h_tokens"], r["reasoning_tokens"]
    write = r["cache_write_tokens"] - hour
    fresh = r["input_tokens"] - r["cached_input_tokens"] - write - hour
    buckets = (fresh, r["cached_input_tokens"], write, hour, r["output_tokens"] - thought, thought)
    f, c, w, h, o, t = (whole // parts + (whole % parts if at == 0 else 0) for whole in buckets)
    return {
        "input_tokens": f + c + w + h,
        "cached_input_tokens": c,
        "cache_write_tokens": w + h,
        "cache_write_1h_tokens": h,
        "output_tokens": o + t,
        "reasoning_tokens": t,
    }
