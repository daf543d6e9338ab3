"""Predictions: the line of unbroken windows, what it says, and when nothing is said."""

from __future__ import annotations

import math

import pytest

from analysis.causes.prediction import NO_MODEL, NOT_PREDICTED, fit
from analysis.rules.catalog import built_in
from tests.support.service import Row, findings, in_fault, service

SCALES = ("scale_out", "autoscale_policy")


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
    assert {item.not_predicted for item in unknown} <= {NO_MODEL, *NOT_PREDICTED.values()}
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


def test_scaling_on_the_queue_promises_what_more_replicas_do_if_it_is_in_time() -> None:
    found = next(f for f in findings(service(missing)) if f.objective == "ttft")
    more, policy = ({item.id: item.predicted for item in found.recommendations}[name] for name in SCALES)
    assert more is not None
    assert policy is not None
    assert (policy.value, policy.attainment) == (more.value, more.attainment)
    assert "before the queue has grown" in policy.ignores
    assert "before the queue has grown" not in more.ignores
    assert [item.id for item in found.recommendations][:2] == list(SCALES)  # of equal effect, the surer one is first


def surge(rows: list[Row]) -> list[Row]:
    """Twice the requests in the fault's time, which then wait; the further ones are of a kind that nobody watches."""
    found = []
    for index, row in enumerate(rows):
        minute = index / 36
        wait = 2_000_000_000 if in_fault(minute) else 0
        slower = {name: row[name] + wait for name in ("queue_ns", "ttft_ns", "e2e_ns")}
        found.append(row | slower | {"streaming": True})
        if in_fault(minute):
            extra = {"request_key": f"{row['request_key']}-b", "streaming": index % 2 == 0}
            found.append(row | slower | extra)
    return found


def test_batch_work_that_waits_leaves_a_load_between_the_normal_and_the_surge() -> None:
    found = next(f for f in findings(surge(service())) if f.objective == "ttft" and f.cause == "load")
    predicted = {item.id: item for item in found.recommendations}
    first, more = predicted["priority_scheduling"].predicted, predicted["scale_out"].predicted
    assert first is not None
    assert more is not None
    assert first.value is not None
    assert more.value is not None
    assert 1.2 * more.value < first.value < 3.5  # unbroken windows lie below 1.5 s, the broken one above 3


def test_every_reason_belongs_to_a_recommendation() -> None:
    assert set(NOT_PREDICTED) <= set(built_in().advice)
