"""Verdicts against the truth of the simulator: exactly the objectives that an incident breaches, and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from analysis.aggregates.attainment import judge
from analysis.ledger import keep_ledger
from analysis.metrics.measure import measure
from analysis.objectives import load_objectives
from analysis.prices import read_prices
from ingest.schema import REPLICA_HOURS, polars_schema
from tests.support.flat import simulator_rows
from tests.support.shared import shared

INCIDENTS = (
    *("healthy", "slow_replica", "replica_down", "traffic_surge", "long_input_shift", "long_output_shift"),
    *("prefix_cache_lost", "batch_limit_low", "retrieval_slow", "guardrail_slow", "tool_slow", "network_region"),
    *("cold_starts", "canary_errors", "idle_replicas"),
)


def breached(case: Path, scratch: Path) -> set[str]:
    command = [sys.executable, str(shared("incidents/convert.py")), "config", str(case), str(scratch)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    objectives = load_objectives(scratch / "objectives.yaml")
    ledger = keep_ledger(simulator_rows(case), None, read_prices(scratch / "prices.yaml"))
    frame = measure(ledger.requests, objectives.settings)
    found = judge(frame, objectives, replica_hours=replica_hours(case / "replica_hours.jsonl"))
    return {result.id for result in found if result.verdict == "breached"}


def replica_hours(path: Path) -> pl.DataFrame:
    raw = pl.read_ndjson(path)
    hour = pl.col("hour_start").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us").dt.epoch("us") * 1000
    told = raw.select(
        "replica",
        hour.alias("hour_ns"),
        pl.lit("u-1").alias("upload_id"),
        *("model", "region", "deployment_version"),
        pl.col("up_seconds").alias("up_s"),
        pl.col("busy_seconds").alias("busy_s"),
        (pl.col("cost_usd") * 1e12).round().cast(pl.Int64).alias("cost_usd"),
    )
    return told.select(
        pl.col(name).cast(dtype) for name, dtype in polars_schema(REPLICA_HOURS).items() if name in told.columns
    )


def truth(case: Path) -> set[str]:
    return set(json.loads((case / "truth.json").read_text())["breached_slos"])


@pytest.mark.parametrize("sample", ["healthy", "replica_down"])
def test_the_samples_breach_what_their_truth_says(sample: str, tmp_path: Path) -> None:
    case = shared(f"incidents/sample/{sample}")
    assert breached(case, tmp_path) == truth(case)


@pytest.mark.long
@pytest.mark.parametrize("incident", INCIDENTS)
def test_six_hours_of_an_incident_breach_what_its_truth_says(incident: str, tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="the simulator needs numba")
    case = tmp_path / "case"
    run = [sys.executable, str(shared("incidents/simulate.py")), "run", "--incident", incident, "--seed", "1"]
    subprocess.run([*run, "--out", str(case)], check=True, capture_output=True, timeout=280)
    assert breached(case, tmp_path / "config") == truth(case)
