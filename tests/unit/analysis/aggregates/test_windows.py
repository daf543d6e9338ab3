"""Tumbling windows and the wall clock of a range."""

from __future__ import annotations

import polars as pl

from analysis.aggregates.windows import Span, origin_of, span_of, window_bounds, window_index
from ingest.schema import NS_PER_S
from ingest.selection import parse_instant, to_iso, week_selection
from tests.support.builders import MONDAY_NS, frame, request

HOUR = 3600 * NS_PER_S


def test_windows_start_at_local_midnight_of_the_first_monday() -> None:
    wednesday = parse_instant("2026-03-04T10:45:00", "UTC")
    assert to_iso(origin_of(wednesday, "UTC")) == "2026-03-02T00:00:00Z"
    assert to_iso(origin_of(wednesday, "Europe/Berlin")) == "2026-03-01T23:00:00Z"
    assert origin_of(MONDAY_NS, "UTC") == MONDAY_NS


def test_a_window_holds_its_first_instant_and_not_its_last() -> None:
    starts = pl.DataFrame(
        {"started_ns": [MONDAY_NS - 1, MONDAY_NS, MONDAY_NS + 4 * HOUR - 1, MONDAY_NS + 4 * HOUR, None]}
    )
    assert starts.select(window_index(4 * 3600, MONDAY_NS)).to_series().to_list() == [-1, 0, 0, 1, None]
    assert window_bounds(1, 4 * 3600, MONDAY_NS) == (MONDAY_NS + 4 * HOUR, MONDAY_NS + 8 * HOUR)


def test_a_week_of_daylight_saving_has_167_or_169_hours() -> None:
    spring, autumn = (week_selection(week, "Europe/Berlin") for week in ("2026-W13", "2026-W43"))
    assert [Span(s.start_ns, s.end_ns).seconds for s in (spring, autumn)] == [167 * 3600.0, 169 * 3600.0]


def test_an_open_range_is_what_the_data_fill() -> None:
    rows = frame([request(1, at_s=10, e2e_ms=500), request(2, at_s=20)])
    assert span_of(rows, None, None) == Span(MONDAY_NS + 10 * NS_PER_S, MONDAY_NS + 20 * NS_PER_S + 1)
    assert span_of(rows, MONDAY_NS, MONDAY_NS + HOUR) == Span(MONDAY_NS, MONDAY_NS + HOUR)
    assert span_of(rows.clear(), None, None).seconds is None


def test_a_window_counts_only_where_it_lies_in_the_range() -> None:
    span = Span(MONDAY_NS + HOUR, MONDAY_NS + 5 * HOUR)
    assert span.overlap_s(MONDAY_NS, MONDAY_NS + 4 * HOUR) == 3 * 3600.0
    assert span.overlap_s(MONDAY_NS + 6 * HOUR, MONDAY_NS + 7 * HOUR) == 0.0
