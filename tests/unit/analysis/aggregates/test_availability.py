"""Rates over the forty requests of one hour."""

from __future__ import annotations

from analysis.aggregates.availability import availability
from analysis.aggregates.statistics import wilson
from analysis.metrics.measure import measure
from analysis.result import Rate
from tests.support.builders import frame, request

CLASSES = ["ok"] * 30 + ["shed", "shed", "error", "timeout"] + ["rejected"] * 4 + ["cancelled"] * 2


def test_rates_carry_their_counts_and_intervals() -> None:
    rows = [request(i, status=name, attempts=2 if i < 4 else 1, error_type=name.upper() if name == "shed" else None)
            for i, name in enumerate(CLASSES)]  # fmt: skip
    found = availability(measure(frame(rows)))
    assert found.availability == Rate(30, 34, 30 / 34, wilson(30, 34))
    assert found.error_rate == Rate(4, 40, 0.1, wilson(4, 40))
    assert found.timeout_rate == Rate(1, 40, 0.025, wilson(1, 40))
    assert found.cancel_rate == Rate(2, 40, 0.05, wilson(2, 40))
    assert found.degraded_rate == Rate(0, 0, None, None)
    assert found.retry_amplification == 1.1
    assert found.by_error_type == {"SHED": 2}
    assert found.by_status_class == {"ok": 30, "rejected": 4, "cancelled": 2, "shed": 2, "error": 1, "timeout": 1}
