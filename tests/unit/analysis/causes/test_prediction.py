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
