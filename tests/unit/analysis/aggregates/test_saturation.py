"""The load at which attainment falls below its target, or that this cannot be told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from analysis.aggregates.saturation import crossing, falling, saturation
from analysis.result import Saturation
from tests.support.builders import MONDAY_NS, NS_PER_MS


def minutes(attainment: Callable[[float], float], n: int = 1440, top: int = 60) -> pl.DataFrame:
    """A day of minutes with 6 to `top` requests each; the share of good ones follows from requests per second."""
    draws = np.random.default_rng(1)
    per_minute = draws.integers(6, top + 1, n)
    starts = np.repeat(np.arange(n) * 60_000, per_minute) * NS_PER_MS + MONDAY_NS
    good = np.concatenate([draws.random(k) < attainment(k / 60) for k in per_minute])
    verdict = np.where(good, "good", "bad").tolist()
    return pl.DataFrame({"started_ns": starts, "weight": 1.0, "good_verdict": verdict}).with_columns(votes=pl.lit(1))


def test_the_crossing_is_found_with_its_interval() -> None:
    found = saturation(minutes(lambda rate: 1.0 if rate < 0.5 else 1.0 - (rate - 0.5)), 0.9)
    assert found.verdict == "estimated"
    assert found.requests_per_second == pytest.approx(0.6, abs=0.05)  # attainment is 90 % at 0.6 requests per second
    assert found.interval is not None
    low, high = found.interval
    assert high is not None
    assert 0.5 < low < 0.6 < high < 0.75
    assert len(found.bands) == 10
    fitted = [band.fitted for band in found.bands if band.fitted is not None]
    assert fitted == sorted(fitted, reverse=True)


def test_where_attainment_holds_the_range_is_too_small() -> None:
    found = saturation(minutes(lambda rate: 0.99), 0.9)
    assert (found.verdict, found.requests_per_second, found.interval) == ("holds", None, None)
    assert found.highest_seen == pytest.approx(0.95, abs=0.05)
    assert found.says.endswith("not enough range to tell the capacity.")


def test_what_fails_at_every_load_is_no_matter_of_load() -> None:
    assert saturation(minutes(lambda rate: 0.5), 0.9).verdict == "below"


def test_few_minutes_or_no_target_tell_nothing() -> None:
    assert saturation(minutes(lambda rate: 1.0, n=59), 0.9).says == (
        "59 minutes with requests are fewer than the 60 that bands of load need."
    )
    assert saturation(minutes(lambda rate: 1.0), None) == Saturation(
        "too_few", None, None, None, None, [], "No objective with a target defines good requests."
    )


def test_the_fit_never_rises_and_keeps_the_counts() -> None:
    assert falling([9, 8, 9, 2], [1, 2, 1, 8]) == [0.9, 0.85, 0.85, 0.2]
    assert falling([5, 0], [5, 0]) == [0.5, 0.5]
    assert falling([0], [0]) == [None]


def test_the_crossing_lies_between_two_bands() -> None:
    assert crossing([1.0, 2.0, 3.0], [1.0, 0.75, 0.25], 0.5) == (2.5, "estimated")
    assert crossing([1.0], [None], 0.8) == (None, "too_few")
