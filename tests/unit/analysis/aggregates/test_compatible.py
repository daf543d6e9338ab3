"""Definitions of other tools on hand-made requests."""

from __future__ import annotations

import pytest

from analysis.aggregates.compatible import compatible_figures
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from tests.support.builders import frame, request

ROWS = [
    request(1, at_s=0, ttft_ms=100, tpot_ms=10, output_tokens=11),
    request(2, at_s=1, ttft_ms=300, output_tokens=1, e2e_ms=300),
    request(3, at_s=8, ttft_ms=100, tpot_ms=40, output_tokens=51, input_tokens=1000),
    request(4, at_s=9, status="error"),
]


def figures(objectives: str = "") -> dict[tuple[str, str], float | None]:
    read = read_objectives(objectives)
    found = compatible_figures(measure(frame(ROWS)), read.items)
    return {(figure.tool, figure.figure): figure.value for figure in found}


def test_a_token_alone_has_a_tpot_of_zero_in_vllm_bench_and_none_here() -> None:
    found = figures()
    assert found["vLLM bench serve", "mean_tpot_ms"] == pytest.approx(50 / 3)
    assert found["AIPerf", "mean_inter_token_latency_ms"] == pytest.approx(25.0)
    assert found["vLLM bench serve", "p50_tpot_ms"] == pytest.approx(10.0)
    assert found["AIPerf", "p50_inter_token_latency_ms"] == pytest.approx(25.0)


def test_guidellm_counts_tokens_and_the_first_one() -> None:
    found = figures()
    # 200 ms over 11 tokens, 2,100 ms over 51; the answer of one token has no time to a last one
    assert found["GuideLLM", "mean_time_per_output_token_ms"] == pytest.approx(2300 / 62)
    assert found["GuideLLM", "p50_time_per_output_token_ms"] == pytest.approx(2100 / 51)
    assert found["GuideLLM", "mean_inter_token_latency_ms"] == pytest.approx(2100 / 60)


def test_normalized_time_holds_everything() -> None:
    assert figures()["inference-perf", "p50_normalized_time_per_output_token_ms"] == pytest.approx(2100 / 51)


def test_goodput_of_other_tools_leaves_failures_out() -> None:
    joint = "objectives: [{id: g, all_of: [{metric: ttft, threshold: 200ms}, {metric: tpot, threshold: 20ms}], target: 90%}]"
    found = figures(joint)
    assert found["inference-perf", "good_requests"] == pytest.approx(1 / 3)
    assert found["inference-perf", "token_goodput"] == pytest.approx(111 / 10.1)
    assert found["vLLM bench serve", "request_goodput"] == pytest.approx(1 / 10.1)
    assert ("vLLM bench serve", "request_goodput") not in figures()


def test_what_cannot_be_told_is_left_out() -> None:
    assert compatible_figures(measure(frame([request(1, status="error")])), ()) == []


def test_a_duration_that_the_file_states_is_divided_by_where_the_tool_does() -> None:
    joint = "objectives: [{id: g, all_of: [{metric: ttft, threshold: 200ms}, {metric: tpot, threshold: 20ms}], target: 90%}]"
    found = compatible_figures(measure(frame(ROWS)), read_objectives(joint).items, 20.0)
    told = {(one.tool, one.figure): (one.value, one.says) for one in found if one.unit in ("per_s", "tokens/s")}
    stated = "over the duration that the file states"
    assert told["vLLM bench serve", "request_throughput"] == (3 / 20, stated)
    assert told["vLLM bench serve", "output_throughput"] == (63 / 20, stated)
    assert told["vLLM bench serve", "total_token_throughput"] == (1263 / 20, f"input and output tokens, {stated}")
    assert told["vLLM bench serve", "request_goodput"] == (1 / 20, f"of the successful requests, {stated}")
    assert told["inference-perf", "token_goodput"] == (111 / 20, f"input and output tokens, {stated}")
    assert told["GuideLLM", "mean_requests_per_second"] == (3 / 20, stated)
    assert told["AIPerf", "request_throughput"] == (3 / 10.1, "over first start to last end")
    assert told["AIPerf", "output_token_throughput"] == (63 / 10.1, "over first start to last end")


def test_rates_of_tokens_are_guidellms_from_the_first_token_on() -> None:
    found = figures()
    # first tokens at 0.1 s, 1.3 s and 8.1 s; the last token at 10.1 s
    assert found["GuideLLM", "mean_prompt_tokens_per_second"] == pytest.approx(1200 / 8)
    assert found["GuideLLM", "mean_output_tokens_per_second"] == pytest.approx(63 / 10)
    assert found["GuideLLM", "mean_tokens_per_second"] == pytest.approx(1263 / 10)
