"""Findings of a small service with one planted fault, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.causes.settings import CauseSettings
from analysis.result import Finding
from tests.support.builders import request
from tests.support.service import FAULT, Plant, Row, findings, in_fault, service, without


def slow_search(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "rag":
        row["retrieval_ms"] *= 12


def slow_replica(row: Row, minute: float) -> None:
    if in_fault(minute) and row["replica"] == "large-east-1":
        row["slow"] = 3.0


def missing_replicas(row: Row, minute: float) -> None:
    if in_fault(minute) and (row["model"], row["region"]) == ("large", "east"):
        row |= {"replica": "large-east-2", "deployment_version": "v2", "batch_size": row["batch_size"] * 1.6}
        row["queue_ms"] += 3000 * row["wait"]


def longer_prompts(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "rag":
        row["input_tokens"] *= 3
    if in_fault(minute):
        row["queue_ms"] += 2500 * row["wait"]


def longer_answers(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "chat":
        row["output_tokens"] *= 3


def lost_cache(row: Row, minute: float) -> None:
    if in_fault(minute):
        row["queue_ms"] += 2000 * row["wait"]
        row["cached_input_tokens"] = 0 if row["scenario"] == "agent" else row["cached_input_tokens"]


def few_seats(row: Row, minute: float) -> None:
    if in_fault(minute) and row["model"] == "small":
        row |= {"queue_ms": row["queue_ms"] + 5000 * row["wait"], "batch_size": 2.0}


def cold_replicas(row: Row, minute: float) -> None:
    if in_fault(minute) and row["replica"] == "small-east-2":
        row |= {"cold_start": True, "queue_ms": 2000 + 20_000 * row["wait"]}


def failing_version(row: Row, minute: float) -> None:
    if in_fault(minute) and row["deployment_version"] == "v2" and row["wait"] < 0.3:
        row["status"] = "error"


def told(found: tuple[Finding, ...], objective: str) -> tuple[str, str | None, dict[str, str], str]:
    """Stage, cause, segment and first advice of the objective's first finding."""
    first = next(finding for finding in found if finding.objective == objective and finding.rank == 1)
    return first.stage, first.cause, first.segment, first.recommendations[0].id


def test_a_healthy_service_has_no_finding() -> None:
    assert findings(service()) == ()


@pytest.mark.parametrize(
    ("plant", "objective", "expected"),
    [
        (slow_search, "ttft", ("retrieval", "dependency", {"scenario": "rag"}, "parallel_retrieval")),
        (slow_replica, "tpot", ("decode", "performance", {"replica": "large-east-1"}, "replica_drain")),
        (missing_replicas, "ttft", ("queue", "failure", {"model": "large", "region": "east"}, "scale_out")),
        (longer_prompts, "ttft", ("prefill", "mix_shift", {"scenario": "rag"}, "input_length_cap")),
        (longer_answers, "e2e", ("decode", "mix_shift", {"scenario": "chat"}, "output_length_control")),
        (lost_cache, "ttft", ("queue", "config", {"scenario": "agent"}, "prompt_layout")),
        (few_seats, "ttft", ("queue", "config", {"model": "small"}, "raise_batch_limit")),
        (cold_replicas, "ttft", ("queue", "config", {"cold_start": "true"}, "warm_pool")),
        (failing_version, "errors", ("error", "failure", {"deployment_version": "v2"}, "rollback_version")),
    ],
)
def test_a_planted_fault_is_named(plant: Plant, objective: str, expected: tuple[str, str, dict[str, str], str]) -> None:
    assert told(findings(service(plant)), objective) == expected


def test_the_window_of_a_finding_is_that_of_the_fault_and_not_of_the_judged_windows() -> None:
    (ttft, *_) = findings(service(slow_search))
    assert ttft.window == ("2026-03-02T01:00:00Z", "2026-03-02T01:24:00Z")


def test_objectives_that_one_fault_breaks_share_an_incident() -> None:
    found = findings(service(slow_search))
    assert [finding.objective for finding in found] == ["ttft", "e2e"]
    assert len({finding.incident for finding in found}) == 1


def test_two_faults_in_different_stages_are_findings_of_their_own() -> None:
    found = findings(service(slow_search, slow_replica))
    assert told(found, "tpot")[2] == {"replica": "large-east-1"}
    assert told(found, "ttft")[2] == {"scenario": "rag"}


EARLY = (12.0, 30.0)


