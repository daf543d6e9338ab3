"""Roll-ups over generated requests: merging is addition, percentiles keep their bound, counts and money are exact."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.aggregates.attainment import with_good
from analysis.aggregates.statistics import quantile
from analysis.aggregates.verdicts import verdict_column
from analysis.history import history
from analysis.ledger import keep_ledger
from analysis.metrics.measure import measure
from analysis.rollups.buckets import ERROR, bucket_of, percentile
from analysis.rollups.roll_up import COUNTS, Frames, counted, folded, merge, roll_up_rows
from ingest.selection import week_selection
from ingest.store.database import Store
from tests.support.builders import MONDAY_NS, frame, request
from tests.support.examples import tried
from tests.support.retention import DAY_NS, NOW_NS, PRICES, drop, objectives

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


SUMMED = """
timezone: UTC
objectives:
  - {id: mean, metric: ttft, threshold: 900ms, statistic: mean, min_requests: 1}
  - {id: mean_of_days, metric: e2e, threshold: 9s, statistic: mean, per: scenario, window: 1d, min_requests: 2}
  - {id: hit, metric: cache_hit_ratio, threshold: 30%, min_requests: 1}
  - {id: hit_by_hour, metric: cache_hit_ratio, threshold: 30%, window: 3h, min_requests: 1}
  - {id: arriving, metric: requests_per_second, threshold: 0.0001, min_requests: 1}
  - {id: speed, metric: tokens_per_second, threshold: 5, window: 5h, min_requests: 2, where: {scenario: chat}}
  - {id: waited, metric: ttft, threshold: 3000s, statistic: sum, min_requests: 1, per: tenant}
  - {id: waiting, metric: ttft, threshold: 1s, statistic: rate, min_requests: 1}
  - {id: kept, metric: goodput_tokens_per_second, threshold: 0.01, min_requests: 1}
"""


@tried(8)
@given(
    st.lists(st.tuples(rows(), st.integers(0, 6), st.integers(0, 100)), min_size=1, max_size=12),
    st.integers(0, 7),
)
def test_means_volumes_and_quotients_of_dropped_days_are_those_of_the_requests(
    part: list[tuple[dict[str, Any], int, int]], dropped: int
) -> None:
    """Days of a week, some or all of them dropped: the trend says of it what the rows said."""
    told = [
        row
        | {"request_key": f"r-{number}", "started_ns": row["started_ns"] + day * DAY_NS}
        | {"ended_ns": row["ended_ns"] and row["ended_ns"] + day * DAY_NS}
        | {"cached_input_tokens": row["input_tokens"] * percent // 100 if percent else None}
        for number, (row, day, percent) in enumerate(part)
    ]
    week, judged = week_selection("2026-W11", "UTC"), objectives(SUMMED)
    with Store.open() as store:
        store.append("requests", frame(told))
        before = history(store, week, judged)
        drop(store, MONDAY_NS + dropped * DAY_NS, judged=judged, timezone="UTC")
        after = history(store, week, judged)
    assert before.keys() == after.keys()
    for name, weeks in before.items():
        for was, now in zip(weeks, after[name], strict=True):
            assert (now.value is None) == (was.value is None), name
            assert (now.value or 0.0) == pytest.approx(was.value or 0.0, rel=1e-9, abs=1e-11), name
            assert replace(now, rolled=0, value=None) == replace(was, value=None), name
