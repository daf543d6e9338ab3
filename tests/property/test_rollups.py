"""Roll-ups over generated requests: merging is addition, percentiles keep their bound, counts and money are exact."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import reduce
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.aggregates.attainment import with_good
from analysis.aggregates.statistics import quantile
from analysis.aggregates.verdicts import verdict_column
from analysis.ledger import keep_ledger
from analysis.metrics.measure import measure
from analysis.rollups.buckets import ERROR, bucket_of, percentile
from analysis.rollups.roll_up import COUNTS, Frames, counted, folded, merge, roll_up_rows
from tests.support.builders import MONDAY_NS, frame, request
from tests.support.examples import tried
from tests.support.retention import NOW_NS, PRICES, objectives

MILLISECONDS = st.one_of(st.none(), st.just(0.0), st.floats(1e-6, 1e7))


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    return request(
        at_s=draw(st.floats(0, 86_399)),
        ttft_ms=draw(MILLISECONDS),
        tpot_ms=draw(st.floats(0, 1000)),
        input_tokens=draw(st.integers(0, 10**6)),
        output_tokens=draw(st.integers(1, 10**5)),
        status=draw(st.sampled_from(["ok", "ok", "error", "cancelled", "open", "shed"])),
        streaming=draw(st.sampled_from([True, False, None])),
        model=draw(st.sampled_from(["large", "small", "stranger", None])),
        user=draw(st.sampled_from(["u-1", "u-2", None])),
        tenant=draw(st.sampled_from(["a", None])),
        scenario=draw(st.sampled_from(["chat", "rag"])),
        sampling_rate=draw(st.sampled_from([1.0, 0.5])),
    )


def measured(part: list[dict[str, Any]]) -> tuple[pl.DataFrame, Frames]:
    ledger = keep_ledger(frame(part), None, PRICES)
    told = with_good(measure(ledger.requests, objectives().settings), objectives(), NOW_NS)
    return told, roll_up_rows(told, ledger, objectives(), MONDAY_NS, NOW_NS)


@tried(25)
@given(st.lists(rows(), min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_roll_ups_of_any_parts_added_in_any_order_are_those_of_the_whole(part: list[dict[str, Any]], rng: Any) -> None:
    groups: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for number, row in enumerate(part):
        groups[rng.randrange(4)].append(row | {"request_key": f"r-{number}"})
    every = [row for group in groups.values() for row in group]
    parts = [measured(group)[1] for group in groups.values()]
    rng.shuffle(parts)
    whole = folded(merge(measured(every)[1], measured(every)[1]))  # twice the whole, to have one order of rows
    added = folded(merge(reduce(merge, parts), reduce(merge, reversed(parts))))
    for table, told in whole.items():
        assert_frame_equal(told, added[table])


@tried(25)
@given(st.lists(rows(), min_size=1, max_size=25))
def test_attainment_and_money_are_those_of_the_requests(part: list[dict[str, Any]]) -> None:
    told, rolled = measured([row | {"request_key": f"r-{number}"} for number, row in enumerate(part)])
    verdicts = rolled["rolled_verdicts"].filter(pl.col("clause").is_null())
    for item in counted(objectives()):
        column = verdict_column(told, item, objectives().settings, observed_until_ns=NOW_NS)
        for by_hour in (True, False):
            mine = verdicts.filter((pl.col("objective") == item.id) & (pl.col("hour_ns").is_not_null() == by_hour))
            assert [int(mine[name].sum()) for name in COUNTS] == [int((column == name).sum()) for name in COUNTS]
    by_user = dict(rolled["rolled_charges"].group_by("user").agg(pl.col("cost_pico").sum()).iter_rows())
    exact: dict[str | None, int] = defaultdict(int)
    for user, pico in told.select("user", "cost_pico").iter_rows():
        exact[user] += pico or 0
    assert by_user == dict(exact)


@tried(200)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e7), st.floats(-1e3, -1e-9)), min_size=1, max_size=60),
    st.fractions(0, 1, max_denominator=1000),
)
def test_a_percentile_from_buckets_is_within_its_bound_of_the_exact_one(values: list[float], p: Fraction) -> None:
    column = pl.Series("x", values, dtype=pl.Float64())
    told = column.to_frame().select(bucket_of(pl.col("x")).alias("bucket"), pl.lit(1, pl.Int64).alias("n"))
    exact, near = quantile(column, p), percentile(told, p)
    assert exact is not None
    assert near is not None
    assert abs(near - exact) <= ERROR * abs(exact)
