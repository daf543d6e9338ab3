"""The shared incident simulator and its scorer, for tests that plant an incident and look for it.

TAILWISE_SIMULATOR_PYTHON names an interpreter that has numba, where the tests' own has not. TAILWISE_SIMULATED names a
folder in which runs are kept: the same arguments give the same output, so a second test takes what the first one made.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analysis.analyze import analyze, judgement
from analysis.measured import measured
from analysis.objectives import Objectives, load_objectives
from analysis.pricebook import PriceBook
from analysis.prices import read_prices
from analysis.result import AnalysisResult, Finding
from ingest.load import LoadOptions, load_paths
from ingest.selection import Selection
from ingest.store.database import Store, StoreSettings
from tests.support.shared import shared

NOW = datetime(2026, 3, 3, tzinfo=UTC)
PYTHON = os.environ.get("TAILWISE_SIMULATOR_PYTHON", sys.executable)
KEPT = os.environ.get("TAILWISE_SIMULATED")
LONGEST_S = 7200  # of all cases of three seeds, on a machine that does much else: measured 1,400
SCORES = ("stage_top1", "symptom_top1", "precision", "recall", "rec_hit", "rec_harmful", "cause_top1", "window_iou")


def tool(name: str) -> ModuleType:
    """A script of the shared incidents as a module."""
    path = shared(f"incidents/{name}.py")
    spec = importlib.util.spec_from_file_location(f"incident_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulated(folder: Path, *arguments: str) -> Path:
    """The folder with what the simulator writes for these arguments; the test is skipped where numba is absent."""
    script = shared("incidents/simulate.py")
    if subprocess.run([PYTHON, "-c", "import numba"], check=False, capture_output=True).returncode:
        pytest.skip("the simulator needs numba; install it, or name a Python that has it: TAILWISE_SIMULATOR_PYTHON")
    name = "_".join(word.strip("-").replace("=", "-").replace(",", "-") for word in arguments)
    out = Path(KEPT or folder) / name
    done = out.with_suffix(".done")
    if not done.exists():
        shutil.rmtree(out, ignore_errors=True)
        command = [PYTHON, str(script), *arguments, "--gzip", "--out", str(out)]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST_S)
        assert ran.returncode == 0, ran.stderr[-2000:]
        done.touch()
    return out


def remedied(folder: Path, incident: str, seed: int, remedy: str) -> dict[str, dict[float, float]]:
    """Windows of every objective in the same run with a remedy in place: start in seconds to value, in the simulator's
    unit; the test is skipped where numba is absent."""
    script, run = shared("incidents/simulate.py"), Path(__file__).with_name("remedied_run.py")
    simulated(folder, "run", "--incident", incident, "--seed", str(seed))
    kept = Path(KEPT or folder) / f"remedied_{incident}_{seed}_{remedy}.json"
    if not kept.exists():
        command = [PYTHON, str(run), str(script), incident, str(seed), remedy]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LONGEST_S)
        assert ran.returncode == 0, ran.stderr[-2000:]
        kept.write_text(ran.stdout)
    found = json.loads(kept.read_text())
    return {name: {float(start): float(value) for start, value in windows} for name, windows in found.items()}


def promised(
    case: Path, findings: Sequence[dict[str, Any]], remedy: str, after: dict[str, dict[float, float]]
) -> list[tuple[str, float, dict[str, Any]]]:
    """Objective, value of its worst window in the run with the remedy, and what the advice promises for that window."""
    told: list[tuple[str, float, dict[str, Any]]] = []
    truth = json.loads((case / "truth.json").read_text())
    begins = _instant(truth["start"])
    for breach in (each for incident in truth["incidents"] for each in incident["breaches"]):
        advised = [
            advice["predicted"]
            for finding in findings
            if finding["objective"] == breach["slo"] and finding["rank"] == 1
            for advice in finding["recommendations"]
            if advice["id"] == remedy and advice["predicted"] is not None and advice["predicted"]["value"] is not None
        ]
        value = after[breach["slo"]].get(_instant(breach["worst_window"]) - begins)
        if advised and value:
            told.append((breach["slo"], value / (1000 if breach["metric"].endswith("_ms") else 1), advised[0]))
    return told


def _instant(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@contextmanager
def _loaded(case: Path, folder: Path, requests: str) -> Iterator[tuple[Store, Objectives, PriceBook]]:
    folder.mkdir(parents=True, exist_ok=True)
    tool("convert").config(case, folder)
    with Store.open(settings=StoreSettings(threads=2)) as store:
        load_paths([case / requests, case / "replica_hours.jsonl", case / "run.json"], store, LoadOptions())
        yield store, load_objectives(folder / "objectives.yaml"), read_prices(folder / "prices.yaml")


def result_of(case: Path, folder: Path, requests: str = "requests.jsonl.gz") -> AnalysisResult:
    """The analysis of a case under its own objectives and prices; `folder` takes those files."""
    with _loaded(case, folder, requests) as (store, objectives, prices):
        return analyze(store, Selection(), objectives=objectives, prices=prices, now=NOW)


def findings_of(case: Path, folder: Path) -> tuple[Finding, ...]:
    """The findings of the same analysis, without all else that is in it."""
    with _loaded(case, folder, "requests.jsonl.gz") as (store, objectives, prices):
        side = measured(store, Selection(), objectives, prices, None)
        return judgement(store, side, objectives)[1]


def scored(case: Path, folder: Path) -> dict[str, Any]:
    """The scorer's record of one case."""
    findings = findings_of(case, folder)
    found = folder / "findings.json"
    found.write_text(json.dumps({"findings": [asdict(finding) for finding in findings]}))
    diagnosis = folder / "diagnosis.json"
    diagnosis.write_text(json.dumps(tool("convert").diagnosis(found)))
    score = tool("score")
    truth = json.loads((case / "truth.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the scorer leaves closing the file to the interpreter
        said = score.load_diagnosis(str(diagnosis))
    record: dict[str, Any] = score.score_case(truth, said)
    return record


def summary(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The scorer's averages: over the objectives of a case, then over cases."""
    found: dict[str, Any] = tool("score").summarise(records)
    return found


def table(records: Sequence[dict[str, Any]]) -> str:
    """The scorer's table by kind of incident, and every objective that is not wholly right."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        kinds.setdefault(record["case"], []).append(record)
    lines = [f"{'incident':36} cases " + " ".join(f"{name[:9]:>9}" for name in SCORES)]
    for kind, of_kind in [*sorted(kinds.items()), ("all", list(records))]:
        told = summary(of_kind)
        figures = " ".join("        -" if told[name] is None else f"{told[name]:9.3f}" for name in SCORES)
        lines.append(f"{kind:36} {len(of_kind):5} {figures}  false positives {told['false_positive_rate']}")
    return "\n".join([*lines, *misses(records)])


def misses(records: Sequence[dict[str, Any]]) -> list[str]:
    """One line per objective of a case that some score is against, and per objective that is wrongly named."""
    lines = []
    for record in records:
        name = f"{record['case']} s{record['seed']}"
        for row in record["slos"]:
            low = {score: row[score] for score in SCORES if row[score] is not None and _is_miss(score, row[score])}
            if low:
                lines.append(f"  {name} {row['slo']}: {low}")
        if wrong := [*record.get("wrong_slos", ()), *record.get("extra_slos", ())]:
            lines.append(f"  {name}: named without a breach: {', '.join(wrong)}")
    return lines


def _is_miss(score: str, value: float) -> bool:
    return bool(value) if score == "rec_harmful" else value < (0.5 if score == "window_iou" else 1.0)


def without_columns(case: Path, names: Sequence[str], folder: Path) -> Path:
    """The case as a source would give it that does not know these columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in case.iterdir():
        if not path.name.startswith("requests."):
            (folder / path.name).symlink_to(path)
    kept = "requests.jsonl.gz"
    with gzip.open(case / kept, "rt") as rows, gzip.open(folder / kept, "wt", compresslevel=1) as out:
        for line in rows:
            row = json.loads(line)
            out.write(json.dumps({name: value for name, value in row.items() if name not in names}) + "\n")
    return folder


def moved(case: Path, factor: float, folder: Path) -> Path:
    """The case with every limit times a factor."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in case.iterdir():
        if path.name != "slo.json":
            (folder / path.name).symlink_to(path)
    objectives = json.loads((case / "slo.json").read_text())
    for one in objectives["objectives"]:
        one["threshold"] = round(one["threshold"] * factor, 12)
    (folder / "slo.json").write_text(json.dumps(objectives))
    return folder


def undone(case: Path, findings: Sequence[dict[str, Any]]) -> list[tuple[str, float, dict[str, Any]]]:
    """Objective, value of the same window in the healthy run, and what the first advice that undoes the cause promises.

    Args:
        findings: of the case, as JSON; values in the units of tailwise.
    """
    told: list[tuple[str, float, dict[str, Any]]] = []
    truth = json.loads((case / "truth.json").read_text())
    for breach in (each for incident in truth["incidents"] for each in incident["breaches"]):
        promised = [
            advice["predicted"]
            for finding in findings
            if finding["objective"] == breach["slo"] and finding["rank"] == 1
            for advice in finding["recommendations"]
            if advice["predicted"] is not None and advice["predicted"]["basis"] == "back_to_normal"
        ]
        if promised and promised[0]["value"] is not None and breach["healthy_value"]:
            healthy = breach["healthy_value"] / (1000 if breach["metric"].endswith("_ms") else 1)
            told.append((breach["slo"], healthy, promised[0]))
    return told
