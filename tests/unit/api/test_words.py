"""Answers at the prompt: what a reader sees, to the line, within 80 columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from api.words import (
    WIDTH,
    cost_lines,
    diagnosis_lines,
    head_lines,
    inspection_lines,
    receipt_lines,
    table_lines,
    verdict_lines,
)
from ingest.errors import Reject
from ingest.load import LoadOptions, inspect_paths
from ingest.receipts import Receipt
from tests.support.otlp import request, span
from tests.support.results import HOSTILE, empty, week

INCIDENT = "Two of three lm-large replicas missing in us-east"
NBSP = "\u00a0"


def plain(lines: list[str]) -> str:
    return "\n".join(lines).replace(NBSP, " ")


def test_a_receipt_adds_up_and_shows_the_first_rejected_rows() -> None:
    receipt = Receipt(
        "u-1",
        "traces.jsonl",
        "done",
        "otlp_json",
        read=11,
        accepted=7,
        duplicate=1,
        rejected=3,
        reasons={"torn_line": 1, "end_before_start": 2},
        rejects=(
            Reject(4, 90, "end_before_start", '{"a": 1}'),
            Reject(7, 190, "end_before_start", "\x1b[31mred"),
            Reject(11, 290, "torn_line", "x" * 200),
        ),
        not_understood={"x.y": 312},
        notes=("The zone of times without one was taken as UTC.",),
    )
    assert plain(receipt_lines(receipt)) == (
        "traces.jsonl: otlp_json, read 11 = accepted 7 + duplicate 1 + rejected 3\n"
        '  line 4: it ends before it starts (end_before_start): {"a": 1}\n'
        "  line 7: it ends before it starts (end_before_start): ·[31mred\n"
        "  line 11: the last line ends in the middle; the writer was stopped or the file was copied while open "
        f"(torn_line): {'x' * 60}…\n"
        "  not understood, kept as attributes: x.y on 312\n"
        "  The zone of times without one was taken as UTC."
    )


def test_a_rejected_message_of_a_source_without_lines_is_told_with_its_byte() -> None:
    rejects = (Reject(None, 1234, "no_trace_id", ""), Reject(None, None, "no_time", "a"))
    receipt = Receipt("u-1", "traces.pb", "done", "otlp_protobuf", read=2, rejected=2, rejects=rejects)
    told = receipt_lines(receipt)
    assert told[1] == "  byte 1,234: the span has no trace id (no_trace_id)"
    assert told[2].startswith("  a row: ")


def test_a_file_that_could_not_be_read_says_why() -> None:
    receipt = Receipt("u-1", "photo.png", "skipped", message="an image, no traces")
    assert receipt_lines(receipt) == ["photo.png: skipped: an image, no traces"]


def test_a_message_that_names_its_file_does_not_name_it_twice() -> None:
    empty_file = Receipt("u-1", "a.jsonl", "done", message="a.jsonl is empty: there is nothing to read")
    assert receipt_lines(empty_file) == ["a.jsonl is empty: there is nothing to read"]


def test_the_head_says_what_was_analyzed() -> None:
    assert plain(head_lines(week())) == (
        "Week 10, 2026\n"
        "113,527 requests (a sample of 2.27 million), 435 M input and 24.1 M output\n"
        "tokens, 4,079 USD, 98.2 % good, data quality B"
    )


def test_verdicts_stand_worst_first_with_the_finding_beneath() -> None:
    lines = plain(verdict_lines(week())).split("\n")
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == (
        ["BREACHED"] * 4 + ["ENDANGERED", "unknown", "too"] + ["met"] * 3
    )
    beneath = [line.strip() for line in lines if line.strip() in ("the same incident", INCIDENT)]
    assert beneath == [INCIDENT, *["the same incident"] * 3]


def test_a_diagnosis_names_stage_segment_time_evidence_and_what_to_do() -> None:
    result = week()
    broken = next(row for row in result.objectives if row.id == "code.ttft")
    said = plain(diagnosis_lines(result, broken))
    for line in (
        "  1. Two of three lm-large replicas missing in us-east\n",
        "     stage     queue\n",
        "     segment   model = lm-large, region = us-east\n",
        "     when      Sat 7 March 12:45 to Sat 7 March 16:15 (UTC)\n",
        "     evidence  mean queue: 1.19 s (before: 0.120 s), n = 771\n",
        "     do        Bring back the two missing replicas (scale_out, KB-01)\n",
        "               vLLM: more replicas behind the router; -dp within a host\n",
        "     do not    raise_batch_limit: replicas were missing, not seats\n",
        "     untested  warm_pool: needs cold_start\n",
    ):
        assert line in said
    assert max(len(line) for line in said.split("\n")) <= WIDTH


def test_a_share_of_bad_requests_is_told_with_those_that_it_is_of() -> None:
    result = week()
    broken = next(row for row in result.objectives if row.verdict == "breached")
    (first,) = [f for f in result.findings if f.objective == broken.id][:1]
    for n, told in (
        (first.n_over, "94.0 % of the 212 bad requests over the limit; 4.0 % are bad"),
        (None, "94.0 % of the bad requests over"),
    ):
        shown = replace(result, findings=[replace(first, n_over=n)])
        assert told in " ".join(plain(diagnosis_lines(shown, broken)).split())


def test_one_incident_is_told_once() -> None:
    result = week()
    broken = [row for row in result.objectives if row.verdict == "breached"][:2]
    told: dict[str, str] = {}
    said = [plain(diagnosis_lines(result, row, told)) for row in broken]
    assert ("scale_out" in said[0], "scale_out" in said[1]) == (True, False)
    assert said[1].endswith(f"     do        as under {broken[0].id}: it is one incident")


def test_a_broken_objective_without_a_cause_says_so() -> None:
    result = replace(week(), findings=[])
    broken = next(row for row in result.objectives if row.verdict == "breached")
    assert plain(diagnosis_lines(result, broken)).endswith("No cause was found that the figures bear out.")


def test_an_empty_selection_has_a_head_too() -> None:
    told = "No request lies in this selection."
    assert plain(head_lines(replace(empty(), notes=[told]))) == f"no requests\n{told}"


def test_rows_that_were_all_rejected_are_no_requests_and_have_no_grade() -> None:
    quality = replace(empty().data_quality, read=3, rejected=3, grade=None)
    assert (
        plain(head_lines(replace(empty(), data_quality=quality))) == "no requests\nno requests: every row was rejected"
    )


def test_nothing_spent_while_most_requests_have_no_price_is_not_told_as_zero() -> None:
    summary = replace(week().summary, requests=40, requests_estimated=40, cost_usd="0", unpriced_requests=30)
    assert plain(head_lines(replace(week(), summary=summary))) == (
        "Week 10, 2026\n40 requests, 435 M input and 24.1 M output tokens, 30 unpriced, 98.2 % good,\ndata quality B"
    )


def test_the_share_of_good_requests_is_of_those_that_could_be_judged() -> None:
    result = week()
    known = replace(result.goodput, ratio=0.0, good=0, valid=34, unknown=29)
    assert "0 % of the 5 judged good" in plain(head_lines(replace(result, goodput=known)))


def test_a_verdict_says_whether_it_is_sure() -> None:
    rows = {row.id: row for row in week().objectives}
    broken, met = (next(row for row in rows.values() if row.verdict == verdict) for verdict in ("breached", "met"))
    told = [replace(broken, sure=True), replace(broken, sure=False), replace(met, sure=True), replace(met, sure=None)]
    said = [" ".join(plain(verdict_lines(replace(week(), objectives=[row], findings=[]))).split()) for row in told]
    assert [line[line.index("The verdict") :] for line in said[:3]] == [
        "The verdict is sure.",
        "The verdict is within noise.",
        "The verdict is sure.",
    ]
    assert "The verdict" not in said[3]


def test_costs_end_with_their_total_and_what_stands_beside_it() -> None:
    said = plain(cost_lines(week().costs))
    assert "total 4,078.79 USD\n" in said
    assert "price book: prices.yaml; genai-prices 0.2\n" in said
    assert "unpriced: no price for acme / m-70b on 2026-03-04" in said


def test_costs_without_prices_are_unknown_and_not_zero() -> None:
    row = replace(week().costs.rows[0], requests=40, unpriced_requests=30, cost_usd="0")
    said = plain(cost_lines(replace(week().costs, rows=[row], total_usd="0", priced_share=0.25))).split("\n")
    assert (said[1].split()[-1], said[3]) == ("–", "total – USD")


def test_a_table_keeps_figures_right_and_names_harmless() -> None:
    rows = [["a\x1b[2Jb", "1"], [HOSTILE, "1,000"]]
    assert table_lines(["user", "USD"], rows, figures=1) == [
        "user                                USD",
        "a·[2Jb                                1",
        "<script>alert('tenant')</script>  1,000",
    ]


def test_a_file_whose_spans_make_no_request_says_so(tmp_path: Path) -> None:
    told: dict[str, list[str]] = {}
    for name in ("SELECT shop", "chat m"):
        asked = {"gen_ai.operation.name": "chat"} if name == "chat m" else {"db.system": "sqlite"}
        path = tmp_path / f"{len(told)}.jsonl"
        path.write_text(json.dumps(request([span(name, attributes=asked)])))
        (found,) = inspect_paths([path], LoadOptions())
        told[name] = [line for line in inspection_lines(found) if "makes" in line]
    assert told == {
        "SELECT shop": ["  makes 0 requests: none of its spans is a call of a model"],
        "chat m": ["  makes 1 request"],
    }
