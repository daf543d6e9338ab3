"""Real timings in OTLP spans: counts, stage sums and percentiles that the folder's README states."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from analysis.analyze import analyze
from analysis.objectives import default_objectives
from analysis.prices import default_prices
from analysis.result import AnalysisResult
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.shared import shared


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def result(store: Store, file: str, where: tuple[tuple[str, str], ...] = ()) -> AnalysisResult:
    load_paths([shared(f"data/otlp-reencoded/{file}")], store, LoadOptions())
    return analyze(
        store, Selection(where=where), objectives=default_objectives(), prices=default_prices(),
        now=datetime(2026, 7, 8, tzinfo=UTC),
    )  # fmt: skip


def test_stages_of_the_providers_sum_to_what_was_measured(store: Store) -> None:
    found = result(store, "provider_stages.jsonl")
    summary = found.summary
    assert (summary.requests, summary.input_tokens, summary.output_tokens) == (89, 70_945, 12_836)
    assert found.cache.n_known == 12
    stages = {stage.stage: (stage.seconds, stage.share) for stage in found.stages}
    for stage, seconds, share in (
        ("queue", 33.582649, 0.4335),
        ("prefill", 7.685802, 0.0992),
        ("decode", 36.102824, 0.4660),
        ("unattributed", 0.097679, 0.0013),
    ):
        assert stages[stage][0] == pytest.approx(seconds, abs=4e-6)  # one span is 3 us shorter than its stages
        assert stages[stage][1] == pytest.approx(share, abs=5e-5)
    lines = {line.metric: line for line in found.latency if line.streaming == "all"}
    for metric, p50, p95, p99 in (
        ("queue", 0.140973, 1.426007, 5.611127),
        ("prefill", 0.017775, 0.491441, 1.556115),
        ("decode", 0.140476, 1.967841, 5.781818),
        ("ttft", 0.184999, 2.171246, 5.679289),
        ("e2e", 0.45228, 4.359485, 5.896961),
        ("tpot", 0.002239, 0.006468, 0.016731),
    ):
        line = lines[metric]
        assert line.n == 89
        assert (line.p50, line.p95, line.p99) == pytest.approx((p50, p95, p99), abs=1e-6)


def test_the_load_test_keeps_its_limits_as_often_as_stated(store: Store) -> None:
    found = result(store, "multiround_qa_client.jsonl.gz")
    assert (found.summary.requests, found.summary.users) == (2558, 365)
    good = {objective.id: objective.good for objective in found.objectives}
    assert (good["default.ttft"], good["default.tpot"], good["default.good"]) == (2078, 2431, 2049)
    lines = {line.metric: line for line in found.latency if line.streaming == "all"}
    assert (lines["ttft"].p50, lines["ttft"].p95, lines["ttft"].p99) == pytest.approx(
        (0.437609, 5.286725, 9.373407), abs=1e-6
    )
    assert (lines["tpot"].p50, lines["tpot"].p95, lines["tpot"].p99) == pytest.approx(
        (0.01319, 0.099783, 0.246868), abs=1e-6
    )


def test_a_filter_on_the_scenario_gives_its_line_of_the_table(store: Store) -> None:
    found = result(store, "multiround_qa_client.jsonl.gz", (("scenario", "qps-3.3"),))
    good = {objective.id: objective.good for objective in found.objectives}
    assert (found.summary.requests, found.summary.input_tokens) == (365, 7_692_628)
    assert (good["default.ttft"], good["default.tpot"], good["default.good"]) == (283, 357, 278)
