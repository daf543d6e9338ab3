"""Diagnoses of planted incidents by sources that do not know a column: never harmful, and what was not tested is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import shared
from tests.support.simulator import LONGEST_S, scored, simulated, summary, table, without_columns

ENGINE = ("queue_ms", "prefill_ms", "decode_ms")
TAKEN: dict[str, tuple[str, ...]] = {  # column of the schema to the columns that the source lacks
    **{name: (name,) for name in ("output_tokens", "cached_input_tokens", "batch_size", "replica", "region", "tenant")},
    **{name: (name,) for name in ("deployment_version", "cold_start", "requested_model")},
    **{name: (name,) for name in ("kv_cache_usage", "preemptions")},
    "queue_ns": ("queue_ms", "prefill_ms"),
    "decode_ns": ENGINE,
}
UNJUDGED = {  # named as not tested, by the rules that need it; the others only narrow a segment
    *("output_tokens", "cached_input_tokens", "batch_size", "replica", "deployment_version", "cold_start"),
    *("kv_cache_usage", "preemptions", "queue_ns"),
}
OUTSIDE = {"stage_top1": 0.35, "recall": 0.8, "rec_hit": 0.8, "cause_top1": 0.95}  # of sources that see no engine stage


def found_without(case: Path, column: str, folder: Path) -> tuple[dict[str, Any], set[str]]:
    """The scorer's record, and every column that a finding names as missing."""
    record = scored(without_columns(case, TAKEN[column], folder / "case"), folder / "found")
    findings = json.loads((folder / "found" / "findings.json").read_text())["findings"]
    return record, {name for finding in findings for item in finding["untested"] for name in item["missing"]}


@pytest.mark.parametrize("column", TAKEN)
def test_a_source_without_a_column_gets_no_harmful_advice_and_is_told_what_to_log(column: str, tmp_path: Path) -> None:
    record, missing = found_without(shared("incidents/sample/replica_down"), column, tmp_path)
    assert summary([record])["rec_harmful"] == 0.0
    assert column in missing or column not in UNJUDGED


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
@pytest.mark.parametrize("column", TAKEN)
def test_no_incident_gets_harmful_advice_where_a_column_is_missing(column: str, tmp_path: Path) -> None:
    cases = sorted(simulated(tmp_path, "suite", "--cases", "all", "--seeds", "1,2,3").glob("*-s1"))
    records = [found_without(case, column, tmp_path / "found" / case.name)[0] for case in cases]
    sys.stdout.write(f"\nwithout {column}\n{table(records)}\n")
    told = summary(records)
    assert (told["rec_harmful"], told["false_positive_rate"]) == (0.0, 0.0)
    if column == "decode_ns":
        assert {name: told[name] for name, goal in OUTSIDE.items() if told[name] < goal} == {}
