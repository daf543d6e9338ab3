"""The multi-round load generator's rows give the counts that the folder's README states."""

from __future__ import annotations

import polars as pl

from tests.support.loads import counts, load_files
from tests.support.shared import shared

FOLDER = "data/aibrix-multiround-qa"
TPOT = pl.col("generation_ns") / (pl.col("output_tokens") - 1)


def test_all_runs_give_the_stated_counts() -> None:
    (receipt,), requests = load_files(shared(f"{FOLDER}/requests.csv.gz"))
    assert (receipt.format, counts(receipt), receipt.not_understood) == ("multiround_qa", (15120, 15120, 0, 0), {})
    sums = requests.select(
        pl.col("input_tokens", "output_tokens").sum(),
        ttft=(pl.col("ttft_ns") <= 2_000_000_000).sum(),
        tpot=(TPOT <= 100_000_000).sum(),
        both=((pl.col("ttft_ns") <= 2_000_000_000) & (TPOT <= 100_000_000)).sum(),
    )
    assert sums.row(0) == (318705531, 1328898, 7029, 9403, 6926)
    assert requests["user"].value_counts().filter(pl.col("user") == "37")["count"].item() == 84


def test_a_row_is_split_at_the_first_token_by_the_clock_of_the_client() -> None:
    _, requests = load_files(shared(f"{FOLDER}/requests.csv.gz"))
    first = requests.filter(deployment_version="aibrix_kvcache_dram").row(0, named=True)
    assert {name: value for name, value in first.items() if value is not None and name != "upload_id"} == {
        "request_key": first["request_key"],
        "source": "multiround_qa",
        "vantage": "client",
        "scenario": "qps-4.1",
        "user": "321",
        "deployment_version": "aibrix_kvcache_dram",
        "streaming": True,
        "started_ns": 1747494612_811936000,
        "ended_ns": 1747494613_949593642,
        "e2e_ns": 1137_657_642,
        "ttft_ns": 77_975_750,
        "call_ttft_ns": 77_975_750,
        "generation_ns": 1059_681_892,
        "generation_basis": "last_token",
        "before_first_token_ns": 77_975_750,
        "after_first_token_ns": 1059_681_892,
        "input_tokens": 21073,
        "output_tokens": 100,
        "llm_calls": 1,
        "attempts": 1,
        "status_class": "ok",
        "sampling_rate": 1.0,
        "n_call_rows": 0,
        "flags": ["ttft_split"],
    }


def test_raw_runs_are_the_same_requests_as_the_table_of_all_runs() -> None:
    receipts, requests = load_files(shared(f"{FOLDER}/raw"), shared(f"{FOLDER}/requests.csv.gz"))
    assert [counts(receipt) for receipt in receipts] == [
        (455, 455, 0, 0),
        (404, 404, 0, 0),
        (455, 455, 0, 0),
        (15120, 13806, 1314, 0),
    ]
    assert requests.height == 15120


def test_a_raw_run_takes_its_scenario_from_the_name_of_the_file() -> None:
    _, requests = load_files(shared(f"{FOLDER}/raw/naive_output_4.1.csv"))
    assert set(requests["scenario"]) == {"naive_output_4.1"}
