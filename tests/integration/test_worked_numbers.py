"""The worked numbers of the metric definitions, over the generator's 100,000 requests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from analysis.aggregates.attainment import judge, with_good
from analysis.aggregates.distribution import distribution
from analysis.aggregates.stages import stage_shares
from analysis.aggregates.statistics import quantile
from analysis.aggregates.windows import Span
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.objectives import Objectives, read_objectives
from ingest.schema import NS_PER_S
from tests.support.flat import generated_rows
from tests.support.shared import shared

WEEK = Span(1_788_220_800 * NS_PER_S, (1_788_220_800 + 604_800) * NS_PER_S)


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    out = tmp_path_factory.mktemp("generated") / "requests"
    tool = shared("tools/gen_traces.py")
    command = [sys.executable, str(tool), "--format", "parquet", "--requests", "100000", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    return measure(generated_rows(Path(out)))


def objectives(text: str) -> Objectives:
    return read_objectives(f"on_client_cancel: excluded\nobjectives:\n{text}")


JOINT = "  - {id: x, all_of: [{metric: ttft, threshold: 500ms}, {metric: tpot, threshold: 40ms}], target: 90%}\n"


def ok(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("status_class") == "ok")


def test_percentiles_of_section_0(frame: pl.DataFrame) -> None:
    ttft, tpot, e2e = (distribution(frame, BY_ID[name]) for name in ("ttft", "tpot", "e2e"))
    assert (ttft.n, e2e.n) == (97_147, 97_147)
    assert [round((value or 0) * 1000) for value in (ttft.mean, ttft.p95, ttft.p99)] == [362, 1203, 2749]
    assert round((tpot.p99 or 0) * 1000, 1) == 51.7
    assert round(e2e.p99 or 0, 1) == 42.3


def test_ttft_holds_the_queue(frame: pl.DataFrame) -> None:
    scheduled = ok(frame).select((pl.col("queue") + pl.col("prefill")).alias("engine"), pl.col("prefill"))
    engine, prefill = (quantile(scheduled.get_column(name), 0.99) for name in ("engine", "prefill"))
    assert [round((value or 0) * 1000) for value in (engine, prefill)] == [2710, 2311]


def test_attainment_over_valid_requests_counts_failures(frame: pl.DataFrame) -> None:
    found = judge(frame, objectives(JOINT))[0]
    assert (found.good + found.bad, found.excluded) == (98_972, 1028)
    assert round((found.attainment or 0) * 100, 1) == 72.5
    assert round(found.good / ok(frame).height * 100, 1) == 73.9
    assert found.unknown == 0


def test_a_fixed_limit_is_unfair_across_lengths(frame: pl.DataFrame) -> None:
    text = "  - {id: x, metric: ttft, threshold: 500ms, statistic: p95, per: input_bucket}\n"
    within = {window.of: window.attainment or 0 for window in judge(frame, objectives(text))[0].windows}
    assert (round(within["<512"] * 100, 1), round(within[">=32k"] * 100, 1)) == (98.4, 5.2)


def test_token_goodput_counts_output_alone(frame: pl.DataFrame) -> None:
    good = with_good(frame, objectives(JOINT), None).filter(pl.col("is_good"))
    seconds = WEEK.seconds or 0
    output, prompts = (int(good.get_column(name).sum()) for name in ("output_tokens", "input_tokens"))
    assert (round(output / seconds, 1), round((output + prompts) / seconds)) == (40.9, 311)


def test_stage_shares_are_time_weighted(frame: pl.DataFrame) -> None:
    shares = {share.stage: share.share or 0 for share in stage_shares(ok(frame))}
    assert (round(shares["queue"] * 100, 2), round(shares["prefill"] * 100, 1)) == (0.87, 3.0)
    answers = ok(frame)
    per_request = [float((answers[stage] / answers["e2e"]).to_numpy().mean()) for stage in ("queue", "prefill")]
    assert [round(share * 100, 1) for share in per_request] == [1.1, 4.3]


def test_percentiles_of_stages_do_not_add(frame: pl.DataFrame) -> None:
    stages = ("gateway", "retrieval", "queue", "prefill", "decode", "postprocess")
    total = sum(quantile(ok(frame).get_column(stage), 0.99) or 0 for stage in stages)
    assert round(total, 1) == 44.9


def test_a_percentile_of_the_week_is_no_mean_of_hours(frame: pl.DataFrame) -> None:
    rows = ok(frame).with_columns((pl.col("started_ns") // (3600 * NS_PER_S)).alias("h"))
    hours = [quantile(part.get_column("ttft"), 0.99) or 0 for part in rows.partition_by("h")]
    assert [round(sum(hours) / len(hours) * 1000), round(max(hours) * 1000)] == [2860, 5795]
