"""Verdicts of the weeks before a week."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analysis import history as module
from analysis.history import Week, columns_for, history, weeks_before, without_prices
from analysis.objectives import Objective, read_objectives
from analysis.result import WeekVerdict
from ingest.selection import Selection, to_iso, week_selection
from ingest.store.database import Store
from tests.support.builders import frame, request

READ = read_objectives(
    "objectives:\n"
    "  - {id: t, metric: ttft, threshold: 1s, target: 90%, where: {model: m}}\n"
    "  - {id: p, metric: e2e, threshold: 3s, statistic: p95}\n"
    "  - {id: c, metric: cost, threshold: 1 USD, statistic: mean}\n"
    "  - {id: g, metric: gpu_utilization, threshold: 30%}\n"
)
WEEK_S = 604_800
W10 = week_selection("2026-W10", "UTC")  # the week of the builders' Monday


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        for number, (week, ttft, n) in enumerate(((0, 500, 40), (-1, 2500, 40), (-3, 500, 10), (-9, 500, 40))):
            rows = [
                request(number * 1000 + i, at_s=week * WEEK_S + i * 60, ttft_ms=ttft, tpot_ms=10, model="m")
                for i in range(n)
            ]
            opened.append("requests", frame(rows))
        yield opened


def test_each_week_with_requests_is_judged_by_the_objectives_of_today(store: Store) -> None:
    assert history(store, W10, READ) == {
        "t": [
            WeekVerdict("2026-W07", "too_few", 10, 0, 1.0, 1.0),
            WeekVerdict("2026-W09", "breached", 0, 40, 0.0, 0.0),
        ],
        "p": [
            WeekVerdict("2026-W07", "too_few", 10, 0, 1.0, 0.6),
            WeekVerdict("2026-W09", "met", 40, 0, 1.0, 2.6),
        ],
    }


def test_only_a_week_has_weeks_before_it(store: Store) -> None:
    assert history(store, Selection(), READ) == {}
    assert weeks_before(Selection(W10.start_ns, None)) == []
    before = weeks_before(week_selection("2026-W14", "Europe/Berlin"))  # after the change to daylight saving
    assert [(week.name, to_iso(week.start_ns)) for week in (before[0], before[-1])] == [
        ("2026-W07", "2026-02-08T23:00:00Z"),
        ("2026-W13", "2026-03-22T23:00:00Z"),
    ]
    assert (before[-1].end_ns - before[-1].start_ns) // 3_600_000_000_000 == 167


def test_of_a_busy_service_fewer_weeks_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REQUESTS", 45)
    assert [row.week for row in history(store, W10, READ)["t"]] == ["2026-W09"]
    monkeypatch.setattr(module, "MOST_REQUESTS", 20)
    assert history(store, W10, READ) == {}


def test_the_filters_of_the_selection_hold_for_earlier_weeks_too(store: Store) -> None:
    hit = Selection(W10.start_ns, W10.end_ns, (("cache_state", "hit"),))
    assert history(store, hit, READ) == {"t": [], "p": []}
    assert history(store, Selection(W10.start_ns, W10.end_ns, (("model", "n"),)), READ) == {}


def test_prices_and_replica_hours_are_not_read() -> None:
    def item(name: str) -> Objective:
        return next(one for one in READ.items if one.id == name)

    assert [one.id for one in READ.items if without_prices(one)] == ["t", "p"]
    assert {"ttft_ns", "model", "status_class"} <= set(columns_for([item("t")]))
    assert "itl_max_ns" not in columns_for([item("t")])
    assert Week("w", 0, 1).name == "w"
