"""good, bad, unknown or excluded: the status policy and the clauses, request by request."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.aggregates.verdicts import last_instant, verdict_column
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from tests.support.builders import MONDAY_NS, frame, request

JOINT = "all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 100ms}], target: 95%"
E2E = "metric: e2e, threshold: 5s, target: 90%"


def verdicts(objective: str, rows: list[dict[str, Any]], settings: str = "", **options: Any) -> list[str | None]:
    read = read_objectives(f"{settings}\nobjectives:\n  - {{id: x, {objective}}}")
    measured = measure(frame(rows), read.settings)
    return verdict_column(measured, read.items[0], read.settings, **options).to_list()


def test_a_request_is_good_if_it_keeps_every_clause_that_applies() -> None:
    rows = [
        request(1, ttft_ms=2000, tpot_ms=100),  # on both limits: within
        request(2, ttft_ms=2000.001, tpot_ms=10),
        request(3, ttft_ms=10, tpot_ms=101),
        request(4, ttft_ms=10, output_tokens=1),  # one token: TPOT does not apply
        request(5, e2e_ms=9000, streaming=False),  # unstreamed, seen from the client: nothing applies
        request(6, ttft_ms=2500, e2e_ms=9000, streaming=False),  # a figure of the server is judged
        request(7, e2e_ms=100, streaming=None),  # it applies, and is not known
        request(8, ttft_ms=3000, e2e_ms=9000),  # broken, whatever the missing clause says
        request(9, ttft_ms=10, e2e_ms=9000),
    ]
    assert verdicts(JOINT, rows) == [
        "good", "bad", "bad", "good", "excluded", "bad", "unknown", "bad", "unknown",
    ]  # fmt: skip


def test_failures_are_bad_and_faults_of_the_caller_are_excluded() -> None:
    classes = ("ok", "truncated", "error", "timeout", "shed", "rejected", "cancelled", "open")
    rows = [request(i, e2e_ms=100, status=name) for i, name in enumerate(classes)]
    assert verdicts(E2E, rows) == ["good", "bad", "bad", "bad", "bad", "excluded", "excluded", "excluded"]
    assert verdicts("metric: availability, target: 99%", rows) == [
        "good", "bad", "bad", "bad", "bad", "excluded", "excluded", "excluded",
    ]  # fmt: skip


def test_a_cancelled_request_is_bad_once_its_limit_had_passed() -> None:
    rows = [
        request(1, e2e_ms=9000, status="cancelled"),
        request(2, e2e_ms=5000, status="cancelled"),
        request(3, e2e_ms=9000, status="cancelled", output_tokens=40),
        request(4, status="cancelled"),
    ]
    assert verdicts(E2E, rows) == ["bad", "excluded", "bad", "excluded"]
    assert verdicts("metric: availability, target: 99%", rows) == ["excluded"] * 4


def test_a_caller_who_left_before_the_first_token_waited_at_least_that_long() -> None:
    ttft = "metric: ttft, threshold: 2s, target: 95%"
    rows = [
        request(1, e2e_ms=3000, status="cancelled", output_tokens=0),
        request(2, e2e_ms=3000, status="cancelled", output_tokens=None),
        request(3, e2e_ms=3000, status="cancelled", output_tokens=9),  # tokens came, nobody says when
        request(4, e2e_ms=3000, ttft_ms=2500, status="cancelled", output_tokens=9),
        request(5, e2e_ms=1000, status="cancelled", output_tokens=0),
    ]
    assert verdicts(ttft, rows) == ["bad", "bad", "excluded", "bad", "excluded"]


def test_a_clause_that_cannot_apply_does_not_break_a_request_cut_short() -> None:
    rows = [  # nobody waits for the first token of an unstreamed answer
        request(1, e2e_ms=3000, output_tokens=0, status="cancelled", streaming=False),
        request(2, e2e_ms=3000, output_tokens=0, status="cancelled", streaming=None),
        request(3, at_s=0, output_tokens=0, status="open", streaming=False),
        request(4, at_s=9, e2e_ms=100),
    ]
    ttft = "metric: ttft, threshold: 2s, target: 95%"
    assert verdicts(ttft, rows) == ["excluded", "bad", "excluded", "unknown"]
    assert verdicts("metric: perceived, threshold: 2s, target: 95%", rows)[0] == "bad"


def test_an_open_request_is_as_old_as_the_last_instant_seen() -> None:
    rows = [request(1, at_s=0, status="open"), request(2, at_s=8, e2e_ms=1000), request(3, at_s=7, status="open")]
    assert last_instant(measure(frame(rows))) == MONDAY_NS + 9_000_000_000
    assert verdicts(E2E, rows) == ["bad", "good", "excluded"]
    assert verdicts(E2E, rows, observed_until_ns=MONDAY_NS + 20_000_000_000) == ["bad", "good", "bad"]


@pytest.mark.parametrize(
    ("setting", "row", "expected"),
    [
        ("on_shed: excluded", {"status": "shed"}, "excluded"),
        ("on_truncated: excluded", {"status": "truncated"}, "excluded"),
        ("on_caller_fault: bad", {"status": "rejected"}, "bad"),
        ("on_client_cancel: bad", {"status": "cancelled", "e2e_ms": 1}, "bad"),
        ("on_client_cancel: excluded", {"status": "cancelled", "e2e_ms": 9000}, "excluded"),
        ("on_open: bad", {"status": "open"}, "bad"),
        ("on_open: excluded", {"status": "open", "e2e_ms": 9000}, "excluded"),
        ("on_degraded: bad", {"degraded": True, "e2e_ms": 1}, "bad"),
        ("on_degraded: judged", {"degraded": True, "e2e_ms": 1}, "good"),
        ("on_response_cached: excluded", {"response_cached": True, "e2e_ms": 1}, "excluded"),
        ("on_response_cached: judged", {"response_cached": True, "e2e_ms": 1}, "good"),
    ],
)
def test_the_policy_is_a_setting(setting: str, row: dict[str, Any], expected: str) -> None:
    assert verdicts(E2E, [request(**row)], setting) == [expected]


def test_a_limit_by_length_is_unknown_without_a_length_and_no_limit_outside_its_bands() -> None:
    table = "metric: ttft, threshold: {'<2k': 1s, '2k-8k': 2s}, target: 95%"
    rows = [request(i, ttft_ms=1500, input_tokens=n) for i, n in enumerate((100, 4000, 9000, None))]
    assert verdicts(table, rows) == ["bad", "good", "excluded", "unknown"]


def test_a_percentile_judges_answers_alone() -> None:
    rows = [
        request(1, ttft_ms=1000, tpot_ms=1),
        request(2, ttft_ms=3000, tpot_ms=1),
        request(3, e2e_ms=5),
        request(4, status="error"),
    ]
    assert verdicts("metric: ttft, threshold: 2s, statistic: p95", rows) == ["good", "bad", "unknown", "excluded"]


def test_a_rate_calls_bad_what_it_counts() -> None:
    rows = [request(1), request(2, status="error"), request(3, status="cancelled"), request(4, degraded=True)]
    assert verdicts("metric: error_rate, threshold: 1%", rows) == ["good", "bad", "good", "good"]
    assert verdicts("metric: cancel_rate, threshold: 1%", rows) == ["good", "good", "bad", "good"]
    assert verdicts("metric: degraded_rate, threshold: 1%", rows) == ["good", "good", "good", "bad"]
    assert verdicts("metric: cold_start_rate, threshold: 1%", rows) == ["unknown"] * 4


def test_sums_judge_no_single_request() -> None:
    rows = [request(1, cost_pico=5), request(2, cost_pico=None)]
    assert verdicts("metric: cost, threshold: 1 USD, statistic: sum", rows) == ["excluded", "unknown"]
    assert verdicts("metric: requests_per_second, threshold: 1", rows) == ["excluded", "excluded"]


def test_requests_outside_the_filter_have_no_verdict() -> None:
    rows = [request(1, e2e_ms=1, model="a"), request(2, e2e_ms=1, model="b"), request(3, e2e_ms=1)]
    assert verdicts(f"{E2E}, where: {{model: a}}", rows) == ["good", None, None]


def test_quality_is_better_when_higher() -> None:
    rows = [request(1, quality=0.9), request(2, quality=0.5)]
    assert verdicts("metric: quality, threshold: 0.8, target: 50%", rows) == ["good", "bad"]
