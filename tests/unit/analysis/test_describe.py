"""Selections in words, definitions, provenance."""

from __future__ import annotations

from datetime import UTC, datetime

from analysis.describe import definitions, provenance, title_of, week_of
from analysis.metrics.measure import measure
from ingest.selection import Selection, parse_instant, week_selection
from tests.support.builders import frame, request


def test_a_range_that_is_a_week_of_its_zone_is_called_by_its_number() -> None:
    week = week_selection("2026-W37", "Asia/Kolkata", (("model", "a"), ("model", "b")))
    assert (week_of(week), title_of(week)) == ("2026-W37", "Week 2026-W37, model a or b")
    assert week_of(week_selection("2026-W13", "Europe/Berlin")) == "2026-W13"  # 167 hours
    shifted = Selection(week.start_ns, week.end_ns, (), "UTC")
    assert week_of(shifted) is None
    assert title_of(shifted) == "2026-09-06 18:30 to 2026-09-13 18:30"


def test_open_ranges_have_words() -> None:
    start = parse_instant("2026-03-02T10:45:30", "UTC")
    assert [title_of(s) for s in (Selection(), Selection(start), Selection(None, start))] == [
        "All requests",
        "2026-03-02 10:45:30 to the end",
        "the beginning to 2026-03-02 10:45:30",
    ]


def test_every_definition_says_something_once() -> None:
    found = definitions()
    assert [one.id for one in found if not one.says] == []
    assert len({(one.kind, one.id) for one in found}) == len(found)
    assert {one.kind for one in found} == {"metric", "stage", "dimension", "check"}
    checks = {one.id: one.says for one in found if one.kind == "check"}
    assert checks["rejected"] == (
        "Rejected rows or spans, of all that were read. "
        "A up to 0.1 %, B up to 1 %, C up to 25 %, else D, which withholds verdicts."
    )
    assert checks["without_time"].endswith("A up to 0 %, B up to 1 %, else C.")


def test_provenance_bears_the_instant_it_is_given() -> None:
    rows = measure(frame([request(1, source="simulator")]))
    found = provenance(
        rows, ["ab"], now=datetime(2026, 3, 9, 8, tzinfo=UTC), timezone="UTC", objectives="default", price_book="b",
        rules="r", command="tailwise report x",
    )  # fmt: skip
    assert (found.made, found.simulated, found.inputs, found.command) == (
        "2026-03-09T08:00:00Z", True, ["ab"], "tailwise report x",
    )  # fmt: skip
    assert found.version.count(".") >= 1
