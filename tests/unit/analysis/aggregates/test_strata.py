"""The length grid."""

from __future__ import annotations

from analysis.aggregates.strata import strata
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import Stratum
from tests.support.builders import frame, request

READ = read_objectives(
    "objectives:\n"
    "  - {id: e, metric: error_rate, threshold: 1%}\n"
    "  - {id: g, all_of: [{metric: ttft, threshold: 2s}, {metric: e2e, threshold: 9s}], target: 95%}\n"
)


def test_cells_carry_percentiles_attainment_traffic_and_cost() -> None:
    rows = [
        request(1, ttft_ms=1000, tpot_ms=10, cost_pico=1),
        request(2, ttft_ms=3000, tpot_ms=10, cost_pico=2),
        request(3, input_tokens=100, status="error", cost_pico=1),
        request(4, ttft_ms=5000, tpot_ms=10, input_tokens=40_000, cost_pico=4),
        request(5, ttft_ms=7000, e2e_ms=8000, input_tokens=None, output_tokens=None, cost_pico=None),
    ]
    grid = [cell for cell in strata(measure(frame(rows)), READ, None) if cell.metric == "ttft"]
    assert grid == [
        Stratum("ttft", "<512", "<64", 2, 1.0, 3.0, 3.0, 1 / 3, 0.6, 0.5),
        Stratum("ttft", ">=32k", "<64", 1, 5.0, 5.0, 5.0, 0.0, 0.2, 0.5),
        Stratum("ttft", "unknown", "unknown", 1, 7.0, 7.0, 7.0, 0.0, 0.2, None),
    ]


def test_a_metric_without_an_objective_has_no_attainment() -> None:
    cells = strata(measure(frame([request(1, ttft_ms=1, tpot_ms=10)])), READ, None)
    assert {cell.metric: cell.attainment for cell in cells} == {
        "ttft": 1.0,
        "tpot": None,
        "e2e": 1.0,
        "perceived": None,
    }


def test_cells_are_ordered_by_length_and_not_by_name() -> None:
    rows = [
        request(i, e2e_ms=1, input_tokens=n, output_tokens=m)
        for i, (n, m) in enumerate([(40_000, 1), (600, 5000), (600, 1), (9000, 1), (1, 1)])
    ]
    cells = [(c.input_bucket, c.output_bucket) for c in strata(measure(frame(rows)), READ, None) if c.metric == "e2e"]
    assert cells == [("<512", "<64"), ("512-2k", "<64"), ("512-2k", ">=4k"), ("8k-32k", "<64"), (">=32k", "<64")]


def test_answers_from_a_response_cache_are_a_stratum_of_their_own() -> None:
    rows = [request(1, ttft_ms=5, e2e_ms=5, response_cached=True, output_tokens=0), request(2, ttft_ms=900, tpot_ms=10)]
    cells = [(c.input_bucket, c.n, c.p50) for c in strata(measure(frame(rows)), READ, None) if c.metric == "ttft"]
    assert cells == [("<512", 1, 0.9), ("response cache", 1, 0.005)]
