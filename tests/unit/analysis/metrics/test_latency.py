"""TTFT, TPOT, E2E and perceived latency of single requests, and when they are unknown."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.metrics.measure import measure
from tests.support.builders import frame, request


def figures(**columns: Any) -> dict[str, Any]:
    row = measure(frame([request(**columns)])).row(0, named=True)
    return {name: row[name] for name in ("ttft", "ttfa", "tpot", "itl_max", "e2e", "perceived")}


def test_a_streamed_request_has_all_latencies() -> None:
    assert figures(ttft_ms=420, tpot_ms=40, output_tokens=81, itl_max_ms=90, ttfa_ms=500) == {
        "ttft": 0.42,
        "ttfa": 0.5,
        "tpot": 0.04,
        "itl_max": 0.09,
        "e2e": 3.62,
        "perceived": 0.42,
    }


def test_an_unstreamed_request_is_perceived_at_its_end() -> None:
    assert figures(e2e_ms=7900, streaming=False)["perceived"] == 7.9
    assert figures(e2e_ms=7900, ttft_ms=300, streaming=False)["ttft"] == 0.3  # measured by the server, and kept
    assert figures(e2e_ms=7900, ttft_ms=300, streaming=None)["perceived"] is None


@pytest.mark.parametrize(("tokens", "calls"), [(0, 1), (1, 1), (3, 3), (None, 1)])
def test_tpot_is_unknown_without_a_token_after_the_first_of_each_call(tokens: int | None, calls: int) -> None:
    found = figures(ttft_ms=100, generation_ms=50, output_tokens=tokens, llm_calls=calls)
    assert found["tpot"] is None


def test_tpot_of_several_calls_leaves_out_the_first_token_of_each() -> None:
    assert figures(ttft_ms=100, generation_ms=400, output_tokens=12, llm_calls=2)["tpot"] == 0.04


def test_nothing_is_substituted_for_a_missing_first_token() -> None:
    found = figures(e2e_ms=5000)
    assert (found["ttft"], found["tpot"], found["perceived"], found["e2e"]) == (None, None, None, 5.0)


def test_a_measured_zero_is_no_unknown() -> None:
    assert figures(ttft_ms=0, e2e_ms=0)["ttft"] == 0.0
