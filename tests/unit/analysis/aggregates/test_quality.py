"""The grade of the data, and what stands behind it."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from analysis.aggregates.quality import check_values, coverage, data_quality, rules, straddlers
from analysis.metrics.measure import measure
from analysis.result import RejectLine, UploadLine
from ingest.schema import NS_PER_S, REJECTS, UPLOADS, polars_schema
from tests.support.builders import MONDAY_NS, frame, request

GOOD: dict[str, Any] = {"ttft_ms": 100, "tpot_ms": 10, "user": "u", "cost_pico": 5, "decode_ms": 200}


def uploads(*rows: dict[str, Any]) -> pl.DataFrame:
    types = polars_schema(UPLOADS)
    base = {"upload_id": "u-1", "name": "a.jsonl", "state": "done", "received_ns": 0}
    return pl.DataFrame([dict.fromkeys(types) | base | row for row in rows], schema=types)


def rejects(*rows: dict[str, Any]) -> pl.DataFrame:
    types = polars_schema(REJECTS)
    return pl.DataFrame([dict.fromkeys(types) | row for row in rows], schema=types)


def test_whole_data_earn_an_a() -> None:
    rows = measure(frame(request(i, **GOOD) for i in range(10)))
    found = data_quality(rows, uploads({"n_read": 10, "n_accepted": 10}), rejects(), end_ns=None)
    assert (found.grade, found.read, found.accepted, found.rejected) == ("A", 10, 10, 0)
    assert {check.grade for check in found.checks} == {"A"}
    assert (found.n_effective, found.sampling_rate, found.straddlers) == (10.0, 1.0, 0)


@pytest.mark.parametrize(("rejected", "grade"), [(1, "A"), (10, "B"), (200, "C"), (251, "D")])
def test_rejected_rows_lower_the_grade(rejected: int, grade: str) -> None:
    rows = measure(frame([request(1, **GOOD)]))
    found = data_quality(rows, uploads({"n_read": 1000, "n_rejected": rejected}), rejects(), end_ns=None)
    assert found.grade == grade


def test_every_check_has_its_value() -> None:
    rows = [
        request(1, **GOOD),
        request(2, e2e_ms=1000, decode_ms=2000),
        request(3, e2e_ms=1000, decode_ms=400, input_tokens=None),
        request(4) | {"started_ns": None},
    ]
    assert check_values(measure(frame(rows)), 0, 0) == {
        "stages_exceed_request": 1 / 3,
        "unexplained": 0.5,
        "unattributed": 600 / 1200,
        "without_time": 0.25,
        "without_duration": 0.25,
        "without_first_token": 0.75,
        "without_tokens": 0.25,
        "without_price": 0.75,
        "without_user": 0.75,
    }


def test_a_check_with_nothing_to_look_at_is_left_out() -> None:
    assert check_values(measure(frame([])), 0, 0) == {}
    assert data_quality(measure(frame([])), uploads(), rejects(), end_ns=None).grade is None


def test_only_damage_withholds_verdicts() -> None:
    assert [rule.id for rule in rules() if rule.c is not None] == ["rejected", "stages_exceed_request"]
    thin = {rule.id: rule.grade(1.0) for rule in rules() if rule.c is None}
    assert [name for name, grade in thin.items() if grade == "B"] == ["without_price", "without_user"]
    assert set(thin.values()) == {"B", "C"}


def test_receipts_are_summed_up() -> None:
    receipt = {"reasons": {"torn_line": 1, "bad_value": 2}, "not_understood": {"x.y": 5}, "notes": ["n"]}
    files = uploads(
        {"n_read": 5, "n_rejected": 1, "receipt": json.dumps(receipt), "format": "jsonl", "sha256": "ab"},
        {
            "upload_id": "u-2",
            "name": "b.jsonl",
            "receipt": json.dumps({"reasons": {"torn_line": 4}, "notes": ["n", "m"]}),
        },
    )
    told = rejects({"upload_id": "u-2", "line": 7, "reason": "torn_line", "head": "{"})
    found = data_quality(measure(frame([request(1, flags=["ttft_missing", "x"])])), files, told, end_ns=None)
    assert (found.reasons, found.not_understood, found.notes) == (
        {"torn_line": 5, "bad_value": 2},
        {"x.y": 5},
        ["n", "m"],
    )
    assert found.flags == {"ttft_missing": 1, "x": 1}
    assert found.uploads[0] == UploadLine("a.jsonl", "jsonl", "ab", 5, 0, 0, 1, "done", None)
    says = "the last line ends in the middle; the writer was stopped or the file was copied while open"
    assert found.rejects == [RejectLine("b.jsonl", 7, None, "torn_line", says, "{")]


def test_straddlers_arrived_inside_and_ended_outside() -> None:
    end = MONDAY_NS + 10 * NS_PER_S
    rows = measure(frame([request(1, at_s=9, e2e_ms=500), request(2, at_s=9, e2e_ms=1000), request(3, at_s=9)]))
    assert straddlers(rows, end).get_column("request_key").to_list() == ["r-000002"]
    found = data_quality(rows, uploads(), rejects(), end_ns=end)
    assert (found.straddlers, found.straddler_tokens) == (1, 111)
    assert straddlers(rows, None).height == 0


def test_unequal_sampling_lowers_the_effective_number() -> None:
    rows = measure(frame([request(1), request(2, sampling_rate=0.1)]))
    found = data_quality(rows, uploads(), rejects(), end_ns=None)
    assert found.n_effective == pytest.approx(121 / 101)
    assert found.sampling_rate == 0.1


def test_coverage_of_tpot_is_over_requests_with_tokens_after_the_first() -> None:
    rows = measure(frame([request(1, ttft_ms=1, tpot_ms=1), request(2, output_tokens=1), request(3)]))
    found = {entry.field: (entry.n, entry.share) for entry in coverage(rows)}
    assert (found["tpot"], found["ttft"], found["user"]) == ((1, 0.5), (1, 1 / 3), (0, 0.0))
