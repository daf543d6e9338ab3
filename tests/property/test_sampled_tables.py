"""A table whose rows state how many of their kind were kept, against the same table with every row written out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.analyze import analyze
from analysis.objectives import read_objectives
from analysis.result import AnalysisResult
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.selection import Selection, parse_instant
from ingest.store.database import Store
from tests.support.examples import tried
from tests.support.retention import PRICES

OBJECTIVES = read_objectives("""
objectives:
  - {id: chat.ttft, metric: ttft, threshold: 500ms, target: 90%}
  - {id: chat.p95, metric: e2e, threshold: 2s, statistic: p95}
  - {id: chat.mean, metric: e2e, threshold: 2s, statistic: mean}
  - {id: chat.cost, metric: cost, threshold: 1 USD, statistic: sum}
""")
HOUR = Selection(parse_instant("2026-03-02T10:00:00Z", "UTC"), parse_instant("2026-03-02T11:00:00Z", "UTC"))
NOW = datetime(2026, 3, 9, tzinfo=UTC)

rows = st.lists(
    st.fixed_dictionaries(
        {
            "second": st.integers(0, 3599),
            "ttft_ms": st.sampled_from([100, 400, 500, 501, 900]),
            "after_ms": st.sampled_from([300, 1000, 1500, 4000]),
            "input_tokens": st.integers(1, 5000),
            "output_tokens": st.integers(2, 500),
            "status_code": st.sampled_from([200, 200, 200, 500]),
            "times": st.sampled_from([1, 2, 4, 20]),
        }
    ),
    min_size=1,
    max_size=25,
)


def line(row: dict[str, Any], number: int, copy: int, rate: float | None) -> dict[str, Any]:
    return {
        "request_id": f"r-{number}-{copy}",
        "model": "lm-large",
        "start_time": f"2026-03-02T10:{row['second'] // 60:02}:{row['second'] % 60:02}Z",
        "ttft_ms": row["ttft_ms"],
        "e2e_ms": row["ttft_ms"] + row["after_ms"],
        **{name: row[name] for name in ("input_tokens", "output_tokens", "status_code")},
        "sampling_rate": rate,
    }


def analysis_of(lines: Sequence[dict[str, Any]], whole: float | None) -> AnalysisResult:
    with TemporaryDirectory() as folder, Store.open() as store:
        path = Path(folder) / "requests.jsonl"
        path.write_text("\n".join(json.dumps(one) for one in lines))
        load_paths([path], store, LoadOptions(sampling_rate=whole))
        return analyze(store, HOUR, objectives=OBJECTIVES, prices=PRICES, now=NOW)


@tried(12)
@given(rows, st.sampled_from([None, 0.5]))
def test_a_row_of_rate_r_counts_as_it_would_written_out_so_many_times(
    drawn: list[dict[str, Any]], whole: float | None
) -> None:
    """Rows that state the rate of the whole file leave it out where one is given for the file."""
    stated = [
        line(row, n, 0, None if whole and 1 / row["times"] == whole else 1 / row["times"])
        for n, row in enumerate(drawn)
    ]
    written_out = [line(row, n, copy, None) for n, row in enumerate(drawn) for copy in range(row["times"])]
    sampled, full = analysis_of(stated, whole), analysis_of(written_out, None)
    assert sampled.summary.input_tokens == full.summary.input_tokens
    assert sampled.summary.output_tokens == full.summary.output_tokens
    assert sampled.costs.total_usd == full.costs.total_usd
    assert sampled.throughput.requests_per_second == pytest.approx(full.throughput.requests_per_second)
    assert sampled.availability.availability.rate == pytest.approx(full.availability.availability.rate)
    for ours, theirs in zip(sampled.objectives, full.objectives, strict=True):
        assert ours.id == theirs.id
        assert ours.attainment == pytest.approx(theirs.attainment)
        assert ours.value == pytest.approx(theirs.value)
    for line_of, as_written in zip(sampled.latency, full.latency, strict=True):
        assert (line_of.metric, line_of.p50, line_of.max) == (as_written.metric, as_written.p50, as_written.max)
        assert line_of.mean == pytest.approx(as_written.mean)
