"""The wiring: results are kept while they hold, one objective agrees with the whole, reports are counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis.analyze import verdicts
from analysis.causes import diagnose as diagnosing
from analysis.causes.settings import CauseSettings
from analysis.measured import MOST_WHOLE, Measured
from analysis.result import ObjectiveResult
from api import service as module
from api.question import Books, Question
from api.service import Service, read_result
from ingest.errors import ConfigError, NotFound
from ingest.load import load
from ingest.receipts import LoadOptions
from ingest.store.database import Store, StoreSettings
from reports.render import render
from tests.support.builders import frame
from tests.support.results import week
from tests.support.retention import at, drop, filled, some_rows
from tests.support.server import request_rows
from tests.support.service import Row, in_fault
from tests.support.service import service as rows_of

NOW = datetime(2026, 3, 9, 6, tzinfo=UTC)
OBJECTIVES = """
objectives:
  - {id: chat.ttft, metric: ttft, where: {scenario: chat}, threshold: 300ms, target: 95%}
  - {id: chat.e2e, metric: e2e, where: {scenario: chat}, threshold: 5s, target: 95%}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "requests.jsonl").write_bytes(request_rows(60))
    (tmp_path / "objectives.yaml").write_text(OBJECTIVES)
    with Store.open(settings=StoreSettings((tmp_path,))) as store:
        load(tmp_path / "requests.jsonl", store, LoadOptions())
        yield Service(store, Books(objectives=tmp_path / "objectives.yaml"), now=lambda: NOW)


def test_a_result_is_kept_until_rows_change(service: Service) -> None:
    first, second = service.analyze(Question()), service.analyze(Question())
    service.changed()
    third = service.analyze(Question())
    assert second is first
    assert (third is first, third == first) == (False, True)


def test_the_same_store_gives_the_same_bytes_under_source_date_epoch(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1772700000")
    told = [render(Service(service.store, service.books).analyze(Question()), "json") for _ in range(2)]
    assert told[0] == told[1]
    assert b"2026-03-05T08:40:00Z" in told[0]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ConfigError, match="SOURCE_DATE_EPOCH: 'yesterday' is no number of seconds"):
        Service(service.store).analyze(Question())


def test_a_changed_file_of_objectives_is_another_question(service: Service, tmp_path: Path) -> None:
    before = [row.id for row in service.analyze(Question()).objectives]
    (tmp_path / "objectives.yaml").write_text(OBJECTIVES.replace("chat.ttft", "first"))
    assert (before, service.analyze(Question()).objectives[0].id) == (["chat.ttft", "chat.e2e"], "first")


def test_one_objective_alone_is_diagnosed_as_in_the_whole(service: Service) -> None:
    alone = [service.diagnosis(Question(), name) for name in ("chat.ttft", "chat.e2e")]
    whole = service.analyze(Question())
    again = [service.diagnosis(Question(), name) for name in ("chat.ttft", "chat.e2e")]
    assert [one.objective for one in alone] == whole.objectives
    assert [one.selection for one in alone] == [whole.selection] * 2
    assert alone == again
    assert [bool(one.findings) for one in alone] == [True, False]


def test_all_objectives_of_a_question_are_judged_at_once_and_kept_until_rows_change(service: Service) -> None:
    question = Question(where=(("scenario", "chat"),))
    alone = service.diagnosis(question, "chat.ttft")
    first = service.judgement(question)
    assert service.diagnosis(question, "chat.ttft") == alone
    assert service.judgement(question) is first
    service.changed()
    again = service.judgement(question)
    assert (again is first, again == first) == (False, True)


def test_for_a_further_objective_of_a_question_the_others_are_not_judged_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(*given: Any, **more: Any) -> tuple[ObjectiveResult, ...]:
        made.append(len(more.get("known", ())))
        return verdicts(*given, **more)

    monkeypatch.setattr(module, "verdicts", counted)
    for name in ("chat.ttft", "chat.e2e", "chat.ttft"):
        service.diagnosis(Question(), name)
    assert made == [0, 2]
    service.changed()
    service.diagnosis(Question(), "chat.e2e")
    assert made == [0, 2, 0]


def test_an_unknown_objective_is_not_found_alone_or_in_the_whole(service: Service) -> None:
    says = 'no objective has the id "x". Known: chat.ttft, chat.e2e'
    with pytest.raises(NotFound, match=says):
        service.diagnosis(Question(), "x")
    service.analyze(Question())
    with pytest.raises(NotFound, match=says):
        service.diagnosis(Question(), "x")


def test_reports_of_one_selection_are_counted(service: Service) -> None:
    made = [service.make_report(Question(week=name))["report_id"] for name in ("2026-W10", "2026-W10", "2026-W09")]
    assert made == ["2026-W10-r1", "2026-W10-r2", "2026-W09-r1"]
    assert service.report("2026-W10-r2") == service.analyze(Question(week="2026-W10"))


