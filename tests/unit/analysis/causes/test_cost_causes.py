"""Causes of spend: which factor moved the mean, who spends, what idles, and who only survived."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import diagnose
from analysis.ledger import keep_ledger
from analysis.metrics.measure import measure, with_columns_of_schema
from analysis.prices import default_prices
from analysis.result import Finding
from tests.support.builders import frame, replica_hours
from tests.support.service import Plant, Row, in_fault, objectives, service

MONDAY = 1_772_409_600 * 10**9
MODELS = {"large": "gpt-4o", "small": "gpt-4o-mini"}  # models of the built-in price book, with a cached price
MEAN = """
objectives: [{id: cost, metric: cost, statistic: mean, threshold: 0.0037 USD, window: 15m, min_requests: 60}]
"""


def found(text: str, *plants: Plant, hours: list[Row] | None = None) -> tuple[Finding, ...]:
    rows = []
    for row in service(*plants):
        model = MODELS[row["model"]]
        rows.append(
            {k: v for k, v in row.items() if k != "cost_pico"}
            | {"model": model, "requested_model": model, "provider": "openai"}
        )
    wanted = objectives(text)
    priced = keep_ledger(with_columns_of_schema(frame(rows)).drop("cost_pico"), None, default_prices()).requests
    measured = measure(priced, wanted.settings)
    up = replica_hours(hours or [])
    judged = judge(measured, wanted, replica_hours=up)
    return diagnose(measured, judged, wanted.items, replica_hours=up)


def planted(change: Callable[[Row], None]) -> Plant:
    def plant(row: Row, minute: float) -> None:
        if in_fault(minute):
            change(row)

    return plant


def longer(row: Row) -> None:
    row["input_tokens"] *= 3 if row["scenario"] == "rag" else 1


def wordy(row: Row) -> None:
    row["output_tokens"] *= 4 if row["scenario"] == "chat" else 1


def uncached(row: Row) -> None:
    row["cached_input_tokens"] = 0


def upgraded(row: Row) -> None:
    row["model"] = "large" if row["scenario"] == "chat" else row["model"]


@pytest.mark.parametrize(
    ("change", "stage", "segment", "advice"),
    [
        (longer, "cost_input", {"scenario": "rag"}, "input_length_cap"),
        (wordy, "cost_output", {"scenario": "chat"}, "output_length_control"),
        (uncached, "cost_cache", {}, "prompt_layout"),
        (upgraded, "cost_model", {"scenario": "chat"}, "model_routing"),
    ],
)
def test_the_factor_that_moved_the_mean_is_named(
    change: Callable[[Row], None], stage: str, segment: dict[str, str], advice: str
) -> None:
    findings = found(MEAN, planted(change))
    assert [(f.stage, f.segment, f.recommendations[0].id) for f in findings if f.rank == 1] == [
        (stage, segment, advice)
    ]


def test_the_largest_spender_is_named_with_its_sum() -> None:
    text = "objectives: [{id: user, metric: cost, statistic: sum, per: user, threshold: 1 USD, min_requests: 1}]"

    def whale(row: Row, minute: float) -> None:
        if row["wait"] < 0.2:
            row["user"] = "u-whale"

    (finding,) = found(text, whale)
    assert finding.segment == {"user": "u-whale"}
    assert finding.recommendations[0].id == "budget_alert"
    assert finding.cause == "cost"


def test_idle_replicas_are_the_cause_of_dear_tokens() -> None:
    text = (
        "objectives: [{id: gpu, metric: gpu_cost_per_million_output_tokens, where: {model: gpt-4o},"
        " threshold: 1 USD, min_requests: 1}]"
    )
    hours = [
        {
            "replica": f"large-{index}", "hour_ns": MONDAY + hour * 3600 * 10**9, "upload_id": "u", "model": "gpt-4o",
            "region": "east", "up_s": 3600.0, "busy_s": 700.0, "mean_batch_size": 1.2, "cost_usd": 5 * 10**12,
        }
        for index in range(6)
        for hour in range(2)
    ]  # fmt: skip
    (finding,) = found(text, hours=hours)
    assert (finding.stage, finding.cause, finding.segment) == ("cost_capacity", "cost", {"model": "gpt-4o"})
    assert finding.recommendations[0].id == "rightsize_replicas"
    assert {entry.id for entry in finding.contraindicated} >= {"scale_out", "warm_pool"}
