"""Incidents of other strength and length, two at once, moved limits, a sampled week: the method, not the case, is right.

Seeds and parameters are none that anything was set by. The short form is the shared sample with its limits moved.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared import shared
from tests.support.simulator import LONGEST_S, findings_of, moved, scored, simulated, summary, table

GOALS = {  # of single incidents; as in the suite of the default ones
    "stage_top1": 0.97,
    "symptom_top1": 0.90,
    "precision": 0.95,
    "recall": 0.95,
    "rec_hit": 0.97,
    "cause_top1": 0.92,
    "window_iou": 0.85,
}
PAIR_GOALS = {"stage_top1": 0.97, "precision": 0.97, "recall": 0.97, "rec_hit": 0.97, "cause_top1": 0.97}
WEEK_GOALS = {"stage_top1": 0.95, "precision": 0.90, "recall": 0.90, "rec_hit": 0.95, "cause_top1": 0.90}
MOVED = (  # incident, seed; every kind whose breach is near its limit or far from it
    *(("slow_replica", 65), ("long_input_shift", 65), ("traffic_surge", 65), ("retrieval_slow", 65)),
    *(
        ("long_input_shift", 2),
        ("replica_down", 2),
        ("batch_limit_low", 3),
        ("cold_starts", 1),
        ("prefix_cache_lost", 2),
    ),
    *(("long_output_shift", 3), ("network_region", 1), ("guardrail_slow", 2)),
)
SINGLE = (  # incident, seed, parameters: weaker, stronger or shorter than the default
    ("traffic_surge", 61, ("factor=1.7",)),
    ("traffic_surge", 62, ("factor=2.8", "minutes=35")),
    ("slow_replica", 61, ("factor=2.2",)),
    ("slow_replica", 63, ("factor=5", "minutes=40")),
    ("replica_down", 62, ("minutes=30",)),
    ("replica_down", 64, ("n_down=1",)),
    ("long_input_shift", 61, ("factor=2.2",)),
    ("long_input_shift", 65, ("factor=4.5", "minutes=40")),
    ("long_output_shift", 63, ("factor=2",)),
    ("prefix_cache_lost", 62, ("scenario=code", "minutes=120")),
    ("batch_limit_low", 61, ("model=lm-large", "max_seqs=5")),
    ("batch_limit_low", 66, ("model=lm-small", "max_seqs=3", "minutes=40")),
    ("retrieval_slow", 64, ("factor=9",)),
    ("guardrail_slow", 65, ("factor=70", "minutes=30")),
    ("tool_slow", 66, ("factor=12",)),
    ("network_region", 63, ("add_ms=1200",)),
    ("cold_starts", 62, ("load_s=60",)),
    ("canary_errors", 64, ("p=0.2",)),
)
PAIRS = (  # in one pool and in two, side by side in time
    ("long_input_shift+replica_down", 61, ()),
    ("long_input_shift+replica_down", 64, ("region=eu-west",)),
    ("slow_replica+traffic_surge", 62, ()),
    ("replica_down+batch_limit_low", 63, ("region=us-east", "model=lm-small")),
    ("retrieval_slow+network_region", 64, ()),
    ("prefix_cache_lost+tool_slow", 65, ()),
    ("guardrail_slow+canary_errors", 66, ()),
    ("long_output_shift+cold_starts", 61, ()),
)
OTHER_PAIRS = (  # tried once the method was set
    ("long_input_shift+replica_down", 71, ()),
    ("slow_replica+traffic_surge", 73, ()),
    ("long_input_shift+replica_down", 74, ("region=eu-west",)),
)


Cases = tuple[tuple[str, int, tuple[str, ...]], ...]


def simulated_cases(cases: Cases, folder: Path) -> list[Path]:
    found = []
    for incident, seed, parameters in cases:
        given = [word for parameter in parameters for word in ("--param", parameter)]
        found.append(simulated(folder, "run", "--incident", incident, "--seed", str(seed), *given))
    return found


def records_of(cases: Cases, folder: Path) -> list[dict[str, Any]]:
    found = [scored(case, folder / "found" / case.name) for case in simulated_cases(cases, folder)]
    sys.stdout.write("\n" + table(found) + "\n")
    return found


def short_of(records: list[dict[str, Any]], goals: dict[str, float]) -> dict[str, Any]:
    told = summary(records)
    return {name: told[name] for name, goal in goals.items() if (told[name] or 0.0) < goal}


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
def test_weaker_stronger_and_shorter_incidents_keep_the_goals(tmp_path: Path) -> None:
    records = records_of(SINGLE, tmp_path)
    assert short_of(records, GOALS) == {}
    assert summary(records)["rec_harmful"] == 0.0


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
@pytest.mark.parametrize("pairs", [PAIRS, OTHER_PAIRS])
def test_two_incidents_at_once_are_both_found(pairs: Cases, tmp_path: Path) -> None:
    records = records_of(pairs, tmp_path)
    truths = [json.loads((case / "truth.json").read_text()) for case in simulated_cases(pairs, tmp_path)]
    assert short_of(records, PAIR_GOALS) == {}
    assert summary(records)["rec_harmful"] == 0.0
    told = [sum(bool(incident["breaches"]) for incident in truth["incidents"]) for truth in truths]
    planted = [len(truth["incidents"]) for truth in truths]
    missed = [
        f"{row['case']} seed {row['seed']}"
        for row, n, of in zip(records, told, planted, strict=True)
        if row["incidents_found"] * of < n - 1e-9  # one that breaks nothing by itself has no objective to be found in
    ]
    assert missed == []


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_moved_limits_name_the_same_cause_for_what_still_breaks(factor: float, tmp_path: Path) -> None:
    case = shared("incidents/sample/replica_down")
    usual = {(f.objective, f.rank): (f.stage, f.cause, f.segment) for f in findings_of(case, tmp_path / "usual")}
    case = moved(case, factor, tmp_path / "case")
    found = {(f.objective, f.rank): (f.stage, f.cause, f.segment) for f in findings_of(case, tmp_path / "moved")}
    both = sorted(key for key in usual if key in found and key[1] == 1)
    assert both
    assert [found[key] for key in both] == [usual[key] for key in both]


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("incident", "seed"), MOVED)
def test_moved_limits_of_six_hours_blame_the_same_for_what_breaks_either_way(
    incident: str, seed: int, factor: float, tmp_path: Path
) -> None:
    case = simulated(tmp_path, "run", "--incident", incident, "--seed", str(seed))
    first = {f.objective: (f.cause, f.segment) for f in findings_of(case, tmp_path / "usual") if f.rank == 1}
    other = moved(case, factor, tmp_path / "case")
    found = {f.objective: (f.cause, f.segment) for f in findings_of(other, tmp_path / "moved") if f.rank == 1}
    both = sorted(first.keys() & found.keys())
    assert both
    alike = [name for name in both if found[name] == first[name]]
    assert len(alike) >= 0.9 * len(both), {name: (first[name], found[name]) for name in both if name not in alike}


@pytest.mark.long
@pytest.mark.timeout(4 * LONGEST_S)
@pytest.mark.parametrize(("incident", "seed"), [("long_input_shift", 61), ("retrieval_slow", 62), ("replica_down", 63)])
def test_a_day_of_trouble_in_a_sampled_week_is_found(incident: str, seed: int, tmp_path: Path) -> None:
    week = ("--hours", "168", "--sample", "0.05", "--param", "minutes=1440")
    case = simulated(tmp_path, "run", "--incident", incident, "--seed", str(seed), *week)
    records = [scored(case, tmp_path / "found")]
    sys.stdout.write("\n" + table(records) + "\n")
    assert short_of(records, WEEK_GOALS) == {}
    assert summary(records)["rec_harmful"] == 0.0
