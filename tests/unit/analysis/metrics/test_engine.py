"""Figures that the source states, and retries."""

from __future__ import annotations

from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def test_retries_are_attempts_after_the_first() -> None:
    rows = [request(attempts=n) for n in (1, 3, None, 0)]
    assert measure(frame(rows)).get_column("retries").to_list() == [0.0, 2.0, None, 0.0]


def test_figures_of_the_engine_are_as_the_source_states_them() -> None:
    row = measure(frame([request(batch_size=12.5, queue_depth=3.0, kv_cache_usage=0.9, preemptions=0.0)])).row(
        0, named=True
    )
    assert [row[name] for name in ("batch_size", "queue_depth", "kv_cache_usage", "preemptions")] == [
        12.5,
        3.0,
        0.9,
        0.0,
    ]


def test_calls_and_steps_of_an_agent_are_figures_beside_the_dimension() -> None:
    row = measure(frame([request(llm_calls=4, tool_calls=3)])).row(0, named=True)
    assert (row["llm_calls"], row["model_calls"], row["tool_steps"]) == (4, 4.0, 3.0)
