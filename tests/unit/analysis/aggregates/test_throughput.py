"""Volumes over wall clock, and the busiest minute."""

from __future__ import annotations

from analysis.aggregates.throughput import throughput
from analysis.aggregates.windows import Span
from analysis.metrics.measure import measure
from analysis.result import Throughput
from ingest.schema import NS_PER_S
from tests.support.builders import MONDAY_NS, frame, request


def test_volumes_are_over_the_wall_clock_of_the_range() -> None:
    rows = [
        request(i, at_s=at, input_tokens=100, output_tokens=10, sampling_rate=0.5)
        for i, at in enumerate((0, 61, 62, 200))
    ]
    found = throughput(measure(frame(rows)), Span(MONDAY_NS, MONDAY_NS + 400 * NS_PER_S))
    assert found == Throughput(400.0, 0.02, 2.0, 0.2, 0.2, 4 / 60, "2026-03-02T00:01:00Z")


def test_without_a_clock_there_is_no_rate() -> None:
    rows = measure(frame([request(1) | {"started_ns": None}]))
    assert throughput(rows, Span(None, None)) == Throughput(None, None, None, None, None, None, None)


def test_unknown_tokens_are_no_zero() -> None:
    rows = measure(frame([request(1, input_tokens=None, output_tokens=None)]))
    found = throughput(rows, Span(MONDAY_NS, MONDAY_NS + NS_PER_S))
    assert (found.requests_per_second, found.output_tokens_per_second) == (1.0, None)
