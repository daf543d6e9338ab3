"""Rows of the service simulator: null where a stage did not take place, 0 where it was measured."""

from __future__ import annotations

import polars as pl

from tests.support.loads import counts, load_files
from tests.support.shared import shared

CASE = "incidents/sample/replica_down"
MS = 1_000_000


def requests_of_case() -> pl.DataFrame:
    receipts, requests = load_files(shared(f"{CASE}/requests.jsonl.gz"), shared(f"{CASE}/run.json"))
    assert counts(receipts[0]) == (2023, 2023, 0, 0)
    assert (receipts[0].format, receipts[0].not_understood, receipts[0].notes) == ("simulator", {}, ())
    return requests


def test_a_chat_has_no_retrieval_and_a_measured_queue_of_nothing() -> None:
    row = requests_of_case().row(by_predicate=pl.col("request_id") == "req-e3ff79b277294e4a", named=True)
    told = {
        name: value for name, value in row.items() if name.endswith("_ns") and not name.startswith(("start", "end"))
    }
    assert {name: value for name, value in told.items() if value is not None} == {
        "e2e_ns": 13015_044_000,
        "ttft_ns": 2618_294_000,
        "call_ttft_ns": 2327_233_000,
        "generation_ns": 10356_870_000,
        "itl_max_ns": 125_678_000,
        "gateway_ns": 13_183_000,
        "network_ns": 43_977_000,
        "guardrail_ns": 46_054_000,
        "retrieval_ns": 128_599_000,
        "rerank_ns": 93_098_000,
        "queue_ns": 0,
        "prefill_ns": 2327_233_000,
        "decode_ns": 10356_870_000,
        "postprocess_ns": 6_030_000,
        "unattributed_ns": 0,
    }


def test_stages_that_did_not_take_place_are_null() -> None:
    requests = requests_of_case()
    by_scenario = requests.group_by("scenario").agg(pl.col("retrieval_ns", "tool_ns").count()).sort("scenario").rows()
    assert by_scenario == [("agent", 0, 121), ("chat", 0, 0), ("code", 0, 0), ("rag", 388, 0), ("summarise", 0, 0)]
    assert requests.select(pl.col("queue_ns", "prefill_ns", "decode_ns").null_count()).row(0) == (
        0,
        0,
        59,
    )  # no token, no decode
    assert (requests["queue_ns"] == 0).sum() == 69


def test_stages_sum_to_the_whole() -> None:
    requests = requests_of_case()
    stages = [name for name in requests.columns if name.endswith("_ns") and name.removesuffix("_ns") in STAGES]
    left = requests.select((pl.sum_horizontal(stages) - pl.col("e2e_ns")).abs().max()).item()
    assert left <= 10_000  # the source rounds each stage to the microsecond
    assert requests["flags"].list.len().sum() == 0


STAGES = (
    *("gateway", "network", "guardrail", "retrieval", "rerank", "queue", "prefill", "decode", "tool", "postprocess"),
    "unattributed",
)


def test_outcomes_retries_and_rates() -> None:
    requests = requests_of_case()
    outcomes = requests["status_class"].value_counts().sort("status_class").rows()
    assert outcomes == [("cancelled", 57), ("error", 2), ("ok", 1959), ("timeout", 5)]
    assert requests["attempts"].value_counts().sort("attempts").rows() == [(1, 2022), (2, 1)]
    assert set(requests["sampling_rate"]) == {0.0815}
    assert requests.filter(status_class="cancelled").select("ttft_ns", "generation_ns").null_count().row(0) == (57, 57)


def test_an_unstreamed_answer_keeps_the_first_token_of_the_source() -> None:
    requests = requests_of_case()
    unstreamed = requests.filter(~pl.col("streaming"), status_class="ok")
    assert (unstreamed.height, unstreamed["ttft_ns"].null_count()) == (349, 0)


def test_only_answers_with_more_tokens_than_calls_have_a_generation_time() -> None:
    requests = requests_of_case()
    has_one = pl.col("generation_ns").is_not_null()
    should = (pl.col("status_class") == "ok") & (pl.col("output_tokens") > pl.col("llm_calls"))
    assert requests.filter(has_one != should).height == 0
    assert set(requests.filter(has_one)["generation_basis"]) == {"engine"}


def test_the_spans_of_a_case_give_the_same_figures_as_its_rows() -> None:
    _, spans = load_files(shared(f"{CASE}/traces.otlp.jsonl.gz"), shared(f"{CASE}/run.json"))
    rows = requests_of_case().sort("request_key")
    spans = spans.sort("request_key")
    # the rows do not tell tool calls, the last call of an agent, or times of failed answers after their first token
    apart = {"call_ttft_ns", "generation_ns", "generation_basis", "tool_calls", "n_call_rows", "batch_size"}
    apart |= {"upload_id", "source", "root", "attributes"}
    differing = []
    for name, dtype in rows.schema.items():
        if name in apart:
            continue
        left, right = rows[name], spans[name]
        if dtype.is_numeric():  # the rows are rounded to the microsecond, the spans to the nanosecond
            apart_by = (left.cast(pl.Float64) - right.cast(pl.Float64)).abs().max() or 0.0
            is_same = left.is_null().equals(right.is_null()) and float(str(apart_by)) <= 5_000
        else:
            is_same = left.equals(right)
        if not is_same:
            differing.append(name)
    assert differing == []


def test_a_case_in_both_forms_is_told_once() -> None:
    receipts, requests = load_files(shared("incidents/sample/healthy"))
    assert requests.height == 2023
    assert {receipt.name: receipt.state for receipt in receipts} == {
        "prices.json": "skipped",
        "replica_hours.jsonl": "done",
        "requests.jsonl.gz": "done",
        "run.json": "skipped",
        "slo.json": "skipped",
        "traces.otlp.jsonl.gz": "done",
        "truth.json": "skipped",
    }
    paths = [shared(f"incidents/sample/healthy/{name}") for name in ("traces.otlp.jsonl.gz", "requests.jsonl.gz")]
    told, again = load_files(*paths)
    assert ([counts(receipt) for receipt in told], again.height) == ([(16672, 16672, 0, 0), (2023, 2023, 0, 0)], 2023)
