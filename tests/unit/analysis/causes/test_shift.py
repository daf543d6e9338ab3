"""From normal to incident: figures worked out by hand, steps that add up whatever the rows are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import with_flags
from analysis.causes.goal import Goal, goal_of, population
from analysis.causes.rows import prepare
from analysis.causes.shift import columns_of, figure_in, figure_of, shift_of
from analysis.metrics.measure import measure
from analysis.result import Shift, ShiftStep
from tests.support.builders import frame, request
from tests.support.service import objectives

P50 = "objectives: [{id: t, metric: ttft, statistic: p50, threshold: 1ms, min_requests: 10}]"
MEAN = "objectives: [{id: t, metric: ttft, statistic: mean, threshold: 1ms, min_requests: 10}]"
TARGET = "objectives: [{id: t, metric: ttft, threshold: 250ms, target: 80%, min_requests: 10}]"
ERRORS = "objectives: [{id: t, metric: error_rate, threshold: 0.01, min_requests: 10}]"
SPEED = "objectives: [{id: t, metric: tpot, statistic: mean, threshold: 1ms, min_requests: 10}]"
COST = "objectives: [{id: t, metric: cost, statistic: mean, threshold: 0.000001 USD, min_requests: 10}]"
TOKENS = "objectives: [{id: t, metric: cost_per_1k_tokens, threshold: 0.000001 USD, min_requests: 10}]"
MS = 1_000_000

Row = dict[str, Any]


def waited(number: int, queue_ms: float, prefill_ms: float = 100.0, **more: Any) -> Row:
    """A request whose time to first token is queue and prefill alone."""
    more = {"ttft_ms": queue_ms + prefill_ms, "tpot_ms": 10.0, "decode_ms": 100.0, **more}
    return request(number, at_s=float(number), queue_ms=queue_ms, prefill_ms=prefill_ms, **more)


def split(normal: Sequence[Row], inside: Sequence[Row], text: str) -> tuple[Shift, Goal]:
    """The shift of the only objective from the first rows to the second."""
    wanted = objectives(text)
    measured = measure(frame([*normal, *inside]))
    judged = judge(measured, wanted)
    rows = prepare(with_flags(measured, judged, wanted.items))
    goal = goal_of(judged[0], rows.start_ns, float(len(measured)))
    before, now = rows.frame.head(len(normal)), rows.frame.tail(len(inside))
    read = columns_of(goal, rows)
    return shift_of(goal, population(rows, goal, now), population(rows, goal, before, columns=read)), goal


def changes(shift: Shift) -> dict[str, int]:
    return {step.step: step.change_nano for step in shift.steps}


def test_a_mean_is_split_into_the_means_of_its_stages() -> None:
    shift, _ = split([waited(n, 20.0) for n in range(10)], [waited(10 + n, 100.0 + n, 90.0) for n in range(10)], MEAN)
    assert shift == Shift(
        figure="mean",
        unit="s",
        baseline_nano=120 * MS,
        value_nano=194_500_000,
        change_nano=74_500_000,
        n_baseline=10,
        n=10,
        steps=[
            ShiftStep("queue", None, 20 * MS, 104_500_000, 84_500_000),
            ShiftStep("prefill", None, 100 * MS, 90 * MS, -10 * MS),
        ],
        says="The mean of requests with status ok, and the means of its parts.",
    )


def test_a_percentile_is_split_as_the_requests_around_it_are() -> None:
    """Of 40 requests P50 is the 20th; 47.5 to 52.5 % are the 19th to the 21st, which waited alike."""
    inside = [waited(40 + n, 300.0 if 15 <= n < 25 else 1.0 if n < 15 else 900.0) for n in range(40)]
    shift, _ = split([waited(n, 20.0) for n in range(40)], inside, P50)
    assert (shift.figure, shift.baseline_nano, shift.value_nano) == ("p50", 120 * MS, 400 * MS)
    assert changes(shift) == {"queue": 280 * MS, "prefill": 0}


def test_what_no_stage_explains_is_the_rest_and_may_be_below_zero() -> None:
    unknown = [waited(10 + n, 20.0, ttft_ms=150.0) for n in range(10)]
    shift, _ = split([waited(n, 20.0, ttft_ms=115.0) for n in range(10)], unknown, MEAN)
    assert shift.steps[-1] == ShiftStep("rest", None, -5 * MS, 30 * MS, 35 * MS)
    assert sum(changes(shift).values()) == shift.change_nano == 35 * MS


def test_a_stage_that_nobody_measured_is_no_step() -> None:
    blind = [waited(n, 20.0 * (n // 10 + 1)) | {"queue_ns": None} for n in range(20)]
    shift, _ = split(blind[:10], blind[10:], MEAN)
    assert changes(shift) == {"prefill": 0, "rest": 20 * MS}


def test_a_stage_that_only_one_side_has_counts_from_zero() -> None:
    now = [waited(10 + n, 20.0, ttft_ms=170.0, retrieval_ms=50.0) for n in range(10)]
    shift, _ = split([waited(n, 20.0) for n in range(10)], now, MEAN)
    assert changes(shift) == {"retrieval": 50 * MS, "queue": 0, "prefill": 0}


def test_failed_requests_push_the_percentile_of_a_target() -> None:
    """With two failures behind them P80 of 10 is the 8th of the others, 190 ms; of those 8 alone it is the 7th, 180 ms."""
    usual = [waited(n, 20.0) for n in range(10)]
    queues = [10.0 * (n + 2) for n in range(8)]
    now = [waited(10 + n, queue) for n, queue in enumerate(queues)]
    now += [waited(18 + n, 5.0, status="error") for n in range(2)]
    shift, _ = split(usual, now, TARGET)
    assert (shift.figure, shift.baseline_nano, shift.value_nano) == ("p80", 120 * MS, 190 * MS)
    assert changes(shift) == {"queue": 60 * MS, "prefill": 0, "error": 10 * MS}


def test_where_the_percentile_lies_among_failures_the_share_of_bad_requests_is_told() -> None:
    now = [waited(10 + n, 20.0 if n < 4 else 500.0, status="ok" if n < 7 else "error") for n in range(10)]
    shift, goal = split([waited(n, 20.0) for n in range(10)], now, TARGET)
    figure = figure_in(shift, goal)
    assert (shift.figure, shift.unit, shift.value_nano) == ("bad_share", "ratio", 600 * MS)
    assert [(step.step, step.change_nano) for step in shift.steps] == [("error", 300 * MS), ("over_limit", 300 * MS)]
    assert figure is not None
    assert figure.is_share


def test_errors_are_told_by_kind_and_the_smallest_kinds_together() -> None:
    kinds = [kind for n, kind in enumerate("abcdefgh") for _ in range(9 - n)]
    now = [waited(10 + n, 20.0, status="error", error_type=kind) for n, kind in enumerate(kinds)]
    now += [waited(10 + n, 20.0) for n in range(len(kinds), 100)]
    shift, _ = split([waited(n, 20.0) for n in range(10)], now, ERRORS)
    assert [(step.of, step.change_nano) for step in shift.steps] == [
        *((kind, (9 - n) * 10 * MS) for n, kind in enumerate("abcdef")),
        (None, (3 + 2) * 10 * MS),
    ]
    assert shift.change_nano == 440 * MS


def test_time_per_token_is_all_decoding() -> None:
    now = [waited(10 + n, 20.0, tpot_ms=25.0) for n in range(10)]
    shift, _ = split([waited(n, 20.0) for n in range(10)], now, SPEED)
    assert (shift.unit, changes(shift)) == ("s/token", {"decode": 15 * MS})


def test_a_mean_cost_is_split_into_what_was_paid_for() -> None:
    def paid(number: int, fresh: int, output: int) -> Row:
        return waited(number, 20.0) | {
            "cost_pico": fresh + output + 1000,
            "uncached_input_pico": fresh,
            "cached_input_pico": 0,
            "output_pico": output,
        }

    rows = [paid(n, 5_000_000_000, 1_000_000) for n in range(10)]
    now = [paid(10 + n, 9_000_000_000, 1_000_000) for n in range(10)]
    columns = ("cost_pico", "uncached_input_pico", "cached_input_pico", "output_pico")
    assert all(name in rows[0] for name in columns)
    shift, _ = split(rows, now, COST)
    assert (shift.unit, shift.change_nano) == ("USD", 4 * MS)
    assert sum(changes(shift).values()) == 4 * MS


def test_without_a_normal_or_with_too_few_requests_there_is_a_value_and_a_reason() -> None:
    alone, _ = split([], [waited(n, 20.0) for n in range(10)], MEAN)
    assert (alone.baseline_nano, alone.value_nano, alone.change_nano, alone.steps) == (None, 120 * MS, None, [])
    assert alone.says == "There is no normal to compare with."
    few, _ = split([waited(n, 20.0) for n in range(9)], [waited(9 + n, 20.0) for n in range(10)], MEAN)
    assert (few.baseline_nano, few.steps, few.says) == (None, [], "Too few requests for this figure.")


def test_a_quotient_over_the_selection_has_no_figure() -> None:
    rows = [waited(n, 20.0) | {"cost_pico": 10**9} for n in range(20)]
    shift, goal = split(rows[:10], rows[10:], TOKENS)
    assert figure_of(goal) is None
    assert (shift.value_nano, shift.steps) == (None, [])
    assert shift.says.startswith("This figure is a sum or a quotient")


@pytest.mark.parametrize("text", [P50, MEAN, TARGET, ERRORS, SPEED])
def test_steps_add_up_on_both_sides_whatever_the_rows_are(text: str) -> None:
    draw = random.Random(11)
    for _ in range(6):
        rows = [
            waited(
                n, draw.expovariate(1 / 80), draw.uniform(1, 300), tpot_ms=draw.uniform(5, 50),
                status="ok" if draw.random() < 0.85 else draw.choice(["error", "timeout"]),
                retrieval_ms=draw.choice([0.0, 37.123]), ttft_ms=draw.uniform(50, 900),
            )
            for n in range(90)
        ]  # fmt: skip
        shift, _ = split(rows[:50], rows[50:], text)
        assert shift.steps != []
        assert sum(step.baseline_nano for step in shift.steps) == shift.baseline_nano
        assert sum(step.value_nano for step in shift.steps) == shift.value_nano
        assert sum(changes_of(shift)) == shift.change_nano


def changes_of(shift: Shift) -> list[int]:
    return [step.change_nano for step in shift.steps]
