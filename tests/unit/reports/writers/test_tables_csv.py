"""The long table."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from reports.writers.tables_csv import tables_csv
from tests.support.results import empty, week


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_every_line_has_four_cells_and_a_header() -> None:
    found = rows(tables_csv(week()))
    assert found[0] == ["table", "key", "field", "value"]
    assert {len(line) for line in found} == {4}


def test_figures_are_unrounded_and_unknown_is_empty() -> None:
    found = rows(tables_csv(week()))
    assert ["latency", "ttft / true", "p95", "3.54"] in found
    assert ["summary", "", "cost_usd", "4078.789412365"] in found
    assert ["availability", "cold_start_rate", "rate", ""] in found
    assert ["objectives", "chat.ttfa", "attainment", ""] in found
    assert ["goodput", "", "interval_low", "0.98096"] in found
    assert ["costs.tenant", "unattributed", "cost_usd", "2457.099412365"] in found


def test_windows_and_evidence_keep_whom_they_are_about() -> None:
    found = rows(tables_csv(week()))
    assert ["objectives.windows", "code.ttft / 2026-03-07T12:00:00Z", "verdict", "breached"] in found
    assert ["findings.evidence", "code.ttft / 1 / mean queue", "baseline", "0.12"] in found


def test_no_key_and_field_stands_twice_in_a_table() -> None:
    found = [tuple(line[:3]) for line in rows(tables_csv(week()))]
    assert len(found) == len(set(found))


def test_a_text_that_a_spreadsheet_would_run_is_quoted_and_a_number_is_not() -> None:
    result = week()
    formula = replace(result.load.replicas[0], replica='=HYPERLINK("http://outside.example")', share=-0.25)
    load = replace(result.load, replicas=[formula])
    found = rows(tables_csv(replace(result, load=load)))
    assert ["load.replicas", '\'=HYPERLINK("http://outside.example")', "share", "-0.25"] in found


def test_an_empty_result_is_still_a_table() -> None:
    assert rows(tables_csv(empty()))[0] == ["table", "key", "field", "value"]
