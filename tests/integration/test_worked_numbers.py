"""The worked numbers of the metric definitions, over the generator's 100,000 requests."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from analysis.aggregates.attainment import judge, with_good
from analysis.aggregates.compatible import compatible_figures
from analysis.aggregates.cost import costs
from analysis.aggregates.distribution import distribution
from analysis.aggregates.stages import stage_shares
from analysis.aggregates.statistics import quantile
from analysis.aggregates.verdicts import verdict_column
from analysis.aggregates.windows import Span
from analysis.causes.goal import goal_of
from analysis.causes.rows import prepare
from analysis.causes.settings import CauseSettings
from analysis.causes.stage import normals, rescue
from analysis.ledger import keep_ledger
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.objectives import Objectives, read_objectives
from analysis.prices import read_prices
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.schema import CALLS, NS_PER_S, REQUESTS, polars_schema
from ingest.selection import Selection
from ingest.store.database import Store
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


def percentile_ms(values: pl.Series, p: float) -> int:
    """A percentile in whole milliseconds."""
    return round((quantile(values, p) or 0) * 1000)


def test_section_0_first_tokens_of_unstreamed_answers_are_no_e2e(frame: pl.DataFrame) -> None:
    """What OpenLIT does: TTFT of an unstreamed call is its E2E."""
    theirs = ok(frame).select(pl.when(pl.col("streaming")).then("ttft").otherwise("e2e").alias("v")).to_series()
    assert [percentile_ms(theirs, p) for p in (0.95, 0.99)] == [10_540, 22_922]
    mean = theirs.mean()
    assert isinstance(mean, float)
    assert round(mean * 1000) == 2026


def test_section_0_time_per_token_of_other_tools(frame: pl.DataFrame) -> None:
    """guidellm: time to the last token over all tokens; inference-perf: E2E over tokens."""
    answers = ok(frame).filter(pl.col("output_tokens") > 0)
    last = ((pl.col("ttft_ns") + pl.col("decode_ns")) / 1e6 / pl.col("output_tokens")).alias("v")
    assert round(quantile(answers.select(last).to_series(), 0.99) or 0, 1) == 58.4
    theirs = {figure.figure: figure for figure in compatible_figures(frame, ())}
    whole = ok(frame).select((pl.col("e2e") / pl.col("output_tokens")).alias("v")).to_series()
    assert round((quantile(whole.filter(whole.is_finite()), 0.99) or 0) * 1000, 1) == 58.4
    normalized = theirs["p99_normalized_time_per_output_token_ms"]
    assert (normalized.tool, round(normalized.value or 0, 1)) == ("inference-perf", 58.4)


def test_section_0_attainment_without_the_queue_flatters(frame: pl.DataFrame) -> None:
    """TTFT from scheduled on, over the successful."""
    without = frame.with_columns(pl.col("prefill").alias("ttft"))
    found = judge(without, objectives(JOINT))[0]
    assert round(found.good / ok(frame).height * 100, 1) == 78.8


def test_section_0_the_seed_formula_counts_the_queue_twice(frame: pl.DataFrame) -> None:
    """queue + TTFT + TPOT (n - 1) over E2E, of answers of two tokens and more."""
    rows = ok(frame).filter(pl.col("tpot").is_not_null())
    told = pl.col("queue") + pl.col("ttft") + pl.col("tpot") * (pl.col("output_tokens") - 1)
    over = rows.select((told / pl.col("e2e") - 1).alias("v")).to_series()
    ours = [round((quantile(over, p) or 0) * 100, digits) for p, digits in ((0.5, 2), (0.95, 1), (0.99, 1))]
    assert ours == [0.15, 4.7, 13.2]
    consistent = pl.col("queue") + pl.col("prefill") + pl.col("tpot") * (pl.col("output_tokens") - 1)
    rest = pl.col("gateway") + pl.col("retrieval") + pl.col("postprocess")
    gap = rows.select(((consistent + rest) - pl.col("e2e")).abs().max()).item()
    assert gap < 1e-6  # seconds: the formula of section 1


PRICES = """
prices:
  - {provider: vllm, model: llama-3.3-70b-instruct, from: 2026-01-01, usd_per_million_tokens: {input: 0.60, cached_input: 0.30, output: 0.80}}
  - {provider: vllm, model: qwen3-32b, from: 2026-01-01, usd_per_million_tokens: {input: 0.30, cached_input: 0.15, output: 0.45}}
  - {provider: vllm, model: mistral-small-24b, from: 2026-01-01, usd_per_million_tokens: {input: 0.20, cached_input: 0.10, output: 0.30}}
  - {provider: sglang, model: deepseek-v3.1, from: 2026-01-01, usd_per_million_tokens: {input: 0.90, cached_input: 0.45, output: 1.60}}
  - {provider: tensorrt-llm, model: gpt-oss-120b, from: 2026-01-01, usd_per_million_tokens: {input: 0.25, cached_input: 0.12, output: 0.70}}
