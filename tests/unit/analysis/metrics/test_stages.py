"""Stage figures and overhead of single requests."""

from __future__ import annotations

from typing import Any

from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def row(**columns: Any) -> dict[str, Any]:
    return measure(frame([request(**columns)])).row(0, named=True)


def test_overhead_is_all_but_queue_prefill_decode_and_tools() -> None:
    found = row(e2e_ms=1000, queue_ms=100, prefill_ms=200, decode_ms=300, tool_ms=50, retrieval_ms=150, network_ms=120)
    assert found["overhead"] == 0.35
    assert (found["queue"], found["retrieval"], found["rerank"]) == (0.1, 0.15, None)


def test_overhead_leaves_out_a_call_of_unknown_inside_and_is_unknown_without_any_call() -> None:
    assert row(e2e_ms=1000, model_ms=800)["overhead"] == 0.2
    assert row(e2e_ms=1000, before_first_token_ms=300, after_first_token_ms=500)["overhead"] == 0.2
    assert row(e2e_ms=1000, retrieval_ms=800)["overhead"] is None
    assert row(e2e_ms=1000, decode_ms=700, unattributed_ms=300)["overhead"] is None
    assert row(model_ms=800)["overhead"] is None


def test_the_stage_model_does_not_hide_the_dimension_model() -> None:
    found = row(e2e_ms=1000, model_ms=800, model="lm-large", cold_start=True, cold_start_ms=70)
    assert (found["model"], found["model_time"]) == ("lm-large", 0.8)
    assert (found["cold_start"], found["cold_start_time"]) == (True, 0.07)
