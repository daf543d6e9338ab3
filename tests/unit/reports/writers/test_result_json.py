"""The result as JSON, and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from analysis.result import AnalysisResult
from reports.writers.result_json import compact_json, result_from_json, result_json
from tests.support.results import empty, quiet_week, week


@pytest.mark.parametrize("result", [week(), quiet_week(), empty()], ids=["week", "quiet", "empty"])
def test_a_result_survives_json(result: AnalysisResult) -> None:
    assert result_from_json(result_json(result)) == result
    assert result_from_json(compact_json(result)) == result


def test_keys_are_sorted_at_every_depth() -> None:
    def sorted_keys(value: object) -> bool:
        if isinstance(value, dict):
            return list(value) == sorted(value) and all(map(sorted_keys, value.values()))
        return all(map(sorted_keys, value)) if isinstance(value, list) else True

    assert sorted_keys(json.loads(result_json(week())))


def test_every_part_of_the_contract_is_there() -> None:
    expected = "selection data_quality summary latency stages strata objectives goodput availability throughput load cache findings costs comparison definitions provenance"
    assert set(expected.split()) - set(json.loads(result_json(week()))) == set()


def test_no_name_ends_the_script_element_that_holds_the_result() -> None:
    assert "<" not in compact_json(week())


def test_a_result_of_a_newer_version_is_refused() -> None:
    newer = result_json(replace(week(), result_version=99))
    with pytest.raises(ValueError, match="of version 99, this version reads up to 1"):
        result_from_json(newer)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"result_version": 1}', b"[1, 2"])
def test_what_is_no_result_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="the stored result cannot be read"):
        result_from_json(content)
