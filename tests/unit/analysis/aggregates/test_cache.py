"""Prompt cache: ratio of sums over what is known."""

from __future__ import annotations

from analysis.aggregates.cache import cache
from analysis.metrics.measure import measure
from analysis.result import Cache
from tests.support.builders import frame, request


def test_the_ratio_is_of_sums_where_the_cached_part_is_known() -> None:
    rows = [
        request(1, input_tokens=1000, cached_input_tokens=900, sampling_rate=0.5),
        request(2, input_tokens=1000, cached_input_tokens=0, sampling_rate=0.5),
        request(3, input_tokens=9000, cached_input_tokens=None),
        request(4, input_tokens=0, cached_input_tokens=0, response_cached=True),
    ]
    assert cache(measure(frame(rows)), "1.5") == Cache(0.45, 3, 1, 1800, 4000, "1.5", 1)


def test_unknown_everywhere_is_unknown() -> None:
    assert cache(measure(frame([request(1)])), None) == Cache(None, 0, 0, None, None, None, 0)
