"""Roll-ups and standing rows together: what was told before the drop is told after it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from analysis.analyze import analyze
from analysis.result import AnalysisResult
from analysis.rollups.buckets import ERROR
from ingest.selection import Selection, week_selection
from ingest.store.database import Store
from tests.support.builders import request
from tests.support.retention import OBJECTIVES, PRICES, at, drop, filled, objectives, some_rows

ALL = Selection(timezone="Europe/Berlin")
BEFORE = at("2026-03-04T23:00:00")
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def told(store: Store, selection: Selection = ALL, text: str = OBJECTIVES) -> AnalysisResult:
    return analyze(store, selection, objectives=objectives(text), prices=PRICES, now=NOW)


@pytest.mark.parametrize("rate", [1.0, 0.05])
def test_counts_costs_and_attainment_are_exact_and_percentiles_within_their_bound(rate: float) -> None:
    rows = [row | {"sampling_rate": rate if number % 3 else 1.0} for number, row in enumerate(some_rows(1500))]
    with Store.open() as store:
        filled(store, rows)
        before = told(store)
        drop(store, BEFORE)
        after = told(store)
    rolled = after.rolled
    assert before.rolled is None
    assert rolled is not None
    assert rolled.basis == {"requests": "exact", "objectives": "exact", "cost_usd": "exact", "latency": "within 1 %"}
    assert (rolled.requests, rolled.by_status) == (1500, before.summary.by_status)
    assert (rolled.cost_usd, rolled.unpriced_requests) == (before.costs.total_usd, before.costs.unpriced_requests)
    for was, now in zip(before.objectives, rolled.objectives, strict=False):
        counts = ("id", "good", "bad", "unknown", "excluded", "attainment")
        assert [getattr(was, name) for name in counts] == [getattr(now, name) for name in counts]
        assert (now.note, now.rolled > 0) == (None, True)
    lines = {(line.metric, line.streaming): line for line in before.latency}
    assert {("ttft", "all"), ("ttft", False), ("tpot", "all"), ("e2e", None)} <= {
        (line.metric, line.streaming) for line in rolled.latency
    }
    for line in rolled.latency:
        was_line = lines.get((line.metric, line.streaming))
        if was_line is None:  # told apart by streaming for all, where the report does so for some
            continue
        assert line.n == was_line.n
        for name in ("p50", "p95", "p99"):
            exact, near = getattr(was_line, name), getattr(line, name)
            assert abs(near - exact) <= ERROR * exact
    assert any("1,500" not in note and "dropped by retention" in note for note in after.notes)


def test_the_budget_of_a_period_longer_than_the_retention_is_the_same() -> None:
    rows = [row | {"sampling_rate": 0.1 if number % 3 else 1.0} for number, row in enumerate(some_rows(900))]
    with Store.open() as store:
        filled(store, rows)
        before = told(store).objectives[0]
        drop(store, BEFORE)
        after = told(store).objectives[0]
        week = told(store, ALL.within(at("2026-03-05T23:00:00"), at("2026-03-09T00:00:00"))).objectives[0]
    names = ("period_good", "period_bad", "period_budget_spent", "period_days")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert (week.period_good, week.period_bad) == (before.period_good, before.period_bad)
    assert (before.period_rolled, after.period_rolled is not None and after.period_rolled > 300) == (0, True)
    assert after.period_start == "2026-03-02T00:00:00Z"


def test_a_changed_definition_is_not_added_to_what_was_counted_by_another() -> None:
    changed = OBJECTIVES.replace("id: ttft, metric: ttft, threshold: 500ms", "id: ttft, metric: ttft, threshold: 900ms")
    with Store.open() as store:
        filled(store, some_rows(900))
        drop(store, BEFORE)
        result = told(store, text=changed)
    assert result.rolled is not None
    first = result.rolled.objectives[0]
    assert first.note == "5 of 5 dropped days were not counted by this definition and these filters"
    assert (first.good, first.bad, first.rolled) == (result.objectives[0].good, result.objectives[0].bad, 0)
    assert (result.objectives[0].period_rolled, result.rolled.objectives[1].note) == (0, None)


def test_the_trend_over_weeks_reads_roll_ups_and_rows_together() -> None:
    week = week_selection("2026-W11", "Europe/Berlin")
    sampled = [row | {"sampling_rate": 0.1 if number % 3 else 1.0} for number, row in enumerate(some_rows(1500))]
    rows = [*sampled, request(9999, at_s=8 * 86_400, ttft_ms=100, tpot_ms=9, model="large")]
    with Store.open() as store:
        filled(store, rows)
        before = told(store, week).objectives
        drop(store, BEFORE)
        after = told(store, week).objectives
    for was, now in zip(before, after, strict=True):
        (was_week, now_week) = (was.history[0], now.history[0]) if was.history else (None, None)
        if was_week is None or now_week is None:
            assert was.id in ("cost", "spent")
            continue
        same = replace(now_week, value=was_week.value, rolled=0)
        assert now_week.rolled > 0
        assert same == was_week


FORMS = """
timezone: Europe/Berlin
objectives:
  - {id: errors, metric: error_rate, threshold: 8%}
  - {id: up, metric: availability, threshold: 85%, where: {scenario: chat}}
  - {id: degraded, metric: degraded_rate, threshold: 5%}
  - {id: failing, metric: error_rate, threshold: 8%, per: tenant}
  - {id: of_tenants, metric: ttft, threshold: 500ms, target: 60%, per: tenant}
  - {id: of_models, metric: ttft, threshold: 700ms, statistic: p95, per: model, min_requests: 50}
  - {id: by_day, metric: ttft, threshold: 500ms, target: 60%, per: scenario, window: 1d}
  - {id: halves, metric: ttft, threshold: 500ms, target: 60%, window: 90m}
  - {id: of_hours, metric: ttft, threshold: 500ms, target: 60%, per: tenant, window: 4h}
  - {id: of_users, metric: ttft, threshold: 500ms, target: 60%, per: user}
  - {id: mean, metric: ttft, threshold: 900ms, statistic: mean}
  - {id: mean_of_days, metric: e2e, threshold: 9s, statistic: mean, per: tenant, window: 1d}
  - {id: hit, metric: cache_hit_ratio, threshold: 30%}
  - {id: hit_of_models, metric: cache_hit_ratio, threshold: 31%, per: model}
  - {id: arriving, metric: requests_per_second, threshold: 0.01}
  - {id: arriving_by_hour, metric: requests_per_second, threshold: 0.01, window: 6h}
  - {id: speed, metric: tokens_per_second, threshold: 5, where: {scenario: chat}}
  - {id: waited, metric: ttft, threshold: 3000s, statistic: sum}
  - {id: waiting, metric: ttft, threshold: 1s, statistic: rate}
  - {id: kept, metric: goodput, threshold: 0.01}
  - {id: fastest, metric: quality, threshold: 0.5, statistic: p50}