def test_a_week_is_compared_with_the_one_before_only_where_there_is_one(service: Service) -> None:
    assert service.analyze(Question(week="2026-W10")).comparison is None
    assert service.analyze(Question(week="2026-W11")).comparison is not None


WEEK_NS = 7 * 86_400 * 10**9
TIMES = ("started_ns", "ended_ns", "first_output_ns", "last_output_ns")
SLOW_QUEUE = """
objectives:
  - {id: ttft, metric: ttft, statistic: p95, threshold: 1600ms, window: 15m, min_requests: 60}
"""


MANY = (
    SLOW_QUEUE
    + """
  - {id: spent, metric: cost, statistic: sum, threshold: 1 USD, per: user}
  - {id: good, all_of: [{metric: ttft, threshold: 1600ms}, {metric: tpot, threshold: 30ms}], target: 95%, period: 7d}
  - {id: errors, metric: error_rate, where: {scenario: chat}, threshold: 0.02, window: 15m}
"""
)


def missing(row: Row, minute: float) -> None:
    if in_fault(minute) and (row["model"], row["region"]) == ("large", "east"):
        row |= {"replica": "large-east-2", "deployment_version": "v2", "queue_ms": row["queue_ms"] + 3000 * row["wait"]}


@pytest.mark.parametrize("most", [10_000, 1000])
def test_very_many_requests_are_judged_without_most_columns_and_explained_on_some_of_them_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """`most`: requests that causes are looked for in; 4,320 stand in the store."""
    (tmp_path / "objectives.yaml").write_text(MANY)
    monkeypatch.setattr(diagnosing, "CauseSettings", lambda: CauseSettings(max_rows=most, min_bad=10))
    questions = (Question(), Question(where=(("input_bucket", "512-2k"), ("scenario", "chat"))))
    told = []
    with Store.open() as store:
        store.append("requests", frame(rows_of(missing)).drop("cost_pico"))
        for limit in (MOST_WHOLE, 0):
            monkeypatch.setattr(module, "MOST_WHOLE", limit)
            asked = Service(store, Books(objectives=tmp_path / "objectives.yaml"))
            told.append([asked.judgement(question) for question in questions])
    assert told[0] == told[1]
    assert all(one.findings for one in told[0])
    samples = [e for e in told[0][0].findings[0].evidence if e.figure.startswith("requests in which causes")]
    assert len(samples) == (most == 1000)


def test_a_week_follows_up_what_the_report_before_it_advised(tmp_path: Path) -> None:
    (tmp_path / "objectives.yaml").write_text(SLOW_QUEUE)
    later = [
        row
        | {name: row[name] + WEEK_NS for name in TIMES if row.get(name) is not None}
        | {"request_key": f"{row['request_key']}-later"}
        for row in rows_of(seed=8)
    ]
    with Store.open(settings=StoreSettings((tmp_path,))) as store:
        for rows in (rows_of(missing), later):
            store.append("requests", frame(rows).drop("cost_pico"))
        service = Service(store, Books(objectives=tmp_path / "objectives.yaml"), now=lambda: NOW)
        alone = service.analyze(Question(week="2026-W11")).follow_up
        service.make_report(Question(week="2026-W10"))
        after = service.analyze(Question(week="2026-W11")).follow_up
        service.make_report(Question(week="2026-W11"))
        kept = service.report("2026-W11-r1").follow_up
        first = service.analyze(Question(week="2026-W10")).follow_up
    assert alone is not None
    assert after is not None
    assert (alone.source, after.source) == ("worked out from its requests", "report 2026-W10-r1")
    assert (alone.checks, first, kept) == (after.checks, None, after)
    (check,) = [c for c in after.checks if c.recommendation == "scale_out"]
    assert (check.followed, check.evidence_holds, check.now_verdict, check.outcome) == (
        "followed", False, "met", "inside",
    )  # fmt: skip


def test_a_result_survives_its_json() -> None:
    assert read_result(render(week(), "json")) == week()


def test_what_is_read_while_a_day_is_dropped_is_read_again() -> None:
    with Store.open() as store:
        filled(store, some_rows(300))
        service = Service(store, timezone="Europe/Berlin")
        before = service.costs(Question(), ["tenant"])
        reads: list[int] = []
        real = service.side

        def dropping(question: Question) -> Measured:
            found = real(question)
            if not reads:
                drop(store, at("2026-03-04T23:00:00"))  # comes between the rows and their roll-ups
            reads.append(found.frame.height)
            return found

        service.side = dropping  # type: ignore[method-assign]
        after = service.costs(Question(), ["tenant"])
    by_tenant = [{row.by["tenant"]: row.requests for row in told.rows} for told in (before, after)]
    assert by_tenant[0] == by_tenant[1]
    assert (len(reads), reads[0], reads[1] < 300) == (2, 300, True)
