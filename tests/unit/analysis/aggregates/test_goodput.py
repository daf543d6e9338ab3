"""Goodput in requests, tokens and as a ratio, and where the rest is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.aggregates.attainment import good_objectives, with_good
from analysis.aggregates.goodput import goodput
from analysis.aggregates.windows import Span
from analysis.fleet import Device, Fleet, FleetModel
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import Goodput, TimePoint, Waterfall, WaterfallStep
from ingest.schema import NS_PER_S
from tests.support.builders import MONDAY_NS, frame, replica_hours, request

READ = read_objectives(
    "objectives: [{id: g, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 100ms}], target: 95%}]"
)
MINUTE = Span(MONDAY_NS, MONDAY_NS + 100 * NS_PER_S)


def good_of(rows: list[dict[str, Any]], span: Span = MINUTE) -> Goodput:
    measured = with_good(measure(frame(rows)), READ, None)
    return goodput(measured, good_objectives(READ), span)


def rows() -> list[dict[str, Any]]:
    good = [request(i, at_s=i, ttft_ms=100, tpot_ms=10, output_tokens=50, cost_pico=10**9) for i in range(6)]
    return [
        *good,
        request(10, at_s=50, ttft_ms=3000, tpot_ms=10, cost_pico=10**9),
        request(11, at_s=51, ttft_ms=100, tpot_ms=200, cost_pico=10**9),
        request(12, at_s=52, ttft_ms=3000, tpot_ms=200, cost_pico=10**9),
        request(13, at_s=53, status="error", cost_pico=10**9),
        request(14, at_s=54, status="rejected", cost_pico=None),
        request(15, at_s=55, e2e_ms=5, cost_pico=10**9),
    ]


def test_goodput_is_over_wall_clock_and_the_ratio_over_what_was_judged() -> None:
    found = good_of(rows())
    assert (found.good, found.valid, found.ratio) == (6, 11, 0.6)
    assert (found.requests_per_second, found.output_tokens_per_second) == (0.06, 3.0)
    assert (found.good_output_tokens, found.objective) == (300, "g")
    assert found.cost_per_good_request_usd == "0.001833333333"  # 11 priced requests of 0.001 USD over 6 good ones
    assert found.output_tokens_per_usd == pytest.approx(300 / 0.011)


def test_the_waterfall_says_where_requests_are_lost() -> None:
    assert good_of(rows()).waterfall == [
        WaterfallStep("offered", 12, 0, 12.0, 0.0),
        WaterfallStep("valid", 11, 1, 11.0, 1.0),
        WaterfallStep("ok", 10, 1, 10.0, 1.0),
        WaterfallStep("ttft", 8, 2, 8.0, 2.0),
        WaterfallStep("tpot", 7, 1, 7.0, 1.0),
        WaterfallStep("good", 6, 1, 6.0, 1.0),  # one could not be said
    ]


CHAT = "{id: chat, where: {scenario: chat}, all_of: [{metric: ttft, threshold: 2s}], target: 95%}"
RAG = "{id: rag, where: {scenario: rag}, all_of: [{metric: e2e, threshold: 9s}], target: 95%}"


def of_two_scenarios(*objectives: str) -> Goodput:
    chats = [request(i, at_s=i, scenario="chat", ttft_ms=3000 if i < 2 else 100, e2e_ms=4000) for i in range(10)]
    rags = [request(20 + i, at_s=i, scenario="rag", ttft_ms=3000, e2e_ms=8000 if i else 10_000) for i in range(5)]
    batch = [request(40 + i, at_s=i, scenario="batch", status="error") for i in range(3)]
    read = read_objectives(f"objectives: [{', '.join(objectives)}]")
    measured = with_good(measure(frame([*chats, *rags, *batch])), read, None)
    return goodput(measured, good_objectives(read), MINUTE)


def test_requests_that_the_objective_is_not_about_are_neither_offered_nor_lost() -> None:
    found = of_two_scenarios(CHAT)
    assert found.waterfall == [
        WaterfallStep("offered", 10, 0, 10.0, 0.0),
        WaterfallStep("valid", 10, 0, 10.0, 0.0),
        WaterfallStep("ok", 10, 0, 10.0, 0.0),
        WaterfallStep("ttft", 8, 2, 8.0, 2.0),
        WaterfallStep("good", 8, 0, 8.0, 0.0),
    ]
    assert [(point.offered, point.good, point.n) for point in found.series] == [(10 / 60, 8 / 60, 10)]
    assert (found.good, found.valid, found.waterfalls) == (8, 10, [])


def test_several_joint_objectives_have_a_waterfall_each() -> None:
    found = of_two_scenarios(CHAT, RAG)
    assert found.objective == "chat, rag"
    assert (found.waterfall[0].left, found.waterfall[-1].left) == (15, 12)
    assert found.waterfalls == [
        Waterfall(
            "chat",
            8,
            10,
            [
                WaterfallStep("offered", 10, 0, 10.0, 0.0),
                WaterfallStep("valid", 10, 0, 10.0, 0.0),
                WaterfallStep("ok", 10, 0, 10.0, 0.0),
                WaterfallStep("ttft", 8, 2, 8.0, 2.0),
                WaterfallStep("good", 8, 0, 8.0, 0.0),
            ],
        ),
        Waterfall(
            "rag",
            4,
            5,
            [
                WaterfallStep("offered", 5, 0, 5.0, 0.0),
                WaterfallStep("valid", 5, 0, 5.0, 0.0),
                WaterfallStep("ok", 5, 0, 5.0, 0.0),
                WaterfallStep("e2e", 4, 1, 4.0, 1.0),
                WaterfallStep("good", 4, 0, 4.0, 0.0),
            ],
        ),
    ]


def test_a_sample_stands_for_more_goodput_and_the_same_ratio() -> None:
    thinned = good_of([row | {"sampling_rate": 0.1} for row in rows()])
    assert (thinned.requests_per_second, thinned.ratio, thinned.good) == (0.6, 0.6, 6)


def test_goodput_is_told_per_hour_of_a_replica() -> None:
    measured = with_good(measure(frame(rows())), READ, None)
    hours = replica_hours([{"replica": "a", "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 1800.0}])
    assert goodput(measured, good_objectives(READ), MINUTE, hours).good_requests_per_replica_hour == 12.0
    assert goodput(measured, good_objectives(READ), MINUTE).good_requests_per_replica_hour is None


@pytest.mark.parametrize(("models", "rate"), [(("m", "n"), 2.0), (("m",), None)])
def test_goodput_is_told_per_hour_of_a_device_where_the_fleet_knows_all(
    models: tuple[str, ...], rate: float | None
) -> None:
    card = Device("card", 1e15, 8e10, 3e12, None)
    one = FleetModel("m", 7e9, 7e9, 32, 8, 128, 1.4e10, 2.0, card, 1)
    fleet = Fleet(
        models=tuple(replace(one, model=name, devices_per_replica=1 if name == "m" else 4) for name in models)
    )
    hours = replica_hours(
        [
            {"replica": name, "model": name, "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 3600.0}
            for name in ("m", "n", "idle")
        ]
    )
    told = [request(i, ttft_ms=100, tpot_ms=10, model="m" if i < 4 else "n") for i in range(10)]
    measured = with_good(measure(frame(told)), READ, None)
    found = goodput(measured, good_objectives(READ), MINUTE, hours, fleet)
    assert (found.good_requests_per_replica_hour, found.good_requests_per_device_hour) == (5.0, rate)


def test_models_and_regions_without_good_requests_are_no_part_of_replica_hours() -> None:
    """Hours of a model that the objective is not about, and requests that a provider answered, are left out."""
    hours = replica_hours(
        [
            {"replica": "a", "model": "m", "region": "eu", "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 3600.0},
            {"replica": "b", "model": "m", "region": "us", "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 3600.0},
            {"replica": "c", "model": "idle", "region": "eu", "hour_ns": MONDAY_NS, "upload_id": "u", "up_s": 3600.0},
        ]
    )
    told = [request(i, ttft_ms=100, tpot_ms=10, model="m" if i < 4 else "hosted", region="eu") for i in range(10)]
    for where, rate in (("", 2.0), (", where: {region: eu}", 4.0)):
        read = read_objectives(f"objectives: [{{id: x, metric: ttft, threshold: 1s, target: 90%{where}}}]")
        measured = with_good(measure(frame(told)), read, None)
        assert goodput(measured, good_objectives(read), MINUTE, hours).good_requests_per_replica_hour == rate


def test_the_series_tells_offered_and_good_per_second() -> None:
    points = good_of(rows()).series
    assert points == [TimePoint("2026-03-02T00:00:00Z", 12 / 60, 6 / 60, 12)]
    assert good_of(rows(), Span(None, None)).series == []


def test_without_objectives_success_is_good() -> None:
    measured = with_good(measure(frame(rows())), read_objectives(""), None)
    found = goodput(measured, (), MINUTE)
    assert (found.good, found.valid, found.objective) == (10, 11, None)
    assert found.note == "No objective judges single requests: good means that a request did not fail."


def test_no_requests_are_no_figures() -> None:
    found = good_of([])
    assert (found.ratio, found.interval, found.cost_per_good_request_usd, found.good) == (None, None, None, 0)


def test_cost_per_good_is_of_the_traffic_that_the_objective_is_about() -> None:
    usd = 10**12
    chats = [request(i, at_s=i, scenario="chat", ttft_ms=100, output_tokens=50, cost_pico=usd) for i in range(4)]
    late = [request(10, at_s=10, scenario="chat", ttft_ms=3000, cost_pico=2 * usd)]
    gone = [request(11, at_s=11, scenario="chat", status="cancelled", cost_pico=2 * usd)]  # excluded, and paid for
    batch = [request(20 + i, at_s=i, scenario="batch", ttft_ms=100, cost_pico=100 * usd) for i in range(3)]
    read = read_objectives(f"objectives: [{CHAT}]")
    measured = with_good(measure(frame([*chats, *late, *gone, *batch])), read, None)
    found = goodput(measured, good_objectives(read), MINUTE)
    assert (found.good, found.cost_per_good_request_usd) == (4, "2")  # (4 x 1 + 2 + 2) USD over 4, not 308 over 4
    assert found.output_tokens_per_usd == pytest.approx(200 / 8)
    none = goodput(measured.filter(scenario="batch"), good_objectives(read), MINUTE)
    assert (none.cost_per_good_request_usd, none.output_tokens_per_usd) == (None, None)