"""
ADDED_UP = (
    *("mean", "mean_of_days", "hit", "hit_of_models", "arriving", "speed"),
    *("waited", "waiting", "kept"),
)


@pytest.mark.parametrize("where", [(), (("model", "large"),)])
def test_shares_and_objectives_per_value_have_the_same_trend_once_rows_are_gone(
    where: tuple[tuple[str, str], ...],
) -> None:
    week = replace(week_selection("2026-W11", "Europe/Berlin"), where=where)
    marked = [
        row
        | {"sampling_rate": 0.1 if n % 3 else 1.0, "degraded": True if n % 7 == 0 else None}
        | {"cached_input_tokens": row["input_tokens"] * (n % 3) // 3 if n % 5 else None, "quality": 0.1 * (n % 11)}
        for n, row in enumerate(some_rows(1500))
    ]
    rows = [*marked, request(9999, at_s=8 * 86_400, ttft_ms=100, tpot_ms=9, model="large")]
    with Store.open() as store:
        filled(store, rows)
        before = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
        drop(store, BEFORE, judged=objectives(FORMS))
        half = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
        drop(store, at("2026-03-08T23:00:00"), judged=objectives(FORMS))
        whole = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
    for after in (half, whole):
        for name in ("errors", "up", "degraded", "failing", "of_tenants", "by_day"):
            assert after[name].value == pytest.approx(before[name].value), name
            assert replace(after[name], rolled=0, value=None) == replace(before[name], value=None), name
        assert replace(after["of_models"], rolled=0) == replace(before["of_models"], value=None)
        for name in ADDED_UP if where else (*ADDED_UP, "arriving_by_hour"):
            assert after[name].value == pytest.approx(before[name].value), name
            assert replace(after[name], rolled=0, value=None) == replace(before[name], value=None), name
        assert {name: after[name].note for name in ("halves", "of_hours", "of_users", "fastest")} == {
            "halves": f"Its windows begin or end within {'a day' if where else 'an hour'}, by which dropped days are kept.",
            "of_hours": "Its windows begin or end within a day, by which dropped days are kept.",
            "of_users": "Dropped days keep verdicts by model, scenario, tenant, not by user.",
            "fastest": "Dropped days keep how many requests kept a limit; this objective needs the requests themselves.",
        }
        for name in ("halves", "of_hours", "of_users", "fastest"):
            assert (after[name].verdict, after[name].good, after[name].bad) == (
                "unknown", before[name].good, before[name].bad,
            )  # fmt: skip
    assert {"met", "breached"} <= {one.verdict for one in before.values()}


def test_values_that_were_kept_together_are_a_hole_of_an_objective_per_value() -> None:
    week = week_selection("2026-W11", "Europe/Berlin")
    rows = [row | {"tenant": f"t-{n}"} for n, row in enumerate(some_rows(700))]
    with Store.open() as store:
        filled(store, [*rows, request(9999, at_s=8 * 86_400, ttft_ms=100, tpot_ms=9)])
        drop(store, at("2026-03-08T23:00:00"), judged=objectives(FORMS))
        found = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
    assert (found["of_tenants"].verdict, found["of_tenants"].note) == (
        "unknown",
        "A dropped day was counted by another definition or without its rarer values, or lies only partly in the week.",
    )  # fmt: skip
    assert found["of_models"].verdict != "unknown"


def test_a_dropped_week_still_answers_and_says_what_it_lacks() -> None:
    with Store.open() as store:
        filled(store, some_rows(600))
        drop(store, at("2026-03-31T22:00:00"))
        result = told(store, week_selection("2026-W10", "UTC"))
        cut = told(store, ALL.within(at("2026-03-02T12:00:00"), at("2026-03-09T00:00:00")))
        filtered = told(store, replace(ALL, where=(("user", "u-1"),)))
    assert result.summary.requests == 0
    assert result.rolled is not None
    assert (result.rolled.requests, result.findings) == (600, [])
    assert (
        "No row of this selection stands: its counts, attainment and costs remain as far as roll-ups keep them."
        in result.notes
    )
    assert cut.rolled is not None
    assert cut.rolled.notes[0].startswith("2026-03-02T00:00:00Z to 2026-03-02T23:00:00Z was rolled up in one")
    assert cut.rolled.cost_usd is None
    assert filtered.rolled is not None
    assert (filtered.rolled.requests, filtered.rolled.latency) == (None, [])
    assert filtered.rolled.cost_usd is not None
    assert all(one.note is not None for one in filtered.rolled.objectives)


def test_days_that_kept_no_sums_leave_figures_that_add_up_unknown_and_verdicts_of_requests_as_they_are() -> None:
    week = week_selection("2026-W11", "Europe/Berlin")
    with Store.open() as store:
        filled(store, [*some_rows(700), request(9999, at_s=8 * 86_400, ttft_ms=100, tpot_ms=9)])
        before = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
        drop(store, at("2026-03-08T23:00:00"), judged=objectives(FORMS))
        with store.cursor() as cursor:  # as an earlier schema left them
            cursor.execute("UPDATE rolled_verdicts SET figures = NULL, numerator = NULL, denominator = NULL")
        found = {one.id: one.history[0] for one in told(store, week, FORMS).objectives}
    assert (found["mean"].verdict, found["mean"].value, found["mean"].good, found["mean"].note) == (
        "unknown",
        None,
        before["mean"].good,
        "A dropped day was rolled up before sums were kept, and this objective adds up figures of requests.",
    )
    assert replace(found["errors"], rolled=0) == before["errors"]


def test_a_note_under_filters_says_that_its_number_is_of_all_dropped_requests() -> None:
    with Store.open() as store:
        filled(store, some_rows(60))
        drop(store, BEFORE)
        whole, filtered = told(store), told(store, replace(ALL, where=(("model", "large"),)))
    says = "That is the number of all requests of those days, and not of those that match the filters."
    assert not any(says in note for note in whole.notes)
    assert any(f"requests are told by their roll-ups alone. {says} Findings" in note for note in filtered.notes)