def somewhat_longer_prompts(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "rag":
        row["input_tokens"] = round(row["input_tokens"] * 1.7)
    if in_fault(minute):
        row["queue_ms"] += 2500 * row["wait"]


def idle_pool_short(row: Row, minute: float) -> None:
    """Two replicas of a pool are gone, which by itself makes nobody wait."""
    if in_fault(minute) and (row["model"], row["region"]) == ("large", "west"):
        row |= {"replica": "large-west-2", "deployment_version": "v2"}


CHATS = """
objectives:
  - {id: ttft, metric: ttft, statistic: p95, threshold: 1600ms, window: 15m, min_requests: 60, where: {scenario: [chat]}}
"""


def test_two_changes_of_one_objective_are_told_by_the_part_that_each_explains() -> None:
    """Longer prompts make all pools wait; the missing replicas are stronger where they are, and only there."""
    first, second = findings(service(somewhat_longer_prompts, idle_pool_short), CHATS)
    assert (first.cause, first.segment) == ("mix_shift", {"scenario": "rag"})
    assert (second.cause, second.segment) == ("failure", {"model": "large", "region": "west"})
    assert [found.recommendations[0].id for found in (first, second)] == ["input_length_cap", "scale_out"]
    parts = [
        entry.value
        for found in (first, second)
        for entry in found.evidence
        if entry.figure.startswith("part of the excess")
    ]
    assert all(isinstance(part, float) for part in parts)
    assert sum(float(part or 0.0) for part in parts) == pytest.approx(1.0, abs=1e-3)
    assert float(parts[0] or 0.0) > 0.6


def early(plant: Plant) -> Plant:
    """The same fault at another time of the two hours: in one whole judged window and most of another."""

    def moved(row: Row, minute: float) -> None:
        if EARLY[0] <= minute < EARLY[1]:
            plant(row, FAULT[0])

    return moved


def test_two_incidents_of_one_objective_are_two_findings_each_with_its_time() -> None:
    found = [
        finding for finding in findings(service(early(slow_search), missing_replicas)) if finding.objective == "ttft"
    ]
    second, first = found[:2]
    assert [finding.rank for finding in found] == list(range(1, len(found) + 1))
    assert [(f.cause, f.segment) for f in (first, second)] == [
        ("failure", {"model": "large", "region": "east"}),
        ("dependency", {"scenario": "rag"}),
    ]
    assert first.windows == [("2026-03-02T01:00:00Z", "2026-03-02T01:24:00Z")]
    assert second.windows == [("2026-03-02T00:12:00Z", "2026-03-02T00:30:00Z")]
    assert first.incident != second.incident
    assert second.recommendations[0].id == "parallel_retrieval"


def test_the_same_cause_at_two_times_is_one_finding_with_both() -> None:
    found = [finding for finding in findings(service(early(slow_search), slow_search)) if finding.objective == "ttft"]
    assert [(f.rank, f.segment, f.windows) for f in found] == [
        (
            1,
            {"scenario": "rag"},
            [("2026-03-02T00:12:00Z", "2026-03-02T00:30:00Z"), ("2026-03-02T01:00:00Z", "2026-03-02T01:24:00Z")],
        )
    ]


def test_runs_beyond_the_strongest_are_counted_and_not_hidden() -> None:
    found = findings(service(early(slow_search), slow_search), settings=CauseSettings(max_runs=1))
    (first,) = [finding for finding in found if finding.objective == "ttft"]
    assert [item.value for item in first.evidence if item.figure.startswith("further runs")] == [1.0]


def test_longer_requests_are_no_slower_service() -> None:
    """Simpson's paradox: every request becomes no slower for its length, and yet the mean rises."""
    found = findings(service(longer_prompts))
    assert {finding.cause for finding in found} == {"mix_shift"}


def test_exemplars_are_bad_requests_of_the_segment() -> None:
    rows = service(slow_search)
    (ttft, *_) = findings(rows)
    by_key = {row["request_key"]: row for row in rows}
    assert len(ttft.exemplars) == 5
    assert {by_key[key]["scenario"] for key in ttft.exemplars} == {"rag"}
    assert all(by_key[key]["ttft_ns"] > 1_600_000_000 for key in ttft.exemplars)


def test_the_order_of_rows_changes_nothing() -> None:
    rows = service(missing_replicas)
    assert findings(rows) == findings(rows[::-1])


def test_advice_that_would_harm_is_named_as_such() -> None:
    (first, *_) = findings(service(missing_replicas))
    against = {entry.id: entry.why for entry in first.contraindicated}
    assert against["raise_batch_limit"].startswith("No limit changed")
    assert not {entry.id for entry in first.recommendations} & set(against)


def test_a_repaired_stage_is_predicted_to_go_back_to_its_normal() -> None:
    (ttft, *_) = findings(service(slow_search))
    predicted = ttft.recommendations[0].predicted
    assert predicted is not None
    assert predicted.basis == "back_to_normal"
    assert predicted.value is not None
    assert 0.8 < predicted.value < 1.6  # P95 of the unbroken windows


@pytest.mark.parametrize(
    ("plant", "columns", "rule"),
    [
        (few_seats, ("batch_size", "replica"), "KB-02"),
        (slow_replica, ("replica", "batch_size"), "KB-40"),
        (lost_cache, ("cached_input_tokens",), "KB-09"),
        (cold_replicas, ("cold_start",), "KB-08"),
    ],
)
def test_a_rule_whose_column_is_missing_is_untested_and_not_silent(
    plant: Plant, columns: tuple[str, ...], rule: str
) -> None:
    found = findings(without(service(plant), *columns))
    missing = {entry.id: entry.missing for finding in found for entry in finding.untested}
    assert rule in missing
    assert set(missing[rule]) <= set(columns)
    assert not [finding for finding in found if rule in {item.entry for item in finding.recommendations}]


def test_without_engine_stages_the_stage_is_before_the_first_token_and_never_prefill() -> None:
    rows = []
    for row in service(missing_replicas):
        before = row["queue_ns"] + row["prefill_ns"]
        rows.append(row | {"before_first_token_ns": before, "after_first_token_ns": row["decode_ns"]})
    found = findings(without(rows, "queue_ns", "prefill_ns", "decode_ns"))
    assert told(found, "ttft")[0] == "before_first_token"
    assert "prefill" not in {finding.stage for finding in found}


def test_a_wait_that_only_the_rest_of_the_time_shows_has_the_cause_of_a_wait() -> None:
    rows = [row | {"unattributed_ns": row["queue_ns"] + row["prefill_ns"]} for row in service(missing_replicas)]
    stage, cause, segment, advice = told(findings(without(rows, "queue_ns", "prefill_ns")), "ttft")
    assert (stage, cause, segment) == ("before_first_token", "failure", {"model": "large", "region": "east"})
    assert advice == "scale_out"


def test_a_missing_batch_is_counted_from_starts_and_ends() -> None:
    found = findings(without(service(slow_replica), "batch_size"))
    assert told(found, "tpot")[2] == {"replica": "large-east-1"}


def test_an_objective_that_is_never_kept_leaves_the_others_their_normal() -> None:
    """A mean cost above its limit all the time, and a replica that is slow for 24 minutes."""
    costly = "objectives: [{id: cost, metric: cost, threshold: 0.000001 USD, statistic: mean, window: 15m, min_requests: 60},"
    speed = " {id: tpot, metric: tpot, statistic: p95, threshold: 27ms, window: 15m, min_requests: 60}]"
    found = findings(service(slow_replica), costly + speed)
    assert told(found, "tpot")[2] == {"replica": "large-east-1"}
    assert [finding.segment for finding in found if finding.objective == "cost"] in ([], [{}])


def test_an_earlier_baseline_serves_where_no_part_of_the_selection_is_unbroken() -> None:
    def always(row: Row, minute: float) -> None:
        if row["scenario"] == "rag":
            row["retrieval_ms"] *= 12

    found = findings(service(always), baseline=service())
    assert told(found, "ttft")[:3] == ("retrieval", "dependency", {"scenario": "rag"})


TIGHT = "objectives: [{id: ttft, metric: ttft, threshold: 700ms, target: 95%, min_requests: 60}]"


def test_a_limit_that_was_never_kept_still_has_its_worst_time_explained() -> None:
    (first, *_) = findings(service(slow_search), TIGHT.replace("700ms", "850ms"))
    assert (first.stage, first.segment) == ("retrieval", {"scenario": "rag"})
    assert first.window == ("2026-03-02T01:00:00Z", "2026-03-02T01:24:00Z")
    (outside,) = [entry for entry in first.evidence if entry.figure.startswith("share of bad requests outside")]
    assert (outside.figure, outside.baseline) == ("share of bad requests outside the incident (allowed: 5 %)", None)
    assert (outside.value or 0) > 0.05  # type: ignore[operator]


def test_shares_of_bad_requests_are_of_those_over_the_limit_and_their_number_is_told() -> None:
    def also_failing(row: Row, minute: float) -> None:
        slow_search(row, minute)
        if in_fault(minute) and row["wait"] < 0.2:
            row["status"] = "error"

    (first, *_) = findings(service(also_failing), TIGHT.replace("700ms", "1600ms"))
    (rest,) = [entry for entry in first.evidence if entry.figure == "bad requests that no normal stage saves"]
    assert first.n_over == rest.n
    assert 0 < (first.n_over or 0) < (first.n_bad or 0)


def test_a_limit_that_normal_stages_cannot_keep_is_to_be_reviewed() -> None:
    (first,) = findings(service(), TIGHT)
    assert first.cause is None
    assert (first.structural_share or 0) > 0.3
    assert [item.id for item in first.recommendations] == ["slo_review"]


def test_an_endangered_objective_has_findings_that_say_so() -> None:
    text = """
objectives:
  - {id: ttft, metric: ttft, threshold: 1600ms, target: 80%, period: 28d, min_requests: 60}
"""
    found = findings(service(slow_search), text)
    verdicts = {finding.verdict for finding in found}
    assert verdicts <= {"breached", "endangered"}
    assert all(replace(finding, verdict="breached").stage == "retrieval" for finding in found)


def test_a_goodput_objective_finds_its_normal_in_an_earlier_selection() -> None:
    def always(row: Row, minute: float) -> None:
        if row["scenario"] == "rag":
            row["retrieval_ms"] *= 12

    text = """
objectives:
  - {id: good, all_of: [{metric: ttft, threshold: 1600ms}, {metric: e2e, threshold: 8s}], target: 95%, min_requests: 60}
"""
    bare = [{name: value for name, value in row.items() if name != "tenant"} for row in service()]
    found = findings(service(always), text, baseline=bare)
    assert told(found, "good")[:3] == ("retrieval", "dependency", {"scenario": "rag"})


def test_strays_of_another_month_do_not_blur_an_incident() -> None:
    month = 30 * 86_400 * 1_000_000_000
    strays = [row | {"started_ns": row["started_ns"] + month} for row in service()[:6]]
    rows = [row | {"replica": f"stray-{number}"} for number, row in enumerate(strays)]
    assert findings([*service(missing_replicas), *rows]) == findings(service(missing_replicas))


def test_without_a_normal_nothing_is_said_to_have_grown() -> None:
    rows = [request(n, at_s=float(n), e2e_ms=9000.0, model_ms=9000.0) for n in range(40)]
    found = findings(rows, "objectives: [{id: slow, metric: e2e, statistic: p95, threshold: 1s}]")
    assert [entry.title for entry in found] == [
        "Slow requests spend their time in model; there is no normal to compare with"
    ]


def test_a_sample_finds_the_same_cause_and_says_that_it_is_one() -> None:
    rows = service(slow_replica)
    whole = findings(rows)
    found = findings(rows, settings=CauseSettings(max_rows=-(-len(rows) // 2), min_bad=10))
    assert told(found, "tpot") == told(whole, "tpot")
    said = found[0].evidence[-1]
    assert said.figure == "requests in which causes were searched: one in 2 of all"
    assert isinstance(said.value, float)
    assert 0.4 * len(rows) < said.value < 0.6 * len(rows)
    assert not any(item.figure.startswith("requests in which") for item in whole[0].evidence)


def test_the_findings_of_one_objective_are_those_that_it_has_among_all() -> None:
    rows = service(slow_search, slow_replica, failing_version)
    whole = findings(rows)
    ids = {finding.objective for finding in whole}
    assert len(ids) > 2
    for name in (*sorted(ids), "no such one"):
        assert findings(rows, only=name) == tuple(finding for finding in whole if finding.objective == name)


def test_failures_of_a_version_beside_a_lost_cache_are_the_versions_as_far_as_they_are_no_timeouts() -> None:
    def late(row: Row, minute: float) -> None:
        if in_fault(minute) and row["status"] == "ok" and 0.5 < row["wait"] < 0.52:
            row["status"] = "timeout"

    first, second, *_ = [
        one for one in findings(service(lost_cache, failing_version, late)) if one.objective == "errors"
    ]
    assert (first.cause, first.segment) == ("failure", {"deployment_version": "v2"})
    assert (second.cause, second.segment) == ("config", {"scenario": "agent"})
    parts = [
        item.value
        for one in (first, second)
        for item in one.evidence
        if item.figure == "part of the excess that this change explains beside the others"
        and isinstance(item.value, float)
    ]
    assert sum(parts) == pytest.approx(1.0)
    assert parts[0] > 0.7