"""


def test_section_0_money_is_summed_before_it_is_rounded(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(PRICES)
    calls = pl.DataFrame(schema=polars_schema(CALLS))
    bare = frame.select(column.name for column in REQUESTS)
    ledger = keep_ledger(bare, calls, read_prices(path))
    told = costs(measure(ledger.requests), None, ledger=ledger, fleet=None, selection=Selection(), most_rows=10)
    assert told.total_usd is not None
    assert round(Decimal(told.total_usd), 3) == Decimal("174.635")
    each = ledger.requests.get_column("cost_pico").to_list()
    by_cents, by_hundredths = (
        sum(round(pico / 1e12, digits) for pico in each if pico is not None) for digits in (2, 4)
    )
    assert (round(by_cents, 2), round(by_hundredths, 3)) == (83.20, 174.628)


def test_section_11_failures_and_slow_first_tokens(frame: pl.DataFrame) -> None:
    found = judge(frame, objectives(JOINT))[0]
    rows = frame.with_columns(verdict_column(frame, objectives(JOINT).items[0], objectives(JOINT).settings))
    bad = rows.filter(pl.col("verdict") == "bad")
    failed = bad.filter(pl.col("status_class") != "ok").height
    slow = bad.filter(
        (pl.col("status_class") == "ok") & (pl.col("ttft") > 0.5) & ~(pl.col("tpot") > 0.04).fill_null(value=False)
    )
    assert (found.good + found.bad, failed, slow.height) == (98_972, 1825, 16_454)


def test_section_11_what_a_shorter_prefill_would_do(frame: pl.DataFrame) -> None:
    long = pl.col("scenario").is_in(["rag", "agent", "summarize"])
    shorter = frame.with_columns(
        pl.when(long).then(pl.col("ttft") - 0.6 * pl.col("prefill")).otherwise("ttft").alias("ttft")
    )
    assert round((judge(shorter, objectives(JOINT))[0].attainment or 0) * 100, 1) == 82.4


def test_section_11_which_stage_rescues_a_slow_first_token(frame: pl.DataFrame) -> None:
    """Alone, all together, and not at all; normal is the median of the answered requests of a model and input length."""
    rows = prepare(frame)
    of_lengths = normals(rows.frame.filter("ok"), rows)[1:2]
    assert of_lengths[0][0] == ("model", "input_bucket")
    judged = replace(judge(frame, objectives(JOINT))[0], clauses=[])
    goal = replace(goal_of(judged, rows.start_ns, 604_800.0), metric="ttft", threshold=0.5)
    slow = rows.frame.filter(
        pl.col("ok") & (pl.col("m_ttft") > 0.5) & ~(pl.col("m_tpot") > 0.04).fill_null(value=False)
    ).with_columns(pl.col("m_ttft").alias("value"))
    every_one = CauseSettings(max_rescued=slow.height)

    def rescued(*stages: str) -> int:
        found = rescue(slow, replace(goal, parts=stages), of_lengths, every_one)
        assert found is not None
        assert found.n == slow.height == 16_454
        assert sum(share for _, share in found.shares) + found.structural == pytest.approx(1)
        return round((1 - found.structural) * found.n)

    assert (rescued("prefill"), rescued("queue"), rescued("retrieval")) == (5100, 3211, 824)
    together = rescued("prefill", "queue", "retrieval")
    assert (together, 16_454 - together) == (8526, 7928)


def test_section_0_tokens_of_a_trace_are_no_sum_over_its_spans(tmp_path: Path) -> None:
    tool, sides = shared("tools/gen_traces.py"), {}
    for form, name in (("otlp-json", "spans.jsonl"), ("parquet", "requests")):
        command = [sys.executable, str(tool), "--format", form, "--requests", "3000", "--out", str(tmp_path / name)]
        subprocess.run(command, check=True, capture_output=True, timeout=200)
        sides[form] = tmp_path / name
    truth = int(generated_rows(sides["parquet"]).get_column("input_tokens").sum())
    names = re.compile(r'"key":\s*"gen_ai\.usage\.(?:input|prompt)_tokens",\s*"value":\s*\{"intValue":\s*"?(\d+)')
    spans = sum(int(n) for n in names.findall(sides["otlp-json"].read_text()))
    assert round(spans / truth, 1) == 3.0
    with Store.open() as store:
        load_paths([sides["otlp-json"]], store, LoadOptions())
        assert int(store.requests(Selection()).get_column("input_tokens").sum()) == truth
