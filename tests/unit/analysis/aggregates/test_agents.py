"""Steps of agents, and quality beside cost."""

from __future__ import annotations

from analysis.aggregates.agents import agent_figures, quality_lines
from analysis.metrics.measure import measure
from analysis.result import AgentFigures, QualityLine
from tests.support.builders import frame, request


def test_overhead_is_told_per_step_and_added_up() -> None:
    rows = [
        request(1, e2e_ms=10_000, model_ms=9000, llm_calls=3, tool_calls=2),
        request(2, e2e_ms=10_000, model_ms=7000, llm_calls=2, tool_calls=None),
        request(3, e2e_ms=10_000, model_ms=1000),  # one step is no agent
        request(4, e2e_ms=10_000, model_ms=1000, llm_calls=9, status="error"),
    ]
    assert agent_figures(measure(frame(rows))) == AgentFigures(
        n=2,
        calls_mean=2.5,
        calls_p95=3.0,
        tool_steps_mean=2.0,
        overhead_per_step_p50=0.2,
        overhead_per_step_p95=0.2,
        overhead_p50=1.0,
        overhead_p95=3.0,
        overhead_share=0.2,
    )


def test_where_tool_steps_are_not_told_the_overhead_of_a_step_is_not_known() -> None:
    found = agent_figures(measure(frame([request(1, e2e_ms=10_000, model_ms=9000, llm_calls=3, tool_calls=None)])))
    assert found is not None
    assert (found.overhead_per_step_p50, found.overhead_per_step_p95, found.overhead_p50) == (None, None, 1.0)


def test_without_agents_there_are_no_figures() -> None:
    assert agent_figures(measure(frame([request(1)]))) is None


def test_quality_stands_beside_cost_and_latency_per_model() -> None:
    rows = [
        request(1, model="b", quality=0.5, e2e_ms=2000, cost_pico=10**9),
        request(2, model="b", quality=1.0, e2e_ms=4000, cost_pico=3 * 10**9),
        request(3, model=None, quality=0.25, ttft_ms=70),
        request(4, model="b", e2e_ms=9000),
    ]
    assert quality_lines(measure(frame(rows))) == [
        QualityLine("b", 2, 0.75, 0.002, 2.0, None),
        QualityLine(None, 1, 0.25, None, None, 0.07),
    ]
