"""Predictions: the line of unbroken windows, what it says, and when nothing is said."""

from __future__ import annotations

import math

import pytest

from analysis.causes.prediction import fit
from tests.support.service import Row, findings, in_fault, service


def test_a_power_law_is_read_back() -> None:
    points = [(float(n), 0.5 * n**0.8) for n in (100, 120, 150, 180, 200, 260)]
    line = fit(points)
    assert line is not None
    assert line.at(300.0) == pytest.approx(0.5 * 300**0.8)
    assert line.spread == pytest.approx(0.0, abs=1e-9)


def test_a_few_windows_have_a_mean_and_no_slope() -> None:
    line = fit([(100.0, 2.0), (200.0, 8.0)])
    assert line is not None
    assert (line.slope, line.n) == (0.0, 2)
    assert line.at(50.0) == pytest.approx(4.0)  # the geometric mean
    assert line.spread == pytest.approx(math.log(2) * math.sqrt(2))


def test_equal_arrivals_have_no_slope() -> None:
    line = fit([(100.0, value) for value in (1.0, 1.1, 0.9, 1.0, 1.05, 0.95)])
    assert line is not None
    assert line.slope == 0.0


@pytest.mark.parametrize("points", [[], [(100.0, 0.0)], [(0.0, 1.0)]])
def test_no_logarithm_no_line(points: list[tuple[float, float]]) -> None:
    assert fit(points) is None


def slow_replica(row: Row, minute: float) -> None:
    if in_fault(minute) and row["replica"] == "large-east-1":
        row["slow"] = 3.0


def failing(row: Row, minute: float) -> None:
    if in_fault(minute) and row["deployment_version"] == "v2" and row["wait"] < 0.3:
        row["status"] = "error"


def test_draining_a_replica_is_a_remedy_read_at_the_load_of_the_others() -> None:
    found = next(f for f in findings(service(slow_replica)) if f.objective == "tpot")
    predicted = found.recommendations[0].predicted
    assert predicted is not None
    assert predicted.basis == "remedy"
    assert predicted.value is not None
    assert 0.018 < predicted.value < 0.027  # unbroken windows lie at 0.0217 s per token


def test_a_rate_goes_back_to_the_mean_of_its_unbroken_windows() -> None:
    (found,) = findings(service(failing))
    predicted = found.recommendations[0].predicted
    assert predicted is not None
    assert (predicted.basis, predicted.value, predicted.value_low, predicted.value_high) == (
        "back_to_normal",
        0.0,
        0.0,
        0.0,
    )


def test_what_has_no_model_says_so() -> None:
    (found,) = findings(service(failing))
    unknown = [item for item in found.recommendations if item.predicted is None]
    assert {item.not_predicted for item in unknown} <= {"no model of this remedy's effect on this traffic"}
    assert all(item.predicted is not None or item.not_predicted for item in found.recommendations)


def test_every_prediction_says_what_it_ignores() -> None:
    for finding in findings(service(slow_replica)):
        for item in finding.recommendations:
            assert item.predicted is None or item.predicted.ignores


def missing(row: Row, minute: float) -> None:
    if in_fault(minute) and (row["model"], row["region"]) == ("large", "east"):
        row |= {"replica": "large-east-2", "deployment_version": "v2", "queue_ms": row["queue_ms"] + 3000 * row["wait"]}


def test_scaling_out_says_what_it_assumes_and_what_it_costs() -> None:
    monday = 1_772_409_600 * 10**9
    hours = [
        {
            "replica": f"large-east-{index}", "hour_ns": monday + hour * 3600 * 10**9, "upload_id": "u", "model": "large",
            "region": "east", "up_s": 3600.0, "busy_s": 1800.0, "mean_batch_size": 4.0, "cost_usd": 5 * 10**12,
        }
        for index in range(3)
        for hour in range(2)
    ]  # fmt: skip
    found = next(f for f in findings(service(missing), hours=hours) if f.objective == "ttft")
    predicted = found.recommendations[0].predicted
    assert predicted is not None
    assert predicted.ignores.startswith("Assumes that the 2 missing replicas are replaced. ")
    cost = found.recommendations[0].cost
    assert cost is not None
    assert cost.change_usd == "4.00"  # 2 replicas x 24 minutes x 5 USD an hour
