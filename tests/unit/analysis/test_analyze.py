"""The door: one result, deterministic, filtered, with verdicts withheld from damaged data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from analysis.aggregates.attainment import judge
from analysis.analyze import analyze
from analysis.metrics.measure import measure
from analysis.objectives import Objectives, default_objectives, read_objectives
from analysis.prices import default_prices
from analysis.result import AnalysisResult
from ingest.schema import NS_PER_S, REJECTS, polars_schema
from ingest.selection import Selection, week_selection
from ingest.store.database import Store
from tests.support.builders import MONDAY_NS, frame, request

NOW = datetime(2026, 3, 9, tzinfo=UTC)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def result(
    store: Store, selection: Selection | None = None, objectives: Objectives | None = None, **options: Any
) -> AnalysisResult:
    return analyze(
        store, selection or Selection(), objectives=objectives or default_objectives(), prices=default_prices(), now=NOW,
        **options,
    )  # fmt: skip


def fill(store: Store, n: int = 60, **columns: Any) -> None:
    given = {
        "ttft_ms": 500,
        "tpot_ms": 20,
        "model": "gpt-4o",
        "provider": "openai",
        "user": "u",
        "cached_input_tokens": 40,
    }
    store.append("requests", frame(request(i, at_s=i * 60, **{**given, **columns}) for i in range(n)))


def test_the_summary_counts_rows_and_sums_tokens(store: Store) -> None:
    fill(store)
    summary = result(store).summary
    assert (summary.requests, summary.calls, summary.attempts, summary.failed) == (60, 60, 60, 0)
    assert (summary.input_tokens, summary.cached_input_tokens, summary.output_tokens) == (6000, 2400, 660)
    assert (summary.first, summary.last) == ("2026-03-02T00:00:00Z", "2026-03-02T00:59:00Z")
    assert (summary.users, summary.models, summary.by_status) == (1, 1, {"ok": 60})
    assert summary.cost_usd is not None


def test_tokens_of_a_sample_are_divided_by_its_rate(store: Store) -> None:
    fill(store, sampling_rate=0.1)
    found = result(store)
    assert (found.summary.requests, found.summary.requests_estimated, found.summary.output_tokens) == (60, 600.0, 6600)
    assert "The input is a sample: tokens, costs and rates per second are divided by its sampling rate." in found.notes


def test_the_same_store_twice_gives_the_same_bytes(store: Store) -> None:
    fill(store, queue_ms=5)
    first, second = (json.dumps(asdict(result(store)), sort_keys=True) for _ in range(2))
    assert first == second


def test_rows_in_another_order_give_the_same_bytes(store: Store) -> None:
    rows = frame(request(i, at_s=i * 7, ttft_ms=100 + i, tpot_ms=3, user=f"u-{i % 5}") for i in range(200))
    store.append("requests", rows)
    with Store.open() as other:
        shuffled = rows.sample(fraction=1.0, shuffle=True, seed=1)
        other.append("requests", shuffled.head(70))
        other.append("requests", shuffled.tail(130))
        assert json.dumps(asdict(result(other))) == json.dumps(asdict(result(store)))


def test_a_week_is_half_open_and_local(store: Store) -> None:
    fill(store, 3)
    week = week_selection("2026-W10", "UTC")
    assert result(store, week).summary.requests == 3
    assert result(store, week).selection.week == "2026-W10"
    assert result(store, week).throughput.seconds == 604_800.0
    assert result(store, Selection(MONDAY_NS + 60 * NS_PER_S, MONDAY_NS + 120 * NS_PER_S)).summary.requests == 1
    assert result(store, week_selection("2026-W10", "America/New_York")).summary.requests == 0


def test_derived_dimensions_filter_too(store: Store) -> None:
    fill(store, 70)
    picked = Selection(where=(("hour", "1"), ("cache_state", "hit")))
    assert result(store, picked).summary.requests == 10
    assert result(store, Selection(where=(("cache_state", "miss"),))).summary.requests == 0


def test_windows_and_hours_are_in_the_zone_of_the_selection(store: Store) -> None:
    fill(store)
    hours = result(store, Selection(timezone="Asia/Kolkata")).load.hours
    assert {(cell.weekday, cell.hour) for cell in hours} == {(1, 5), (1, 6)}


def test_nothing_selected_is_a_result_with_its_sentence(store: Store) -> None:
    found = result(store)
    assert found.notes == ["No request lies in this selection."]
    assert (found.summary.requests, found.findings, found.stages, found.comparison) == (0, [], [], None)
    assert {objective.verdict for objective in found.objectives} == {"unknown"}


def test_data_of_grade_d_have_no_verdicts(store: Store) -> None:
    fill(store, ttft_ms=5000)
    assert result(store).objectives[0].verdict == "breached"
    store.put_upload(
        {"upload_id": "u-1", "name": "a", "state": "done", "received_ns": 0, "n_read": 100, "n_rejected": 40}
    )
    found = result(store)
    assert (found.data_quality.grade, found.findings) == ("D", [])
    assert {objective.verdict for objective in found.objectives} == {"unknown"}
    assert found.objectives[0].says.startswith("The data are of grade D, so no verdict is given.")
    assert found.objectives[0].bad == 60


def test_the_first_rejects_of_each_upload_are_shown(store: Store) -> None:
    for number in range(3):
        upload = {"upload_id": f"x-{number}", "name": f"f{number}", "state": "done", "received_ns": number}
        store.put_upload(upload | {"n_read": 99, "n_rejected": number})
        lines = [
            {"upload_id": f"x-{number}", "line": line, "reason": "bad_value", "head": "x"} for line in range(number)
        ]
        store.append("rejects", pl.DataFrame(lines, schema=polars_schema(REJECTS)))
    assert [(line.upload, line.line) for line in result(store).data_quality.rejects] == [
        ("f1", 0),
        ("f2", 0),
        ("f2", 1),
    ]


def test_uploads_of_other_weeks_do_not_speak_for_this_one(store: Store) -> None:
    fill(store, 3)
    for upload, name in (("u-1", "mine"), ("u-2", "other")):
        store.put_upload({"upload_id": upload, "name": name, "state": "done", "received_ns": 0, "n_read": 3})
    assert [line.name for line in result(store, week_selection("2026-W10", "UTC")).data_quality.uploads] == ["mine"]
    assert [line.name for line in result(store).data_quality.uploads] == ["mine", "other"]


def test_a_baseline_in_another_store_is_compared_with(store: Store) -> None:
    fill(store, 300, ttft_ms=900)
    with Store.open() as before:
        fill(before, 300)
        found = result(store, baseline=(before, Selection()))
    assert found.comparison is not None
    assert found.selection.compare_with == found.comparison.title == "All requests"
    p50 = next(one for one in found.comparison.changes if (one.metric, one.statistic) == ("ttft", "p50"))
    assert (p50.value, p50.baseline, p50.verdict) == (0.9, 0.5, "worse")


def test_a_breach_has_findings_and_a_healthy_service_none(store: Store) -> None:
    fill(store, 300, queue_ms=100, prefill_ms=400, decode_ms=200)
    assert result(store).findings == []
    read = read_objectives("objectives: [{id: q, metric: ttft, threshold: 100ms, target: 95%}]")
    assert {finding.objective for finding in result(store, objectives=read).findings} == {"q"}


def test_budgets_of_a_longer_period_look_back_before_the_week(store: Store) -> None:
    read = read_objectives(
        "objectives: [{id: t, metric: ttft, threshold: 1s, target: 90%, period: 28d, min_requests: 5}]"
    )
    day = 86_400
    for first, ttft, n in ((0, 500, 30), (-day, 5000, 10), (-29 * day, 5000, 99)):
        rows = [request(first + i, at_s=first + i * 60, ttft_ms=ttft, tpot_ms=1) for i in range(n)]
        store.append("requests", frame(rows))
    found = result(store, week_selection("2026-W10", "UTC"), read).objectives[0]
    assert (found.good, found.bad, found.verdict, found.budget_spent) == (30, 0, "met", 0.0)
    assert (found.period_good, found.period_bad, found.period_start) == (30, 10, "2026-03-01T00:00:00Z")
    assert found.period_budget_spent == 2.5


def test_a_breach_that_comes_in_bursts_is_less_sure() -> None:
    read = read_objectives("objectives: [{id: t, metric: ttft, threshold: 1s, target: 95%}]")

    def judged(bad: list[int]) -> tuple[str, bool | None]:
        rows = [request(i, at_s=i * 30, ttft_ms=5000 if i in bad else 500, tpot_ms=1) for i in range(4000)]
        found = judge(measure(frame(rows)), read)[0]
        return found.verdict, found.sure

    assert judged(list(range(0, 4000, 15))) == ("breached", True)  # 267 spread evenly
    assert judged(list(range(100, 367))) == ("breached", False)  # the same number in one incident
